import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { AnswerOutcome, type Extract as ExtractEvent } from "../gen/sourcier/gateway/v1/answer_pb";
import { Rating } from "../gen/sourcier/gateway/v1/conversation_pb";
import { language, period, t } from "../i18n";
import { Icon } from "../ui/icons";
import { IconButton } from "../ui/IconButton";
import { copy } from "../ui/copying";
import { openSource } from "../source/state";
import { Checks } from "./Checks";
import { HoverCard, useHover } from "./HoverCard";
import { drawn } from "./formulas";
import { html } from "./markdown";
import { RateDialog } from "./RateDialog";
import { ofPassage, plainText, rendered, sourcesOf } from "./segments";
import { draft, submit } from "./session";
import { Steps } from "./Steps";
import { isOpen, shown, type Turn } from "./turn";
import { pageOrTime } from "../source/places";
import { may } from "../api/credentials";
import { later } from "../ui/Later";

const ApproveDialog = later(() => import("./ApproveDialog").then((module) => module.default));

/** A question and its answer. */
export function AnswerCard({ turn }: { turn: Turn }) {
  const words = t().ask;
  return (
    <article class="turn" aria-label={turn.question}>
      <div class="question"><span class="unseen">{words.you} : </span><p>{turn.question}</p></div>
      <Steps turn={turn} />
      <Extract turn={turn} />
      <Body turn={turn} />
      <State turn={turn} />
      {!isOpen(turn) && <Sources turn={turn} />}
      {!isOpen(turn) && <Checks turn={turn} />}
      {!isOpen(turn) && <Actions turn={turn} />}
    </article>
  );
}

function Body({ turn }: { turn: Turn }) {
  const spoken = language.value;
  const text = shown(turn);
  const { markup, references } = useMemo(() => {
    const made = rendered(turn, t());
    return { markup: html(made.text, made.chips), references: made.references };
  }, [text, turn.citations, turn.kept, spoken, drawn()]);
  const element = useRef<HTMLDivElement>(null);
  const hover = useHover(element);
  if (!text) return null;
  const classes = ["answer", isOpen(turn) ? "writing" : "", turn.refusal ? "refused" : ""].join(" ");
  return (
    <>
      <div ref={element} class={classes} lang={turn.language || undefined} dangerouslySetInnerHTML={{ __html: markup }}
        onClick={(event) => {
          const chip = (event.target as Element).closest<HTMLElement>("[data-chip]");
          const reference = chip && references[Number(chip.dataset.chip)];
          if (reference) (hover.close(), openSource(reference, chip));
        }} />
      {hover.at && references[hover.at.number] && <HoverCard id={hover.id} at={hover.at} reference={references[hover.at.number]!} />}
    </>
  );
}

/** The sentence that answers best, else the closest passage, at once: a model on a small machine takes its time to read. */
function Extract({ turn }: { turn: Turn }) {
  const { extract } = turn;
  const marker = extract?.citation?.marker ?? 1;
  const best = turn.passages[marker - 1];
  // What stands in for an answer that never came stays.
  const instead = !isOpen(turn) && !shown(turn) && turn.outcome !== AnswerOutcome.REFUSED;
  if (!best || !(isOpen(turn) || instead) || (extract && !instead ? saidBy(turn) : shown(turn))) return null;
  const reference = ofPassage(best);
  return (
    <div class="extract">
      <p class="label">{instead ? t().ask.instead : extract ? t().ask.sentence : t().ask.extract}</p>
      <blockquote>{extract ? <Marked extract={extract} /> : best.text.length > 420 ? `${best.text.slice(0, 420)}…` : best.text}</blockquote>
      <button type="button" class="link" onClick={(event) => openSource(reference, event.currentTarget)}>
        {best.title || best.source}{pageOrTime(best, t()) ? `, ${pageOrTime(best, t())}` : ""}
      </button>
    </div>
  );
}

/** Whether the answer says what the extract says: all of it, or the value that it marks. */
function saidBy(turn: Turn): boolean {
  const { extract } = turn;
  if (!extract || extract.isAnswer || turn.replacement) return true;
  const characters = [...extract.text];
  const value = characters.slice(extract.answerStart, extract.answerEnd).join("");
  return turn.text.includes(value || extract.text);
}

function Marked({ extract }: { extract: ExtractEvent }) {
  // Offsets count code points, as Python does.
  const characters = [...extract.text];
  const part = (start: number, end?: number) => characters.slice(start, end).join("");
  if (!extract.answerEnd) return <>{extract.text}</>;
  return <>{part(0, extract.answerStart)}<mark>{part(extract.answerStart, extract.answerEnd)}</mark>{part(extract.answerEnd)}</>;
}

function State({ turn }: { turn: Turn }) {
  const words = t().ask;
  const notes: { text: string; bad?: boolean }[] = [];
  if (turn.reconnecting) notes.push({ text: words.reconnecting });
  if (turn.state === "lost") notes.push({ text: words.lost, bad: true });
  if (turn.state === "failed") notes.push({ text: `${words.failed} ${turn.failure}`.trim(), bad: true });
  switch (turn.outcome) {
    case AnswerOutcome.TRUNCATED: notes.push({ text: words.outcome.truncated }); break;
    case AnswerOutcome.QUOTED: notes.push({ text: words.outcome.quoted }); break;
    case AnswerOutcome.CANCELLED: notes.push({ text: words.outcome.cancelled }); break;
    case AnswerOutcome.ABANDONED: notes.push({ text: words.outcome.abandoned }); break;
    case AnswerOutcome.DIRECT: notes.push({ text: words.outcome.direct(turn.direct?.validatedBy ?? "") }); break;
    case AnswerOutcome.COLLECTION: notes.push({ text: words.outcome.collection }); break;
    case AnswerOutcome.REFUSED: notes.push({ text: words.outcome.refused }); break;
  }
  for (const conflict of new Set(turn.conflicts)) notes.push({ text: conflict, bad: true });
  for (const warning of new Set(turn.warnings)) notes.push({ text: warning });
  if (!notes.length) return null;
  return (
    <ul class="notes">
      {notes.map(({ text, bad }) => <li key={text} class={bad ? "bad" : ""}><Icon name={bad ? "warning" : "shield"} /><span>{text}</span></li>)}
    </ul>
  );
}

function Sources({ turn }: { turn: Turn }) {
  const sources = sourcesOf(turn);
  if (!sources.length) return null;
  return (
    <section class="sources">
      <h2>{t().ask.sources}</h2>
      <ol>
        {sources.map((source) => (
          <li key={`${source.marker}-${source.chunkId}`}>
            <button type="button" onClick={(event) => openSource(source, event.currentTarget)}>
              <span class="number">{source.marker || "•"}</span>
              <span class="what">
                <strong>{source.title || source.source}</strong>
                {source.replacedBy && <small class="flag">{t().source.replacedBy(source.replacedBy)}</small>}
                <small>{[pageOrTime(source, t()), period(source.dateStart, source.dateEnd), source.headingPath.join(" › "), source.source === source.title ? "" : source.source].filter(Boolean).join(" · ")}</small>
              </span>
              <Icon name="chevron" />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Actions({ turn }: { turn: Turn }) {
  const words = t().ask;
  const rating = useSignal<Rating | null>(null);
  const approving = useSignal(false);
  const edit = () => {
    draft.value = turn.question;
    document.getElementById("question")?.focus();
  };
  return (
    <div class="turn-actions">
      {(turn.state === "failed" || turn.state === "lost") && (
        <button type="button" onClick={() => void submit(turn.question)}><Icon name="again" /><span>{words.again}</span></button>
      )}
      {shown(turn) && <IconButton icon="copy" label={words.copy} onClick={() => void copy(plainText(turn, t()))} />}
      {(turn.state === "finished") && <IconButton icon="again" label={words.again} onClick={() => void submit(turn.question)} />}
      <IconButton icon="edit" label={words.edit} onClick={edit} />
      {turn.messageId && (
        <>
          <span class="rule" />
          <IconButton icon="up" label={words.good} pressed={turn.rating === Rating.UP} onClick={() => (rating.value = Rating.UP)} />
          <IconButton icon="down" label={words.bad} pressed={turn.rating === Rating.DOWN} onClick={() => (rating.value = Rating.DOWN)} />
          {may("manager") && <IconButton icon="star" label={words.approve} onClick={() => (approving.value = true)} />}
        </>
      )}
      {rating.value !== null && <RateDialog turn={turn} rating={rating.value} onClose={() => (rating.value = null)} />}
      {approving.value && <ApproveDialog turn={turn} onClose={() => (approving.value = false)} />}
    </div>
  );
}
