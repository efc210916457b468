import { t } from "../i18n";
import type { Words } from "../i18n/words";
import { isOpen, type Step, type Turn } from "./turn";

function told(step: Step, words: Words): string {
  const { steps } = words.ask;
  switch (step.kind) {
    case "rewritten": return steps.rewritten(step.text);
    case "analysed": return steps.analysed(step.text);
    case "searching": return steps.searching(step.text);
    case "retrieved": return steps.retrieved(step.count);
    case "reading": return steps.reading(step.count);
    case "writing": return steps.writing;
    default: return step.text;
  }
}

/** What is being done for the answer; once it is there, folded away. */
export function Steps({ turn }: { turn: Turn }) {
  const words = t();
  const open = isOpen(turn);
  if (!open && !turn.steps.length) return null;
  const list = (
    <ol class="steps">
      {turn.steps.map((step, place) => (
        <li key={place} class={open && place === turn.steps.length - 1 ? "now" : ""}>{told(step, words)}</li>
      ))}
      {open && !turn.steps.length && <li class="now">{words.ask.steps.waiting}</li>}
    </ol>
  );
  if (open) return list;
  const total = turn.durations.find((duration) => duration.stage === "total")?.duration;
  const seconds = total && Number(total.seconds) + total.nanos / 1e9;
  return (
    <details class="steps-done">
      <summary>{seconds !== undefined ? words.ask.steps.done(seconds) : words.ask.steps.show}{turn.model ? ` · ${turn.model}` : ""}</summary>
      {list}
    </details>
  );
}
