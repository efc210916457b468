import { language, period } from "../i18n";
import { Icon } from "../ui/icons";
import { type Chosen, isEmpty, NOTHING, toggled } from "./conditions";
import { fieldName, filterWords, valueName } from "./words";

/** What is chosen, each to be taken out by a click. */
export function FilterChips({ chosen, onChange }: { chosen: Chosen; onChange: (chosen: Chosen) => void }) {
  const words = filterWords();
  if (isEmpty(chosen)) return null;
  const { from, until } = chosen;
  const dates = from && until ? words.between(period(from), period(until)) : from ? words.since(period(from)) : until ? words.before(period(until)) : "";
  const chips = Object.entries(chosen.values).flatMap(([field, values]) => values.map((value) => ({
    key: `${field}=${value}`, text: words.pair(fieldName(field), valueName(field, value, language.value)), without: toggled(chosen, field, value),
  })));
  if (dates) chips.push({ key: "dates", text: dates, without: { ...chosen, from: "", until: "" } });
  return (
    <ul class="filter-chips" aria-label={words.chosen}>
      {chips.map(({ key, text, without }) => (
        <li key={key}>
          <button type="button" aria-label={words.remove(text)} onClick={() => onChange(without)}><span>{text}</span><Icon name="close" /></button>
        </li>
      ))}
      {chips.length > 1 && <li><button type="button" class="link" onClick={() => onChange(NOTHING)}>{words.clear}</button></li>}
    </ul>
  );
}
