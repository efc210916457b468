/** The language of the page: the browser's, unless the reader chose one. */
import { signal } from "@preact/signals";
import { stored, store } from "../ui/stored";
import { english } from "./en";
import { french } from "./fr";
import type { Words } from "./words";

export type Language = "fr" | "en";

const dictionaries: Record<Language, Words> = { fr: french, en: english };

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
  return both[language.value];
}

export function number(value: number | bigint): string {
  return new Intl.NumberFormat(language.value).format(value);
}

export function dateTime(seconds: bigint | undefined): string {
  if (seconds === undefined) return "";
  return new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }).format(Number(seconds) * 1000);
}

/** A day, a month or a year as people write it; `end` is its last day. */
export function period(start: string, end = start): string {
  if (!start) return "";
  const [year, month, day] = start.split("-").map(Number);
  const options: Intl.DateTimeFormatOptions = start === end || !end ? { day: "numeric", month: "long", year: "numeric" }
    : end.slice(0, 7) === start.slice(0, 7) ? { month: "long", year: "numeric" } : { year: "numeric" };
  const written = new Intl.DateTimeFormat(language.value, { ...options, timeZone: "UTC" }).format(Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1));
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
  return new Intl.NumberFormat(language.value, {
    style: "unit", unit: units[at], unitDisplay: at ? "short" : "long", maximumFractionDigits: value < 10 && at ? 1 : 0,
  }).format(value);
}
