import { said } from "../i18n";
import type { Widened } from "../i18n/words";

/** A day begins with its number, a month or a year alone does not: « du 3 mars 2025 », but « de mars 2025 » and « de 2025 ». */
const isDay = (period: string) => /^\d{1,2}(er)?\s/.test(period);
const ofDay = (period: string) => isDay(period) ? `du ${period}` : /^[ao]/i.test(period) ? `d’${period}` : `de ${period}`;
const theDay = (period: string) => isDay(period) ? `le ${period}` : period;
const untilDay = (period: string) => isDay(period) ? `jusqu’au ${period}` : `jusqu’à fin ${period}`;

const french = {
  sort: "Trier par", orders: { came: "Ordre d’arrivée", title: "Titre", date: "Date du document", indexed: "Indexés en dernier", size: "Taille" },
  noMatch: "Aucun document ne correspond.", clear: "Effacer la recherche et les filtres",
  found: (count: string, all: string) => `${count} sur ${all}`,
  page: (first: string, last: string) => `${first} à ${last}`, previous: "Page précédente", next: "Page suivante", pages: "Pages",
  details: (name: string) => `Détails de « ${name} »`, dated: (day: string) => ofDay(day), holdsFrom: (day: string) => `en vigueur depuis ${theDay(day)}`,
  willHold: (day: string) => `en vigueur à partir ${ofDay(day)}`, heldUntil: (day: string) => `valable ${untilDay(day)}`, ended: (day: string) => `n’est plus valable depuis ${theDay(day)}`,
  replacedBy: (title: string) => `Remplacé par « ${title} »`,
  relation: {
    replaces: (title: string, part: string) => `Remplace ${part ? `${part} de ` : ""}« ${title} »`,
    amends: (title: string, part: string) => `Modifie ${part ? `${part} de ` : ""}« ${title} »`,
    rider: (title: string) => `Avenant à « ${title} »`,
  },
  reverse: {
    replaces: (title: string, part: string) => part ? `${part} : remplacé par « ${title} »` : `Remplacé par « ${title} »`,
    amends: (title: string, part: string) => `Modifié par « ${title} »${part ? ` (${part})` : ""}`,
    rider: (title: string) => `A pour avenant « ${title} »`,
  },
  dates: "Dates", noDates: "Aucune date n’a été lue dans ce document.", relations: "Liens avec d’autres documents",
  kinds: { effect: "Entrée en vigueur", end: "Fin de validité", signature: "Signature", publication: "Publication", document: "Date du document" },
  origins: { user: "fixée par une personne", metadata: "lue dans les métadonnées", title: "lue dans le titre", text: "lue dans le texte", name: "lue dans le nom du fichier" } as Readonly<Record<string, string>>,
  wordsSaid: (words: string) => `« ${words} »`, change: "Corriger", changeKind: (kind: string) => `Corriger : ${kind}`, addDate: "Ajouter une date", kind: "Ce que dit la date", date: "Date",
  dateHint: "Un jour, un mois ou une année : 2024-03-01, 2024-03 ou 2024", back: "Revenir à ce qui a été lu", backKind: (kind: string) => `Revenir à ce qui a été lu : ${kind}`, dateSaved: "La date est fixée.",
  facts: "Fichier", collection: "Collection", source: "Source", type: "Type", size: "Taille", indexed: "Indexé le", passages: "Passages", category: "Catégorie",
  warnings: "Ce qui n’a pas été lu", all: "Tout a été lu.", notIndexed: "Pas encore indexé.",
  warning: {
    pages_unreadable: ["Pages abîmées", "Le fichier est endommagé à ces pages : leur texte manque. Renvoyez un fichier sain si vous en avez un."],
    pages_without_text: ["Pages sans texte (des scans ?)", "Ces pages sont des images sans texte, et la lecture des scans ne les a pas lues : rien n’y sera trouvé."],
    pages_not_recognised: ["Pages scannées non lues", "Ce sont des images dont les mots n’ont pas pu être reconnus : rien n’y sera trouvé."],
    low_confidence: ["Pages scannées peu sûres", "Elles ont été lues sur une image, avec peu de certitude : vérifiez les mots sur la page."],
    running_lines: ["En-têtes répétés laissés de côté", "Les lignes répétées à chaque page ne sont gardées qu’une fois. Rien d’utile n’est perdu."],
    sound_not_recognised: ["Parties de l’enregistrement non lues", "Leurs paroles n’ont pas pu être reconnues : rien n’y sera trouvé."],
    sound_damaged: ["Morceaux de l’enregistrement abîmés ou manquants", "Le son manque à ces endroits."],
    speech_unsure: ["Phrases entendues avec peu de certitude", "Réécoutez ces passages avant de vous y fier."],
    without_speech: ["Longs passages sans parole", "Personne n’y parle, ou la parole n’y est pas entendue."],
    recording_too_long: ["Enregistrement trop long", "Sa fin n’a pas été lue. Coupez-le en plusieurs fichiers."],
    video_not_read: ["Seul le son de la vidéo a été lu", "Ce qui n’est que montré à l’image ne sera pas trouvé."],
    hidden_text: ["Texte invisible laissé de côté", "Ce texte est caché dans le fichier : personne ne le voit, il ne répond donc pas."],
    unmapped_characters: ["Caractères inconnus", "Le fichier ne dit pas quelle lettre il montre : des mots peuvent manquer."],
    unreadable_text: ["Texte illisible laissé de côté", "Ce texte n’a pas de sens tel qu’il est enregistré, et n’a pas été gardé."],
    pictures: ["Images sans texte ni description", "Ce que montrent ces images ne sera pas trouvé."],
    pictures_not_read: ["Images qui n’ont pas pu être lues", "Ce que montrent ces images ne sera pas trouvé."],
    pictures_left_out: ["Images laissées de côté", "Il y en a trop, ou elles sont trop grandes : ce qu’elles montrent ne sera pas trouvé."],
    descriptions_failed: ["Images que le modèle de vision n’a pas décrites", "Seuls les mots lus sur ces images seront trouvés."],
    formulas_without_value: ["Formules sans valeur", "Le tableur n’a pas enregistré leur résultat : ouvrez-le, enregistrez-le, renvoyez-le."],
    hidden_cells: ["Cellules masquées non lues", "Affichez ces feuilles, lignes ou colonnes dans le fichier pour qu’elles soient lues."],
    encoding_guessed: ["Encodage deviné", "Le fichier ne dit pas comment ses lettres sont écrites : vérifiez les accents."],
    invalid_bytes: ["Octets qui ne sont aucun caractère", "Quelques signes ont été remplacés : le fichier est peut-être abîmé."],
    type_differs: ["Contenu d’un autre type que le nom", "Le fichier a été lu selon son contenu, pas selon son extension."],
    not_read: ["Un élément n’a pas été lu", "Ce que contient cette partie ne sera pas trouvé."],
  } as Readonly<Record<string, readonly string[]>>,
};

const english: Widened<typeof french> = {
  sort: "Sort by", orders: { came: "Order of arrival", title: "Title", date: "Date of the document", indexed: "Indexed last", size: "Size" },
  noMatch: "No document matches.", clear: "Clear search and filters",
  found: (count, all) => `${count} of ${all}`,
  page: (first, last) => `${first} to ${last}`, previous: "Previous page", next: "Next page", pages: "Pages",
  details: (name) => `Details of “${name}”`, dated: (day) => `of ${day}`, holdsFrom: (day) => `in force since ${day}`,
  willHold: (day) => `in force on ${day}`, heldUntil: (day) => `valid until ${day}`, ended: (day) => `no longer valid since ${day}`,
  replacedBy: (title) => `Replaced by “${title}”`,
  relation: {
    replaces: (title, part) => `Replaces ${part ? `${part} of ` : ""}“${title}”`,
    amends: (title, part) => `Amends ${part ? `${part} of ` : ""}“${title}”`,
    rider: (title) => `Rider to “${title}”`,
  },
  reverse: {
    replaces: (title, part) => part ? `${part}: replaced by “${title}”` : `Replaced by “${title}”`,
    amends: (title, part) => `Amended by “${title}”${part ? ` (${part})` : ""}`,
    rider: (title) => `Has the rider “${title}”`,
  },
  dates: "Dates", noDates: "No date was read in this document.", relations: "Links with other documents",
  kinds: { effect: "In force from", end: "Valid until", signature: "Signature", publication: "Publication", document: "Date of the document" },
  origins: { user: "set by a person", metadata: "read in the metadata", title: "read in the title", text: "read in the text", name: "read in the file’s name" },
  wordsSaid: (words) => `“${words}”`, change: "Correct", changeKind: (kind) => `Correct: ${kind}`, addDate: "Add a date", kind: "What the date tells", date: "Date",
  dateHint: "A day, a month or a year: 2024-03-01, 2024-03 or 2024", back: "Back to what was read", backKind: (kind) => `Back to what was read: ${kind}`, dateSaved: "The date is set.",
  facts: "File", collection: "Collection", source: "Source", type: "Type", size: "Size", indexed: "Indexed", passages: "Passages", category: "Category",
  warnings: "What was not read", all: "All of it was read.", notIndexed: "Not indexed yet.",
  warning: {
    pages_unreadable: ["Damaged pages", "The file is damaged there, and the text of these pages is missing. Send a sound file if you have one."],
    pages_without_text: ["Pages without text (scans?)", "These pages are pictures without text that reading scans did not read: nothing is found there."],
    pages_not_recognised: ["Scanned pages not read", "They are pictures whose words could not be recognised: nothing is found there."],
    low_confidence: ["Scanned pages read with little certainty", "They were read from a picture: check the words on the page."],
    running_lines: ["Running headers left out", "Lines that are repeated on each page are kept once. Nothing useful is lost."],
    sound_not_recognised: ["Parts of the recording not read", "Their words could not be recognised: nothing is found there."],
    sound_damaged: ["Pieces of the recording damaged or missing", "There is no sound at these places."],
    speech_unsure: ["Sentences heard with little certainty", "Listen to these places before you rely on them."],
    without_speech: ["Long stretches without speech", "Nobody speaks there, or nobody is heard."],
    recording_too_long: ["Recording too long", "Its end was not read. Cut it into several files."],
    video_not_read: ["Only the sound of the video was read", "What is only shown is not found."],
    hidden_text: ["Invisible text left out", "This text is hidden in the file: nobody sees it, so it does not answer."],
    unmapped_characters: ["Unknown characters", "The file does not tell which letter it shows: words may be missing."],
    unreadable_text: ["Unreadable text left out", "As it is stored, this text makes no sense, and it was not kept."],
    pictures: ["Pictures without text or description", "What these pictures show is not found."],
    pictures_not_read: ["Pictures that could not be read", "What these pictures show is not found."],
    pictures_left_out: ["Pictures left out", "There are too many, or they are too large: what they show is not found."],
    descriptions_failed: ["Pictures that the vision model did not describe", "Only the words read on these pictures are found."],
    formulas_without_value: ["Formulas without a value", "The spreadsheet has not stored their results: open it, save it, send it again."],
    hidden_cells: ["Hidden cells not read", "Show these sheets, rows or columns in the file to have them read."],
    encoding_guessed: ["Encoding guessed", "The file does not tell how its letters are written: check the accents."],
    invalid_bytes: ["Bytes that are no characters", "A few signs were replaced: the file may be damaged."],
    type_differs: ["Content of another type than the name", "The file was read by its content, not by its extension."],
    not_read: ["Something was not read", "What this part holds is not found."],
  },
};

const BOTH = { fr: french, en: english };
export type DocumentWords = Widened<typeof french>;

export function documentWords(): DocumentWords {
  return said<DocumentWords>(BOTH);
}
