/** A document's text as it was read, and the part of it around a passage. */
import { knowledge } from "../api/clients";
import { fold, locate, unfolded } from "./locating";

export interface DocumentText {
  text: string;
  /** Where each page begins in the text, in order. */
  pages: { page: number; start: number }[];
}

export async function readText(documentId: string, signal: AbortSignal): Promise<DocumentText> {
  const pages: DocumentText["pages"] = [];
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of knowledge.getDocumentText({ documentId }, { signal })) {
    if (pages.at(-1)?.page !== piece.page) pages.push({ page: piece.page, start: length });
    pieces.push(piece.text);
    length += piece.text.length;
  }
  return { text: pieces.join(""), pages };
}

export interface Window {
  start: number;
  end: number;
}

const AROUND = 2_500;
export const MORE = 8_000;

/** Returns the part of the text to show first: around the passage, else from its page on. */
export function windowAround(document: DocumentText, passage: string, page: number): Window {
  const folded = fold(document.text);
  const found = passage ? locate(folded.text, fold(passage).text) : null;
  const start = document.pages.find((each) => each.page === page && page)?.start ?? 0;
  const span = found ? unfolded(folded, found) : { start, end: start };
  return widened(document, { start: span.start - AROUND, end: span.end + AROUND });
}

/** Returns the window with both ends where a paragraph ends. */
export function widened({ text }: DocumentText, { start, end }: Window): Window {
  const before = start <= 0 ? 0 : text.lastIndexOf("\n\n", start) + 1;
  const after = end >= text.length ? text.length : text.indexOf("\n\n", end);
  return { start: Math.max(0, before), end: after < 0 ? text.length : after };
}

/** Returns the pages of a window with their text. */
export function pagesOf(document: DocumentText, window: Window): { page: number; text: string }[] {
  return document.pages.flatMap(({ page, start }, place) => {
    const from = Math.max(start, window.start);
    const to = Math.min(document.pages[place + 1]?.start ?? document.text.length, window.end);
    return from < to ? [{ page, text: document.text.slice(from, to) }] : [];
  });
}
