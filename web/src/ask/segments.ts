/** The sentences of an answer, its markers, and what the service found out about each. */
import { type Citation, type Passage, type SourcePicture, Support } from "../gen/sourcier/gateway/v1/answer_pb";
import type { MessageSource } from "../gen/sourcier/gateway/v1/conversation_pb";
import type { Place } from "../gen/sourcier/gateway/v1/place_pb";
import { period } from "../i18n";
import type { Words } from "../i18n/words";
import { chipMark, type Chip, withoutMarks } from "./markdown";
import { shown, type Turn } from "./turn";
import { pageOrTime } from "../source/places";

export type Tone = "good" | "doubtful" | "bad" | "plain";

/** Where a chip leads to. */
export interface Reference {
  marker: number;
  tone: Tone;
  documentId: string;
  versionId: string;
  title: string;
  source: string;
  page: number;
  chunkId: string;
  /** The whole passage; empty where it is not known any more. */
  passage: string;
  /** What of it bears the sentence out, in Unicode code points. */
  start: number;
  end: number;
  headingPath: string[];
  /** Where the file says it. */
  places: Place[];
  /** The pictures beside the passage; none where the answer was kept. */
  pictures: SourcePicture[];
  support: Support;
  reason: string;
  sentence: string;
  faqEntryId: string;
  /** The document's own date, its first and last day; empty where none is known. */
  dateStart: string;
  dateEnd: string;
  /** The title of the document that replaces this one; empty where none is known to. */
  replacedBy: string;
}

/** What a reference lacks that is no citation. */
export const UNDATED = { dateStart: "", dateEnd: "", replacedBy: "" };

export function toneOf(support: Support): Tone {
  switch (support) {
    case Support.SAME_WORDING:
    case Support.JUDGED:
    case Support.ENTAILED:
    case Support.READ:
      return "good";
    case Support.CITED:
    case Support.UNSPECIFIED:
      return "plain";
    case Support.NAME_ABSENT:
    case Support.NEGATION_ADDED:
    case Support.NOT_CONFIRMED:
    case Support.NOT_TOLD:
      return "doubtful";
    default:
      return "bad";
  }
}

export interface Rendered {
  /** Markdown with a mark for each chip. */
  text: string;
  chips: Chip[];
  references: Reference[];
}

const MARKER = /\[(\d{1,3})\]/g;

/** A sentence without its markers, and without the gap that they leave before a full stop. */
export function unmarked(sentence: string): string {
  return sentence.replace(MARKER, "").replace(/ ([.,])/g, "$1").trim();
}

/** Puts a mark in the place of each marker that is known, and one behind each sentence that no passage supports. */
export function rendered(turn: Turn, words: Words): Rendered {
  const text = withoutMarks(shown(turn));
  const references: Reference[] = [];
  const chips: Chip[] = [];
  const counted = turn.citations.length > 0 && !turn.replacement;
  const add = (reference: Reference, label: string): string => {
    references.push(reference);
    chips.push({ label, tone: reference.tone, name: words.ask.chip(label, reference.title, words.support[reference.support]) });
    return chipMark(references.length - 1);
  };
  let out = "";
  let at = 0;
  let points = 0;
  const unsupported = counted
    ? turn.citations.filter((citation) => citation.marker === 0).sort((a, b) => a.sentenceEnd - b.sentenceEnd) : [];
  /** Copies text up to a place, in UTF-16 units, with the marks of unsupported sentences that end in it. */
  const copy = (to: number) => {
    let piece = "";
    while (at < to) {
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
      piece += character;
      at += character.length;
      points += 1;
      while (unsupported[0] && unsupported[0].sentenceEnd <= points) {
        const citation = unsupported.shift();
        if (citation) piece += add(ofCitation(citation, turn), "?");
      }
    }
    out += piece;
  };
  for (const match of text.matchAll(MARKER)) {
    copy(match.index);
    const reference = referenceAt(Number(match[1]), points, turn, counted);
    if (!reference) {
      copy(match.index + match[0].length);
      continue;
    }
    out += add(reference, match[1] ?? "");
    at = match.index + match[0].length;
    points += match[0].length;
  }
  copy(text.length);
  return { text: out, chips, references };
}

function referenceAt(marker: number, place: number, turn: Turn, counted: boolean): Reference | null {
  const mine = turn.citations.filter((citation) => citation.marker === marker);
  if (mine.length) {
    const distance = (citation: Citation) =>
      place < citation.sentenceStart ? citation.sentenceStart - place : Math.max(0, place - citation.sentenceEnd);
    const nearest = counted ? mine.reduce((a, b) => (distance(b) < distance(a) ? b : a)) : mine[0];
    if (nearest) return ofCitation(nearest, turn);
  }
  const kept = turn.kept.find((source) => source.marker === marker);
  return kept ? ofKept(kept) : null;
}

export function ofCitation(citation: Citation, turn: Turn): Reference {
  const passage = passageOf(citation, turn);
  const points = [...turn.text];
  return {
    marker: citation.marker, tone: toneOf(citation.support), documentId: citation.documentId, versionId: citation.versionId,
    title: citation.title, source: citation.source, page: citation.page, chunkId: citation.chunkId, passage: passage?.text ?? "",
    start: citation.passageStart, end: citation.passageEnd, headingPath: passage?.headingPath ?? [],
    places: citation.places, pictures: passage?.pictures ?? [], support: citation.support,
    reason: citation.reason, faqEntryId: citation.faqEntryId, dateStart: citation.dateStart, dateEnd: citation.dateEnd,
    replacedBy: citation.supersededBy ? citation.supersededByTitle || citation.supersededBy : "",
    sentence: turn.replacement ? "" : unmarked(points.slice(citation.sentenceStart, citation.sentenceEnd).join("")),
  };
}

type Cited = Pick<Passage, "text" | "headingPath" | "pictures">;

function passageOf(citation: Citation, turn: Turn): Cited | undefined {
  for (const passage of turn.passages) {
    if (citation.faqEntryId ? passage.faqEntryId === citation.faqEntryId : passage.chunkId === citation.chunkId) return passage;
    // A citation may rest on a neighbour of a passage.
    const neighbour = passage.neighbours.find((other) => other.chunkId === citation.chunkId);
    if (neighbour && citation.chunkId) return { text: neighbour.text, headingPath: passage.headingPath, pictures: passage.pictures };
  }
  // An answer that was kept has its passages in its sources.
  const kept = turn.kept.find((source) => citation.chunkId && source.chunkId === citation.chunkId && source.text);
  return kept && { text: kept.text, headingPath: kept.headingPath, pictures: [] };
}

function ofKept(source: MessageSource): Reference {
  return {
    marker: source.marker, tone: "plain", documentId: source.documentId, versionId: source.versionId, title: source.title,
    source: source.source, page: source.page, chunkId: source.chunkId, passage: source.text, start: 0, end: 0, headingPath: source.headingPath, places: source.places, pictures: [],
    support: Support.UNSPECIFIED, reason: "", sentence: "", faqEntryId: source.faqEntryId, ...UNDATED,
  };
}

export function ofPassage(passage: Passage): Reference {
  return {
    marker: passage.rank, tone: "plain", documentId: passage.documentId, versionId: passage.versionId, title: passage.title,
    source: passage.source, page: passage.page, chunkId: passage.chunkId, passage: passage.text, start: 0, end: 0,
    headingPath: passage.headingPath, places: passage.places, pictures: passage.pictures, support: Support.UNSPECIFIED, reason: "", sentence: "", faqEntryId: passage.faqEntryId, ...UNDATED,
  };
}

/** The sources of an answer: what its markers point to, each once, by marker. */
export function sourcesOf(turn: Turn): Reference[] {
  const found = new Map<number, Reference>();
  for (const citation of turn.citations) if (citation.marker && !found.has(citation.marker)) found.set(citation.marker, ofCitation(citation, turn));
  for (const source of turn.kept) if (!found.has(source.marker)) found.set(source.marker, ofKept(source));
  return [...found.values()].sort((a, b) => a.marker - b.marker);
}

/** The answer as plain text with its sources, to be pasted elsewhere. */
export function plainText(turn: Turn, words: Words): string {
  const sources = sourcesOf(turn).map((source) => [
    `[${source.marker}] ${source.title || source.source}`, pageOrTime(source, words), period(source.dateStart, source.dateEnd),
    source.replacedBy && words.source.replacedBy(source.replacedBy),
  ].filter(Boolean).join(", "));
  return sources.length ? `${shown(turn)}\n\n${words.ask.sources}\n${sources.join("\n")}` : shown(turn);
}
