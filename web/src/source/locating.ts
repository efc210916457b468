/**
 * Where a text stands in another one that was written down otherwise: letters and figures alone are compared, without case
 * and accents, so that quotes, hyphens, line ends and Markdown do not matter.
 */

export interface Folded {
  text: string;
  /** For each character of `text`, its place in the original, in UTF-16 units. */
  places: number[];
}

export interface Span {
  start: number;
  end: number;
}

const SAYS_SOMETHING = /[\p{L}\p{N}]/u;

export function fold(original: string): Folded {
  let text = "";
  const places: number[] = [];
  let place = 0;
  for (const character of original) {
    for (const piece of character.normalize("NFKD").toLowerCase()) {
      if (!SAYS_SOMETHING.test(piece)) continue;
      text += piece;
      for (let unit = 0; unit < piece.length; unit += 1) places.push(place);
    }
    place += character.length;
  }
  return { text, places };
}

const PIECE = 24;
const STEP = 12;
const HITS_MAX = 20;
/** Less than this share of a text that is found means that it is not found. */
const SHARE_MIN = 0.5;

/** Returns where the needle stands in the folded text, from `from` on, or its larger part; null below half of it. */
export function locate(haystack: string, needle: string, from = 0): Span | null {
  if (!needle) return null;
  const exact = haystack.indexOf(needle, from);
  if (exact >= 0) return { start: exact, end: exact + needle.length };
  if (needle.length < 2 * PIECE) return null;
  const hits: { at: number; piece: number }[] = [];
  let pieces = 0;
  for (let place = 0; place + PIECE <= needle.length; place += STEP) {
    const piece = needle.slice(place, place + PIECE);
    let at = haystack.indexOf(piece, from);
    for (let count = 0; at >= 0 && count < HITS_MAX; count += 1) {
      hits.push({ at, piece: pieces });
      at = haystack.indexOf(piece, at + 1);
    }
    pieces += 1;
  }
  hits.sort((a, b) => a.at - b.at);
  let best: Span | null = null;
  let bestCount = 0;
  const inside = new Map<number, number>();
  let first = 0;
  for (const hit of hits) {
    inside.set(hit.piece, (inside.get(hit.piece) ?? 0) + 1);
    for (let gone = hits[first]; gone && hit.at - gone.at > 1.5 * needle.length; gone = hits[first]) {
      const left = (inside.get(gone.piece) ?? 1) - 1;
      if (left) inside.set(gone.piece, left);
      else inside.delete(gone.piece);
      first += 1;
    }
    if (inside.size > bestCount) {
      bestCount = inside.size;
      best = { start: hits[first]?.at ?? hit.at, end: hit.at + PIECE };
    }
  }
  return best && bestCount >= SHARE_MIN * pieces ? best : null;
}

/** Returns a place of the folded text as one of the original. */
export function unfolded(folded: Folded, span: Span): Span {
  return { start: folded.places[span.start] ?? 0, end: (folded.places[span.end - 1] ?? 0) + 1 };
}
