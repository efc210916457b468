import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { answers } from "../api/clients";
import { isNotFound } from "../api/errors";
import type { Facet } from "../gen/sourcier/gateway/v1/answer_pb";
import { language, number, t } from "../i18n";
import { notifyError } from "../ui/notices";
import { type Chosen, toggled, whereOf } from "./conditions";
import { fieldName, filterWords, valueName } from "./words";

const SHOWN = 6;
const LIMIT = 60;

export interface Scope {
  collection: string;
  collections?: readonly string[];
  allCollections?: boolean;
}

/** The values that the documents have, with how many have each; what is chosen narrows the others. */
export function FacetPanel({ scope, chosen, onChange }: { scope: Scope; chosen: Chosen; onChange: (chosen: Chosen) => void }) {
  const words = filterWords();
  const facets = useSignal<Facet[] | null>(null);
  const key = JSON.stringify([scope, chosen]);
  useEffect(() => {
    const leaving = new AbortController();
    read(scope, chosen, leaving.signal).then((found) => (facets.value = found), (error: unknown) => {
      if (leaving.signal.aborted) return;
      facets.value = [];
      if (!isNotFound(error)) notifyError(error);
    });
    return () => leaving.abort();
  }, [key]);
  return (
    <div class="facets" role="group" aria-label={words.title}>
      <fieldset class="facet">
        <legend>{words.dates}</legend>
        <label>{words.from}<input type="date" value={chosen.from} max={chosen.until || undefined} onChange={(event) => onChange({ ...chosen, from: event.currentTarget.value })} /></label>
        <label>{words.until}<input type="date" value={chosen.until} min={chosen.from || undefined} onChange={(event) => onChange({ ...chosen, until: event.currentTarget.value })} /></label>
      </fieldset>
      {!facets.value && <p class="quiet">{t().common.loading}</p>}
      {(facets.value ?? []).map((facet) => <Values key={facet.field} facet={facet} chosen={chosen} onChange={onChange} />)}
    </div>
  );
}

function Values({ facet, chosen, onChange }: { facet: Facet; chosen: Chosen; onChange: (chosen: Chosen) => void }) {
  const words = filterWords();
  const all = useSignal(false);
  const picked = chosen.values[facet.field] ?? [];
  // What was chosen stays to be seen, whatever else was chosen since.
  const values = [...facet.values.map(({ value, documentCount }) => ({ value, count: documentCount })),
    ...picked.filter((value) => !facet.values.some((each) => each.value === value)).map((value) => ({ value, count: 0n }))];
  const shown = all.value ? values : values.filter(({ value }, place) => place < SHOWN || picked.includes(value));
  return (
    <fieldset class="facet">
      <legend>{fieldName(facet.field)}</legend>
      {shown.map(({ value, count }) => (
        <label key={value} class="check">
          <input type="checkbox" checked={picked.includes(value)} onChange={() => onChange(toggled(chosen, facet.field, value))} />
          <span>{valueName(facet.field, value, language.value)}</span><span class="count">{number(count)}</span>
        </label>
      ))}
      {values.length > SHOWN && (
        <button type="button" class="link" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
          {all.value ? words.fewer : words.more(values.length - shown.length)}
        </button>
      )}
      {all.value && facet.valueCount > facet.values.length && <small class="quiet">{words.onlyMost(facet.values.length, Number(facet.valueCount))}</small>}
    </fieldset>
  );
}

/** Counts the values of all fields; those of a field that is chosen from as if nothing of it were, so that more can be. */
async function read(scope: Scope, chosen: Chosen, signal: AbortSignal): Promise<Facet[]> {
  const asked = (where: ReturnType<typeof whereOf>, fields: string[] = []) =>
    answers.getFacets({ filter: { ...scope, collections: [...(scope.collections ?? [])], where }, fields, limit: LIMIT }, { signal });
  const fields = Object.entries(chosen.values).flatMap(([field, values]) => (values.length ? [field] : []));
  const [whole, ...apart] = await Promise.all([
    asked(whereOf(chosen)), ...fields.map((field) => asked(whereOf(chosen, field), [field])),
  ]);
  const open = new Map(apart.flatMap(({ facets }) => facets).map((facet) => [facet.field, facet]));
  const found = (whole?.facets ?? []).map((facet) => open.get(facet.field) ?? facet);
  const missing = [...open.values()].filter((facet) => !found.some((each) => each.field === facet.field));
  return [...missing, ...found].filter(tells).sort((a, b) => placeOf(a) - placeOf(b));
}

const FIRST = ["category", "type", "date", "author", "language", "media_type"];

function placeOf(facet: Facet): number {
  const place = FIRST.indexOf(facet.field);
  return place < 0 ? FIRST.length : place;
}

/** Whether a field parts the documents at all: one whose every document has a value of its own is a name, not a kind. */
function tells(facet: Facet): boolean {
  return facet.values.length > 0 && (FIRST.includes(facet.field) || facet.valueCount < facet.documentCount);
}
