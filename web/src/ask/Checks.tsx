import { Support } from "../gen/sourcier/gateway/v1/answer_pb";
import { t } from "../i18n";
import { openSource } from "../source/state";
import { inlineHtml } from "./markdown";
import { ofCitation, toneOf, unmarked } from "./segments";
import type { Turn } from "./turn";

/** Each sentence of the answer with what the check found, and those that were withheld, with the reason. */
export function Checks({ turn }: { turn: Turn }) {
  const words = t();
  const cited = turn.replacement ? [] : turn.citations.filter((citation) => citation.sentenceEnd > citation.sentenceStart);
  if (!cited.length && !turn.withheld.length) return null;
  const worst = turn.withheld.length || cited.some((citation) => toneOf(citation.support) !== "good");
  return (
    <details class="checks" open={turn.withheld.length > 0}>
      <summary class={worst ? "doubtful" : "good"}>
        {words.ask.checks(new Set(cited.map((citation) => citation.sentenceStart)).size)}
        {turn.withheld.length > 0 && ` · ${words.ask.withheld(turn.withheld.length)}`}
      </summary>
      <ul>
        {cited.map((citation, place) => {
          const reference = ofCitation(citation, turn);
          return (
            <li key={place} class={reference.tone}>
              <p dangerouslySetInnerHTML={{ __html: inlineHtml(reference.sentence) }} />
              <p class="verdict">
                <button type="button" class={`chip ${reference.tone}`} onClick={(event) => openSource(reference, event.currentTarget)}
                  aria-label={words.ask.chip(citation.marker ? String(citation.marker) : "?", citation.title, words.support[citation.support])}>
                  {citation.marker || "?"}
                </button>{" "}
                {citation.reason || words.support[citation.support]}
              </p>
            </li>
          );
        })}
        {turn.withheld.map((withheld, place) => {
          const reference = withheld.closest && ofCitation(withheld.closest, turn);
          return (
            <li key={`withheld-${place}`} class="bad">
              <p class="struck"><span class="unseen">{words.ask.withheldWhy} : </span><s>{unmarked(withheld.sentence)}</s></p>
              <p class="verdict">
                {withheld.reason || words.support[Support.OFF_TOPIC]}{" "}
                {reference && (
                  <button type="button" class="link" onClick={(event) => openSource(reference, event.currentTarget)}>{words.ask.closest}</button>
                )}
              </p>
            </li>
          );
        })}
      </ul>
    </details>
  );
}
