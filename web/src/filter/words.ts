import { type Language, said } from "../i18n";
import type { Widened } from "../i18n/words";

const french = {
  title: "Filtrer", clear: "Tout effacer", from: "Du", until: "Au", dates: "Date du document",
  more: (count: number) => `${count} de plus`, fewer: "Moins", remove: (what: string) => `Retirer le filtre ${what}`,
  chosen: "Filtres choisis", pair: (field: string, value: string) => `${field} : ${value}`, since: (day: string) => `depuis ${day}`, before: (day: string) => `jusqu’à ${day}`,
  between: (from: string, until: string) => `du ${from} au ${until}`, everywhere: "Toutes les collections", alsoIn: "Chercher aussi dans",
  onlyMost: (shown: number, all: number) => `Les ${shown} valeurs les plus fréquentes sur ${all}`,
  fields: {
    category: "Catégorie", language: "Langue", media_type: "Type de fichier", date: "Année", author: "Auteur", collection: "Collection",
    type: "Type", version: "Version",
  } as Readonly<Record<string, string>>,
  types: {
    "application/pdf": "PDF", "text/markdown": "Markdown", "text/plain": "Texte", "text/html": "Page web", "text/csv": "CSV",
    "message/rfc822": "Mail", "application/epub+zip": "EPUB", "application/rtf": "RTF", "application/zip": "ZIP",
  } as Readonly<Record<string, string>>,
  kinds: { word: "Texte (Word)", sheet: "Tableur", slides: "Présentation", image: "Image", audio: "Son", video: "Vidéo" },
};

const english: Widened<typeof french> = {
  title: "Filter", clear: "Clear all", from: "From", until: "To", dates: "Date of the document",
  more: (count) => `${count} more`, fewer: "Fewer", remove: (what) => `Remove the filter ${what}`,
  chosen: "Chosen filters", pair: (field, value) => `${field}: ${value}`, since: (day) => `since ${day}`, before: (day) => `until ${day}`,
  between: (from, until) => `from ${from} to ${until}`, everywhere: "All collections", alsoIn: "Also search in",
  onlyMost: (shown, all) => `The ${shown} most frequent of ${all} values`,
  fields: {
    category: "Category", language: "Language", media_type: "Type of file", date: "Year", author: "Author", collection: "Collection",
    type: "Type", version: "Version",
  },
  types: {
    "application/pdf": "PDF", "text/markdown": "Markdown", "text/plain": "Text", "text/html": "Web page", "text/csv": "CSV",
    "message/rfc822": "Mail", "application/epub+zip": "EPUB", "application/rtf": "RTF", "application/zip": "ZIP",
  },
  kinds: { word: "Text (Word)", sheet: "Spreadsheet", slides: "Presentation", image: "Picture", audio: "Sound", video: "Video" },
};

const BOTH = { fr: french, en: english };

export function filterWords(): Widened<typeof french> {
  return said<Widened<typeof french>>(BOTH);
}

/** A field's name as people read it: keys of metadata as they were written. */
export function fieldName(field: string): string {
  return filterWords().fields[field] ?? field.replace(/^metadata\./, "");
}

/** A value as people read it. */
export function valueName(field: string, value: string, spoken: Language): string {
  const words = filterWords();
  if (field === "media_type") return typeName(value.split(";")[0] ?? value, words);
  if (field === "language" && /^[a-z]{2,3}$/.test(value)) {
    return new Intl.DisplayNames(spoken, { type: "language" }).of(value) ?? value;
  }
  return value;
}

function typeName(type: string, words: Widened<typeof french>): string {
  const [group = ""] = type.split("/");
  if (words.types[type]) return words.types[type];
  if (/word|opendocument\.text/.test(type)) return words.kinds.word;
  if (/sheet|excel/.test(type)) return words.kinds.sheet;
  if (/presentation|powerpoint/.test(type)) return words.kinds.slides;
  if (group === "image" || group === "audio" || group === "video") return `${words.kinds[group]} (${type.slice(group.length + 1)})`;
  return type;
}
