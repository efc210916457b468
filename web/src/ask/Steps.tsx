import { useEffect, useState } from "preact/hooks";
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

/** From when on the seconds are told, and from when on, while no word is there yet, that this takes long. */
const TOLD_SECONDS = 3;
const LONG_SECONDS = 20;

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
  if (open) return <>{list}<Waiting key={turn.key} writes={Boolean(turn.text)} /></>;
  const total = turn.durations.find((duration) => duration.stage === "total")?.duration;
  const seconds = total && Number(total.seconds) + total.nanos / 1e9;
  return (
    <details class="steps-done">
      <summary>{seconds !== undefined ? words.ask.steps.done(seconds) : words.ask.steps.show}</summary>
      {list}
      {turn.model && <p class="steps model">{words.ask.steps.model(turn.model)}</p>}
    </details>
  );
}

/** How long one waits, so that a slow answer does not look like none. Not read out: a screen reader would tell each second. */
function Waiting({ writes }: { writes: boolean }) {
  const { steps } = t().ask;
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - began) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  if (writes || seconds < TOLD_SECONDS) return null;
  return <p class="waiting"><span aria-hidden="true">{steps.elapsed(seconds)}</span>{seconds >= LONG_SECONDS && ` · ${steps.slow}`}</p>;
}
