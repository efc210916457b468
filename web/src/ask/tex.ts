/** Where a formula begins and ends in Markdown: `$…$` as Pandoc reads it, so that prices are none, `$$…$$`, `\(…\)`, `\[…\]`. */
import type MarkdownIt from "markdown-it";

export interface Found {
  tex: string;
  display: boolean;
  /** The place behind it. */
  end: number;
}

/** A formula is looked for within so many characters: text with many beginnings and no end takes no time. */
const CHARACTERS_MAX = 4_000;
const BLANK = /\s/;
const DIGIT = /\d/;
const PAIRS: readonly { open: string; close: string; display: boolean }[] = [
  { open: "$$", close: "$$", display: true }, { open: "\\[", close: "\\]", display: true }, { open: "\\(", close: "\\)", display: false },
];

export function formulaAt(source: string, start: number, limit = source.length): Found | null {
  if (source[start] !== "$" && source[start] !== "\\") return null;
  const found = within(source.slice(start, Math.min(limit, start + CHARACTERS_MAX)));
  return found && { ...found, end: start + found.end };
}

function within(text: string): Found | null {
  for (const { open, close, display } of PAIRS) {
    if (!text.startsWith(open)) continue;
    const end = text.indexOf(close, open.length);
    const tex = end < 0 ? "" : text.slice(open.length, end).trim();
    return tex ? { tex, display, end: end + close.length } : null;
  }
  if (text[0] !== "$" || BLANK.test(text[1] ?? " ")) return null;
  for (let end = text.indexOf("$", 1); end >= 0; end = text.indexOf("$", end + 1)) {
    if (text[end - 1] === "\\") continue;
    if (BLANK.test(text[end - 1] ?? " ") || DIGIT.test(text[end + 1] ?? "")) return null;
    return { tex: text.slice(1, end), display: false, end: end + 1 };
  }
  return null;
}

/** Teaches Markdown to read formulas; `render` makes HTML of one. */
export function withFormulas(markdown: InstanceType<typeof MarkdownIt>, render: (tex: string, display: boolean) => string): void {
  markdown.inline.ruler.before("escape", "formula", (state, silent) => {
    const found = formulaAt(state.src, state.pos, state.posMax);
    if (!found) return false;
    if (!silent) {
      const token = state.push("formula", "math", 0);
      token.content = found.tex;
      token.block = found.display;
    }
    state.pos = found.end;
    return true;
  });
  markdown.renderer.rules.formula = (tokens, index) => {
    const token = tokens[index];
    return token ? render(token.content, token.block) : "";
  };
}
