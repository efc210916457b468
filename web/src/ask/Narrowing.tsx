import { chosen, collectionNames, shownName } from "../documents/collections";
import { FacetPanel } from "../filter/FacetPanel";
import { FilterChips } from "../filter/FilterChips";
import { filterWords } from "../filter/words";
import { Icon } from "../ui/icons";
import { switched } from "../ui/lists";
import { everywhere, narrowed, others } from "./scope";

/** What a question is narrowed to: the chips, and the values to choose from while `open`. */
export default function Narrowing({ open, collection }: { open: boolean; collection: string }) {
  const words = filterWords();
  const names = collection ? [] : collectionNames().filter((name) => name !== chosen.value);
  const scope = collection ? { collection } : everywhere.value ? { collection: "", allCollections: true } : { collection: chosen.value, collections: others.value };
  const take = (name: string) => (others.value = switched(others.value, name));
  const extra = everywhere.value ? [] : others.value.filter((name) => names.includes(name));
  return (
    <div class="narrowing">
      <div class="chips-row">
        {!collection && everywhere.value && <Taken text={words.everywhere} onClick={() => (everywhere.value = false)} />}
        {extra.map((name) => <Taken key={name} text={shownName(name)} onClick={() => take(name)} />)}
        <FilterChips chosen={narrowed.value} onChange={(wanted) => (narrowed.value = wanted)} />
      </div>
      <div hidden={!open}>
        {open && names.length > 0 && (
          <fieldset class="facet scope">
            <legend>{words.alsoIn}</legend>
            <label class="check"><input type="checkbox" checked={everywhere.value} onChange={(event) => (everywhere.value = event.currentTarget.checked)} /><span>{words.everywhere}</span></label>
            {!everywhere.value && names.map((name) => (
              <label key={name} class="check"><input type="checkbox" checked={others.value.includes(name)} onChange={() => take(name)} /><span>{shownName(name)}</span></label>
            ))}
          </fieldset>
        )}
        {open && <FacetPanel scope={scope} chosen={narrowed.value} onChange={(wanted) => (narrowed.value = wanted)} />}
      </div>
    </div>
  );
}

function Taken({ text, onClick }: { text: string; onClick: () => void }) {
  return (
    <span class="filter-chips"><button type="button" aria-label={filterWords().remove(text)} onClick={onClick}><Icon name="folder" /><span>{text}</span><Icon name="close" /></button></span>
  );
}
