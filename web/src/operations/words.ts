import { said } from "../i18n";
import type { Widened } from "../i18n/words";

const french = {
  checks: "Diagnostic", look: "Regarder de nouveau", allWell: "Tout fonctionne.", amiss: (count: number) => count > 1 ? `${count} points à regarder` : "Un point à regarder",
  states: { ok: "Bon", warning: "À regarder", failed: "En panne" }, remedy: "Pour y remédier :", fine: (count: number) => `Ce qui va bien (${count})`,
  names: {
    ingest: "Lecture des documents", embed: "Vecteurs", rerank: "Classement des passages", generate: "Modèle de langue", jobs: "Travaux", failures: "Échecs",
    spaces: "Modèles des collections", model: "Modèle de vecteurs", vectors: "Vecteurs des passages", index: "Index", broker: "File des messages", clock: "Horloges", certificate: "Certificat", releases: "Versions des services", schema: "Base de données",
  } as Readonly<Record<string, string>>,
  buckets: "Dossiers surveillés", noBuckets: "Aucun dossier n’est surveillé. Ils se règlent à l’installation.",
  goesTo: (collection: string) => `vers « ${collection} »`, category: (name: string) => `catégorie ${name}`, takes: (globs: string) => `seulement ${globs}`, leaves: (globs: string) => `sauf ${globs}`,
  largest: (size: string) => `jusqu’à ${size}`, current: (count: string) => `${count} à jour`, waiting: (count: string) => `${count} en attente`, refused: (count: string) => `${count} refusés`,
  compared: (when: string) => `comparé ${when}`, neverCompared: "jamais comparé en entier", comparing: "comparaison en cours", changed: (when: string) => `dernier changement ${when}`,
  errors: (count: number) => count > 1 ? `${count} objets avec une erreur` : "Un objet avec une erreur",
  compare: "Comparer", compareNamed: (bucket: string) => `Comparer tout le dossier « ${bucket} », toutes règles`, comparedNow: (missing: string, changed: string, gone: string) => `Comparé : ${missing} nouveaux, ${changed} changés, ${gone} disparus.`,
  alike: (bucket: string) => `« ${bucket} » est à jour : rien à faire.`, apply: "Mettre à jour", differs: (bucket: string) => `Dans tout le dossier « ${bucket} », toutes règles :`,
  wouldTake: (count: number) => count > 1 ? `${count} nouveaux objets seront ajoutés.` : "Un nouvel objet sera ajouté.",
  wouldRead: (count: number) => count > 1 ? `${count} objets changés seront relus.` : "Un objet changé sera relu.",
  wouldDelete: (count: number) => count > 1 ? `${count} objets n’y sont plus : leurs documents seront supprimés.` : "Un objet n’y est plus : son document sera supprimé.",
  spaces: "Modèles des collections", served: "en service", notServed: "aucun service ne le sert", dimension: (count: number) => `${count} dimensions`, noCollections: "aucune collection",
  building: (collection: string) => `« ${collection} » passe à un autre modèle`, done: (done: string, all: string) => `${done} passages sur ${all}`,
  buildStates: { building: "en préparation", ready: "prêt, pas encore en service", live: "en service, l’ancien est gardé", retired: "terminé", dropped: "abandonné", failed: "arrêté" },
};

const english: Widened<typeof french> = {
  checks: "Diagnosis", look: "Look again", allWell: "All works.", amiss: (count) => count > 1 ? `${count} things to look at` : "One thing to look at",
  states: { ok: "Good", warning: "To look at", failed: "Broken" }, remedy: "What mends it:", fine: (count) => `What is well (${count})`,
  names: {
    ingest: "Reading documents", embed: "Vectors", rerank: "Ranking of passages", generate: "Language model", jobs: "Jobs", failures: "Failures",
    spaces: "Models of collections", model: "Embedding model", vectors: "Vectors of passages", index: "Index", broker: "Message queue", clock: "Clocks", certificate: "Certificate", releases: "Releases of the services", schema: "Database",
  },
  buckets: "Watched folders", noBuckets: "No folder is watched. They are set up with the installation.",
  goesTo: (collection) => `to “${collection}”`, category: (name) => `category ${name}`, takes: (globs) => `only ${globs}`, leaves: (globs) => `but ${globs}`,
  largest: (size) => `up to ${size}`, current: (count) => `${count} up to date`, waiting: (count) => `${count} waiting`, refused: (count) => `${count} refused`,
  compared: (when) => `compared ${when}`, neverCompared: "never compared whole", comparing: "being compared", changed: (when) => `last change ${when}`,
  errors: (count) => count > 1 ? `${count} objects with an error` : "One object with an error",
  compare: "Compare", compareNamed: (bucket) => `Compare the whole folder “${bucket}”, all its rules`, comparedNow: (missing, changed, gone) => `Compared: ${missing} new, ${changed} changed, ${gone} gone.`,
  alike: (bucket) => `“${bucket}” is up to date: nothing to do.`, apply: "Bring up to date", differs: (bucket) => `In the whole folder “${bucket}”, all its rules:`,
  wouldTake: (count) => count > 1 ? `${count} new objects will be added.` : "One new object will be added.",
  wouldRead: (count) => count > 1 ? `${count} changed objects will be read again.` : "One changed object will be read again.",
  wouldDelete: (count) => count > 1 ? `${count} objects are gone: their documents will be deleted.` : "One object is gone: its document will be deleted.",
  spaces: "Models of collections", served: "served", notServed: "no service serves it", dimension: (count) => `${count} dimensions`, noCollections: "no collection",
  building: (collection) => `“${collection}” moves to another model`, done: (done, all) => `${done} of ${all} passages`,
  buildStates: { building: "being prepared", ready: "ready, not in use yet", live: "in use, the old one is kept", retired: "finished", dropped: "given up", failed: "stopped" },
};

const BOTH = { fr: french, en: english };

export function operationWords(): Widened<typeof french> {
  return said<Widened<typeof french>>(BOTH);
}
