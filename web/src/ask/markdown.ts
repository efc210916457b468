/**
 * Markdown that a model or a document wrote, as HTML that can do no harm: no HTML of its own, no pictures from elsewhere, no
 * styles, and after all that through DOMPurify.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { t } from "../i18n";
import { drawn, formula } from "./formulas";
import { withFormulas } from "./tex";

/**
 * Marks in the text that become elements: private-use characters, which are taken out of what others wrote.
 * `\uE000 number \uE001` stands for the chip of that number.
 */
const OPEN = "\uE000";
const CLOSE = "\uE001";
const MARKS = /[\uE000\uE001]/g;
const CHIP = /\uE000(\d+)\uE001/g;

/** What a chip looks like. */
export interface Chip {
  label: string;
  /** `good`, `doubtful` or `bad`. */
  tone: string;
  /** What it is called by a screen reader. */
  name: string;
}

export function withoutMarks(text: string): string {
  return text.replace(MARKS, " ");
}

export function chipMark(number: number): string {
  return `${OPEN}${number}${CLOSE}`;
}

function chipsOf(env: Record<string, unknown> | undefined): Chip[] {
  return (env?.chips ?? []) as Chip[];
}

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: false, typographer: false });
// A picture's address could carry what the answer says to anybody.
markdown.disable("image");

markdown.inline.ruler.before("text", "chip", (state, silent) => {
  if (state.src[state.pos] !== OPEN) return false;
  const end = state.src.indexOf(CLOSE, state.pos);
  if (end < 0) return false;
  if (!silent) {
    const token = state.push("chip", "button", 0);
    token.content = state.src.slice(state.pos + 1, end);
  }
  state.pos = end + 1;
  return true;
});
// Its rule for text would read on over a mark.
const plain = markdown.inline.ruler;
plain.at("text", (state, silent) => {
  let place = state.pos;
  while (place < state.posMax && !TERMINATORS.has(state.src[place] ?? "")) place += 1;
  if (place === state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, place);
  state.pos = place;
  return true;
});
const TERMINATORS = new Set([...`\n$%&*+-:<=>@[\\]^_\`{}~!#"'();,./|?`, OPEN, CLOSE]);

markdown.renderer.rules.chip = (tokens, index, _options, env) => {
  const number = Number(tokens[index]?.content);
  const chip = chipsOf(env)[number];
  if (!chip) return "";
  const escaped = markdown.utils.escapeHtml;
  return `<button type="button" class="chip ${escaped(chip.tone)}" data-chip="${number}" aria-label="${escaped(chip.name)}">${escaped(chip.label)}</button>`;
};

// Alignment comes as a style, which the content security policy forbids.
for (const rule of ["td_open", "th_open"] as const) {
  markdown.renderer.rules[rule] = (tokens, index, options, _env, self) => {
    const token = tokens[index];
    const style = String(token?.attrGet("style") ?? "");
    if (token) {
      token.attrs = style.includes("right") ? [["class", "right"]] : style.includes("center") ? [["class", "centre"]] : null;
      if (rule === "th_open") token.attrPush(["scope", "col"]);
    }
    return self.renderToken(tokens, index, options);
  };
}
/** What lets an area be scrolled by keyboard, and be told of when the focus comes to it. */
function scrolled(name: string): string {
  return ` tabindex="0" role="group" aria-label="${markdown.utils.escapeHtml(name)}"`;
}

// A table that is wider than the page is scrolled alone, by keyboard too.
markdown.renderer.rules.table_open = () => `<div class="wide"${scrolled(t().ask.table)}><table>\n`;
markdown.renderer.rules.table_close = () => "</table></div>\n";
markdown.renderer.rules.link_open = (tokens, index, options, _env, self) => {
  tokens[index]?.attrPush(["target", "_blank"]);
  tokens[index]?.attrPush(["rel", "noopener noreferrer nofollow"]);
  return self.renderToken(tokens, index, options);
};
// Headings of an answer stand below those of the page.
markdown.renderer.rules.heading_open = (tokens, index) => `<p class="heading ${tokens[index]?.tag ?? ""}">`;
markdown.renderer.rules.heading_close = () => "</p>\n";

/** In code a mark is what was written: `[1]`. */
function unmarked(html: string, chips: Chip[]): string {
  return html.replace(CHIP, (_, number: string) => `[${chips[Number(number)]?.label ?? number}]`);
}
for (const rule of ["code_inline", "code_block", "fence"] as const) {
  const before = markdown.renderer.rules[rule];
  markdown.renderer.rules[rule] = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token) token.content = unmarked(token.content, chipsOf(env));
    const html = before?.(tokens, index, options, env, self) ?? "";
    if (rule === "code_inline") return html;
    const copy = `<button type="button" class="copy" data-copy="1" aria-label="${markdown.utils.escapeHtml(t().ask.copyCode)}"></button>`;
    return `<div class="code">${html.replace("<pre", `<pre${scrolled(t().ask.code)}`)}${copy}</div>\n`;
  };
}

withFormulas(markdown, (tex, display) => {
  const made = formula(unmarked(tex, []), display);
  const shown = made ?? `<code>${markdown.utils.escapeHtml(tex.replace(MARKS, ""))}</code>`;
  return `<span class="${display ? "formula display" : "formula"}"${display ? scrolled(t().ask.formula) : ""}>${shown}</span>`;
});

const MATH = ["math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "merror", "mpadded", "mphantom",
  "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "mtable", "mtr", "mtd"];
const MATH_ATTRIBUTES = ["display", "mathvariant", "accent", "accentunder", "columnalign", "rowspacing", "columnspacing", "fence", "form", "stretchy",
  "symmetric", "separator", "largeop", "movablelimits", "lspace", "rspace", "linethickness", "displaystyle", "scriptlevel", "width", "height", "depth",
  "voffset", "minsize", "maxsize", "columnspan", "rowspan", "dir"];

const CLEAN = {
  ALLOWED_TAGS: [...MATH, "span", "p", "br", "hr", "strong", "em", "s", "ul", "ol", "li", "blockquote", "code", "pre", "a", "div", "table", "thead",
    "tbody", "tr", "th", "td", "button"],
  ALLOWED_ATTR: [...MATH_ATTRIBUTES, "data-copy", "href", "class", "start", "target", "rel", "type", "data-chip", "aria-label", "tabindex", "role", "scope"],
  ALLOW_DATA_ATTR: false,
  // Every other value has to be an address that is allowed.
  ADD_URI_SAFE_ATTR: [...MATH_ATTRIBUTES, "data-copy", "start", "target", "rel", "type", "data-chip", "aria-label", "tabindex", "role", "scope"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
};

/** Returns Markdown as clean HTML; `chips` are what the marks stand for. */
export function html(text: string, chips: Chip[] = []): string {
  // Formulas in it are drawn once they can be.
  drawn();
  return DOMPurify.sanitize(markdown.render(text, { chips }), CLEAN);
}

/** The same for a sentence, which is no paragraph of its own. */
export function inlineHtml(text: string): string {
  drawn();
  return DOMPurify.sanitize(markdown.renderInline(withoutMarks(text)), CLEAN);
}
