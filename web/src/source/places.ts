/** Where a passage stands in its file, as a person names it. */
import type { Place } from "../gen/sourcier/gateway/v1/place_pb";
import type { Words } from "../i18n/words";

export function placesNamed(places: Place[], words: Words): string {
  const names = places.map(({ where }) => {
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
        return clock(Number(where.value.start?.seconds ?? 0n));
      default:
        return "";
    }
  });
  return [...new Set(names.filter(Boolean))].slice(0, 4).join(", ");
}

function clock(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return `${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
