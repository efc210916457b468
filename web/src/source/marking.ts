/** Marks words in text that is shown already. */
import { html } from "../ask/markdown";
import { fold, locate, type Span } from "./locating";

/** What Markdown shows, without its signs. */
export function plain(markdown: string): string {
  const holder = document.createElement("template");
  holder.innerHTML = html(markdown);
  return holder.content.textContent ?? "";
}

interface Shown {
  text: string;
  nodes: Text[];
  /** For each character of `text`, its node and its place in it. */
  node: number[];
  place: number[];
}

function read(root: Node): Shown {
  const shown: Shown = { text: "", nodes: [], node: [], place: [] };
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: string[] = [];
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    const folded = fold(node.data);
    texts.push(folded.text);
    for (const place of folded.places) shown.node.push(shown.nodes.length), shown.place.push(place);
    shown.nodes.push(node);
  }
  shown.text = texts.join("");
  return shown;
}

/**
 * Marks the cited words, looked for inside their passage first, since short ones occur more than once.
 *
 * Returns the first mark; null where they were not found, and nothing is marked then.
 */
export function mark(root: Node, passage: string, cited: string): HTMLElement | null {
  const shown = read(root);
  const around = locate(shown.text, fold(plain(passage)).text);
  const words = fold(plain(cited)).text;
  const span = spanOf(shown.text, around, words);
  return span ? wrap(shown, span) : null;
}

function spanOf(text: string, around: Span | null, words: string): Span | null {
  if (!words) return around;
  if (!around) {
    // Without the passage only what occurs once, and is no mere word, is sure to be meant.
    const first = text.indexOf(words);
    return words.length > 20 && first >= 0 && text.indexOf(words, first + 1) < 0 ? { start: first, end: first + words.length } : null;
  }
  const inside = locate(text.slice(around.start, around.end), words);
  return inside && { start: around.start + inside.start, end: around.start + inside.end };
}

function wrap(shown: Shown, span: Span): HTMLElement | null {
  const from = shown.node[span.start];
  const to = shown.node[span.end - 1];
  if (from === undefined || to === undefined) return null;
  let first: HTMLElement | null = null;
  for (let index = from; index <= to; index += 1) {
    const node = shown.nodes[index];
    if (!node?.data.trim()) continue;
    const begin = index === from ? (shown.place[span.start] ?? 0) : 0;
    const end = index === to ? (shown.place[span.end - 1] ?? 0) + 1 : node.data.length;
    const range = document.createRange();
    range.setStart(node, begin);
    range.setEnd(node, Math.min(end, node.data.length));
    const element = document.createElement("mark");
    range.surroundContents(element);
    first ??= element;
  }
  return first;
}
