/** A question and its answer, as the events of its stream make it. */
import type { AskEvent, Citation, Extract, Passage, SearchFilter, StageDuration, Withheld } from "../gen/sourcier/gateway/v1/answer_pb";
import { AnswerOutcome, Role } from "../gen/sourcier/gateway/v1/answer_pb";
import type { ConversationMessage, MessageSource } from "../gen/sourcier/gateway/v1/conversation_pb";
import { told } from "../api/errors";
import { MessageState, Rating } from "../gen/sourcier/gateway/v1/conversation_pb";

export type TurnState = "waiting" | "running" | "finished" | "failed" | "lost";

export interface Step {
  kind: "rewritten" | "analysed" | "parts" | "searching" | "retrieved" | "reading" | "narrowed" | "degraded" | "writing";
  text: string;
  count: number;
}

export interface Turn {
  key: string;
  question: string;
  state: TurnState;
  answerId: string;
  sequence: bigint;
  language: string;
  steps: Step[];
  passages: Passage[];
  /** The model's words, all tokens joined: offsets of citations count in it. */
  text: string;
  /** What stands in the place of the model's words: a refusal, an extract, a validated answer. */
  replacement: string;
  citations: Citation[];
  withheld: Withheld[];
  warnings: string[];
  /** Sources that do not say the same, each pair in a sentence. */
  conflicts: string[];
  /** The sentence that answers best, before the model writes. */
  extract: Extract | null;
  outcome: AnswerOutcome;
  refusal: string;
  direct: { source: string; validatedBy: string } | null;
  durations: StageDuration[];
  model: string;
  messageId: string;
  rating: Rating;
  ratingComment: string;
  failure: string;
  reconnecting: boolean;
  /** What the markers point to, of a message that is read from its conversation. */
  kept: MessageSource[];
  rewritten: string;
}

let made = 0;

export function newTurn(question: string): Turn {
  made += 1;
  return {
    key: `turn-${made}`, question, state: "waiting", answerId: "", sequence: 0n, language: "", steps: [], passages: [],
    text: "", replacement: "", citations: [], withheld: [], warnings: [], conflicts: [], extract: null, outcome: AnswerOutcome.UNSPECIFIED, refusal: "",
    direct: null, durations: [], model: "", messageId: "", rating: Rating.UNSPECIFIED, ratingComment: "", failure: "",
    reconnecting: false, kept: [], rewritten: "",
  };
}

/** The answer as it is shown. */
export function shown(turn: Turn): string {
  return turn.replacement || turn.text;
}

export function isOpen(turn: Turn): boolean {
  return turn.state === "waiting" || turn.state === "running";
}

/** Returns the turn after an event; one that was read before changes nothing. */
export function apply(turn: Turn, event: AskEvent): Turn {
  if (event.sequence <= turn.sequence) return turn;
  const next: Turn = { ...turn, answerId: event.answerId, sequence: event.sequence, state: "running", reconnecting: false };
  const step = (kind: Step["kind"], text = "", count = 0) => {
    next.steps = [...next.steps, { kind, text, count }];
  };
  const { event: what } = event;
  switch (what.case) {
    case "started":
      next.language = what.value.language;
      next.question = what.value.question || turn.question;
      break;
    case "rewritten":
      next.rewritten = what.value.question;
      step("rewritten", what.value.question);
      break;
    case "analysed":
      step("analysed", what.value.question);
      break;
    case "decomposed":
      step("parts", what.value.message);
      break;
    case "narrowed":
      step("narrowed", what.value.message);
      break;
    case "searching":
      step("searching", what.value.query);
      break;
    case "retrieved":
      step("retrieved", "", what.value.candidates);
      break;
    case "reranked":
      next.passages = what.value.passages;
      step("reading", "", what.value.passages.length);
      if (what.value.degraded) next.warnings = [...next.warnings, what.value.reason];
      break;
    case "token":
      if (!next.text && next.steps.at(-1)?.kind !== "writing") step("writing");
      next.text += what.value.text;
      break;
    case "citation":
      next.citations = [...next.citations, what.value];
      break;
    case "withheld":
      next.withheld = [...next.withheld, what.value];
      break;
    case "conflict":
      next.conflicts = [...next.conflicts, what.value.message];
      break;
    case "extract":
      next.extract = what.value;
      break;
    case "degraded":
      next.warnings = [...next.warnings, what.value.reason];
      break;
    case "refused":
      next.replacement = what.value.text;
      next.refusal = what.value.reason;
      break;
    case "quoted":
      next.replacement = what.value.text;
      next.citations = what.value.citation ? [what.value.citation] : [];
      break;
    case "directAnswer":
      next.replacement = what.value.text;
      next.direct = { source: what.value.source, validatedBy: what.value.validatedBy };
      break;
    case "finished":
      next.state = "finished";
      next.outcome = what.value.outcome;
      next.durations = what.value.durations;
      next.model = what.value.model;
      next.messageId = what.value.messageId;
      break;
    case "failed":
      next.state = "failed";
      next.failure = told(what.value.reason, what.value.message);
      break;
  }
  return next;
}

/** The answers that the service words itself: citations do not count in them. */
const REPLACED = new Set([AnswerOutcome.REFUSED, AnswerOutcome.QUOTED, AnswerOutcome.DIRECT]);

/** Returns the turns of a conversation that was kept. */
export function turnsOf(messages: ConversationMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === Role.USER) {
      turns.push({ ...newTurn(message.content), answerId: message.answerId, state: "lost", rewritten: message.rewritten });
      continue;
    }
    // A question and its answer carry the same id.
    const mine = turns.find((turn) => turn.answerId === message.answerId) ?? turns.at(-1);
    if (!mine) continue;
    Object.assign(mine, {
      ...(REPLACED.has(message.outcome) ? { replacement: message.content } : { text: message.content }),
      citations: message.citations, withheld: message.withheld, outcome: message.outcome, messageId: message.messageId, rating: message.rating,
      ratingComment: message.ratingComment, model: message.model, kept: message.sources,
      refusal: message.outcome === AnswerOutcome.REFUSED ? message.reason : "",
      failure: message.state === MessageState.FAILED ? told(message.reason, "") : "",
      state: stateOf(message.state),
    } satisfies Partial<Turn>);
  }
  return turns;
}

function stateOf(state: MessageState): TurnState {
  if (state === MessageState.UNFINISHED) return "lost";
  return state === MessageState.FAILED ? "failed" : "finished";
}

export type { Citation, Passage, SearchFilter, Withheld };
