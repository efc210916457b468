/** Faults in words that anybody understands, by the name that the service gives them. What has none here is told in its own. */
import { said } from "./index";

const french: Readonly<Record<string, string>> = {
  UNAVAILABLE: "Une partie du service ne répond pas pour l’instant. Réessayez dans un instant.",
  DEADLINE_EXCEEDED: "Cela a pris trop de temps. Réessayez dans un instant ; une question plus courte aide parfois.",
  INTERNAL: "Le service a rencontré une panne. Réessayez ; si cela se répète, parlez-en à la personne qui s’en occupe.",
  GATEWAY_LOST: "Le service a redémarré pendant la réponse. Reposez la question.",
  TOO_LARGE: "C’est trop volumineux pour être envoyé en une fois.",
  ALREADY_EXISTS: "Ce nom est déjà pris : choisissez-en un autre.",
  NOT_FOUND: "Cela n’existe plus, ou ne vous est pas ouvert. Actualisez la page.",
  SUPERSEDED: "Une version plus récente de ce document l’a remplacé entre-temps.",
  DOCUMENT_REJECTED: "Ce document ne peut pas être lu.",
  DOCUMENT_UNSUPPORTED: "Ce type de fichier ne peut pas être lu. Enregistrez-le dans un des formats acceptés, en PDF par exemple, puis envoyez-le.",
  DOCUMENT_ENCRYPTED: "Ce fichier est protégé par un mot de passe. Enregistrez-le sans protection, puis envoyez-le.",
  DOCUMENT_MALFORMED: "Ce fichier est abîmé ou incomplet : il ne s’ouvre pas. Envoyez-en un exemplaire sain.",
  DOCUMENT_EMPTY: "Ce fichier est vide, ou ne contient aucun texte.",
  DOCUMENT_TOO_LARGE: "Ce fichier est trop volumineux. Coupez-le en plusieurs parties.",
  DOCUMENT_TOO_COSTLY: "Ce fichier demande trop de temps ou de mémoire à lire. Coupez-le en plusieurs parties.",
  DOCUMENT_PAGE_ABSENT: "Ce document n’a pas cette page.",
};

const english: Readonly<Record<string, string>> = {
  UNAVAILABLE: "A part of the service does not answer just now. Try again in a moment.",
  DEADLINE_EXCEEDED: "This took too long. Try again in a moment; a shorter question may help.",
  INTERNAL: "The service has a fault. Try again; if it happens once more, tell whoever looks after it.",
  GATEWAY_LOST: "The service restarted during the answer. Ask again.",
  ALREADY_EXISTS: "This name is taken: choose another one.",
  NOT_FOUND: "This does not exist any more, or is not open to you. Load the page again.",
};

const BOTH = { fr: french, en: english };

/** Says a fault by its name, else in the service's own words. */
export function reasonSaid(reason: string, message: string): string {
  return said<Readonly<Record<string, string>>>(BOTH)[reason] ?? (message || reason);
}
