/** Tells an answer to a screen reader: whole sentences, once each, never tokens. */
import { AnswerOutcome } from "../gen/sourcier/gateway/v1/answer_pb";
import { t } from "../i18n";
import { isOpen, shown, type Turn } from "./turn";

const SENTENCE_END = /[.!?…:](?=\s)/g;
const MARKER = /\s?\[\d{1,3}\]/g;
/** Sentences that come faster than this are told together. */
const PAUSE_MS = 1_500;

export class Announcer {
  #say: (sentence: string) => void;
  #told = 0;
  #waiting = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  constructor(say: (sentence: string) => void) {
    this.#say = say;
  }

  began(): void {
    this.#say(t().ask.announce.started);
  }

  follow(turn: Turn): void {
    if (this.#ended) return;
    const text = shown(turn);
    if (isOpen(turn)) {
      const ends = [...text.slice(this.#told).matchAll(SENTENCE_END)];
      const last = ends.at(-1);
      if (last) this.#add(text.slice(this.#told, this.#told + last.index + 1)), (this.#told += last.index + 1);
      return;
    }
    this.#ended = true;
    this.#add(turn.replacement ? text : text.slice(this.#told));
    this.#add(turn.failure || (turn.outcome === AnswerOutcome.REFUSED ? "" : t().ask.announce.finished));
    this.#flush();
  }

  #add(text: string): void {
    this.#waiting = `${this.#waiting} ${text.replace(MARKER, "")}`.trim();
    this.#timer ??= setTimeout(() => this.#flush(), PAUSE_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting) this.#say(this.#waiting);
    this.#waiting = "";
  }
}
