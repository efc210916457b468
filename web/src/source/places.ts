/** Where a passage stands in its file, as a person names it. */
import type { Place } from "../gen/sourcier/gateway/v1/place_pb";
import type { Words } from "../i18n/words";

export function placesNamed(places: Place[], words: Words): string {
  const names = places.map((place) => (place.picture ? [words.source.image, named(place, words)].filter(Boolean).join(", ") : named(place, words)));
  return [...new Set(names.filter(Boolean))].slice(0, 4).join(", ");
}

function named({ where }: Place, words: Words): string {
  switch (where.case) {
    case "page":
      return words.source.page(where.value.label || String(where.value.number));
    case "cells":
      return `${where.value.sheet} ${where.value.range}`;
    case "slide":
      return words.source.slide(where.value.number);
    case "lines":
      return words.source.lines(where.value.first, where.value.last);
    case "time":
      return words.source.time(spoken(Number(where.value.start?.seconds ?? 0n)));
    default:
      return "";
  }
}

/** The page, or when it is said in a recording, and whether it is a picture that says it; nothing where the file has neither. */
export function pageOrTime(reference: { page: number; places: Place[] }, words: Words): string {
  const time = reference.places.find(({ where }) => where.case === "time");
  const where = reference.page ? words.source.page(reference.page) : time ? placesNamed([time], words) : "";
  return reference.places.some(({ picture }) => picture) ? [words.source.image, where].filter(Boolean).join(", ") : where;
}

function spoken(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60);
  return [hours ? `${hours} h` : "", minutes ? `${minutes % 60} min` : "", `${seconds % 60} s`].filter(Boolean).join(" ");
}
