/** The language of the page: the browser's, unless the reader chose one. */
import { signal } from "@preact/signals";
import { stored, store } from "../ui/stored";
import { english } from "./en";
import { french } from "./fr";
import type { Words } from "./words";

export type Language = "fr" | "en";

/** In French, what a line must not break before or after: « these », and the signs that a space precedes. */
const UNBROKEN = /(?<=«) | (?=[»:;!?])/g;
const set = new WeakMap<object, unknown>();

/** Returns words with the spaces that French sets unbroken, those that functions make included. */
function typeset<T>(words: T): T {
  if (typeof words === "string") return words.replace(UNBROKEN, "\u00a0") as T;
  if (typeof words !== "function" && (typeof words !== "object" || words === null)) return words;
  if (!set.has(words)) {
    const made: unknown = words;
    set.set(words, typeof made === "function" ? (...given: unknown[]) => typeset<unknown>(made(...given))
      : Array.isArray(words) ? words.map(typeset)
      : Object.fromEntries(Object.entries(words).map(([name, value]) => [name, typeset<unknown>(value)])));
  }
  return set.get(words) as T;
}

const dictionaries: Record<Language, Words> = { fr: typeset(french), en: english };

function chosen(): Language {
  const kept = stored("language");
  if (kept === "fr" || kept === "en") return kept;
  const wanted = navigator.languages.find((language) => /^(fr|en)\b/i.test(language)) ?? "";
  return wanted.toLowerCase().startsWith("fr") ? "fr" : "en";
}

export const language = signal<Language>(chosen());

export function speak(wanted: Language): void {
  store("language", wanted);
  language.value = wanted;
}

/** The words of the page; a component that calls it is drawn again when the language changes. */
export function t(): Words {
  return dictionaries[language.value];
}

/** Picks of the words of a view that is fetched later; drawn again when the language changes, as by `t`. */
export function said<T>(both: Readonly<Record<Language, T>>): T {
  return language.value === "fr" ? typeset(both.fr) : both.en;
}

/** How the reader's own country writes numbers and dates in the language of the page. */
function locale(): string {
  return navigator.languages.find((wanted) => wanted.toLowerCase().startsWith(language.value)) ?? language.value;
}

export function number(value: number | bigint): string {
  return new Intl.NumberFormat(locale()).format(value);
}

export function dateTime(seconds: bigint | undefined): string {
  if (seconds === undefined) return "";
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(Number(seconds) * 1000);
}

/** A day, a month or a year as people write it; `end` is its last day. */
/** The time of day so many seconds from now. */
export function clock(seconds: number): string {
  return new Intl.DateTimeFormat(locale(), { hour: "numeric", minute: "2-digit" }).format(Date.now() + seconds * 1000);
}

export function period(start: string, end = start): string {
  if (!start) return "";
  const [year, month, day] = start.split("-").map(Number);
  const options: Intl.DateTimeFormatOptions = start === end || !end ? { day: "numeric", month: "long", year: "numeric" }
    : end.slice(0, 7) === start.slice(0, 7) ? { month: "long", year: "numeric" } : { year: "numeric" };
  const written = new Intl.DateTimeFormat(locale(), { ...options, timeZone: "UTC" }).format(Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1));
  return language.value === "fr" ? written.replace(/^1 /, "1er ") : written;
}

export function bytes(count: bigint): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  let value = Number(count);
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: units[at], unitDisplay: at ? "short" : "long", maximumFractionDigits: value < 10 && at ? 1 : 0,
  }).format(value);
}
