/** What is known of when a document holds, in the words of its row. */
import type { Document, DocumentDate, RelatedDocument } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { period } from "../i18n";
import type { DocumentWords } from "./words";

export type DateKind = keyof DocumentWords["kinds"];
export const KINDS: readonly DateKind[] = ["effect", "end", "signature", "publication", "document"];

export function kindName(kind: string, words: DocumentWords): string {
  return words.kinds[kind as DateKind] ?? kind;
}

/** In a row: since when it holds, or whether no more; else its own date. */
export function standing(document: Document, words: DocumentWords, today = new Date().toISOString().slice(0, 10)): string[] {
  const of = (kind: string): DocumentDate | undefined => document.dates.find((date) => date.kind === kind);
  const [effect, end] = [of("effect"), of("end")];
  const own = of("document") ?? of("signature") ?? of("publication");
  const told: string[] = [];
  if (own) told.push(words.dated(period(own.start, own.end)));
  if (effect) told.push((effect.start > today ? words.willHold : words.holdsFrom)(period(effect.start, effect.end)));
  if (end) told.push((end.end < today ? words.ended : words.heldUntil)(period(end.end)));
  return told;
}

/** The documents that replace this one as a whole. */
export function replacements(document: Document): RelatedDocument[] {
  return document.relatedBy.filter((other) => other.kind === "replaces" && !other.part);
}

/** What this document replaces, whole or in part, and what it changes or belongs to. */
export function relations(document: Document, words: DocumentWords): string[] {
  return document.relations.map((related) => relationName(related, words.relation));
}

export function relationName(related: RelatedDocument, words: DocumentWords["relation"] | DocumentWords["reverse"]): string {
  const name = words[related.kind as keyof typeof words];
  return name ? name(related.title, related.part) : `${related.kind} « ${related.title} »`;
}
