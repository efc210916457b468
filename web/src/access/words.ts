import { said } from "../i18n";
import type { Widened } from "../i18n/words";

const french = {
  title: "Accès", lead: "Qui peut lire ou remplir chaque collection, et les clés que les programmes montrent. Sans droit, une collection n’existe pas pour la personne.",
  open: "Ici, personne n’a à s’identifier : chacun peut tout. Les droits et les clés ci-dessous comptent dès que le service demande qui est là.",
  grants: "Droits", give: "Donner un droit", none: "Aucun droit n’a été donné ici. Seuls les opérateurs voient tout.", of: "Pour", all: "Toutes les collections",
  who: "Qui", whoKinds: { user: "Une personne", group: "Un groupe", key: "Une clé", everyone: "Tout le monde" },
  whoHints: { user: "Son identifiant, tel que le fournisseur d’identité le donne", group: "Le nom du groupe", key: "La clé", everyone: "Toutes les personnes et clés de l’organisation" },
  right: "Droit", rights: { read: "Lire", write: "Lire et remplir", manage: "Gérer", conversations: "Voir les conversations des autres" },
  rightHints: {
    read: "Chercher, poser des questions, ouvrir les documents", write: "Aussi ajouter, corriger et supprimer des documents",
    manage: "Aussi changer la collection, valider des réponses, donner des droits",
  },
  collection: "Collection", by: "Donné par", remove: "Reprendre",
  removeNamed: (who: string, what: string) => `Reprendre le droit « ${what} » de ${who}`,
  removeAsk: (who: string, what: string, where: string) => `Reprendre à ${who} le droit « ${what} » sur ${where} ? Cela compte tout de suite.`,
  given: "Le droit est donné.", taken: "Le droit est repris.",
  roleNote: "Un droit ne dépasse jamais le rôle de la personne : un lecteur à qui l’on donne « Gérer » lit seulement.",
  named: { user: (name: string) => name, group: (name: string) => `groupe ${name}`, key: (name: string) => `clé ${name}`, everyone: "tout le monde" },
  keys: "Clés d’accès", newKey: "Nouvelle clé", noKeys: "Aucune clé.", keyName: "À quoi elle sert", role: "Rôle",
  roles: { reader: "Lecteur", writer: "Rédacteur", manager: "Gestionnaire", operator: "Opérateur" },
  roleHints: {
    reader: "Cherche et pose des questions", writer: "Aussi ajoute et supprime des documents", manager: "Aussi gère des collections et leurs droits",
    operator: "Tout, sur toutes les collections",
  },
  onCollections: "Sur quelles collections", noCollections: "Sans collection, la clé ne voit rien tant qu’on ne lui donne aucun droit.",
  validity: "Valable", days: (count: number) => `${count} jours`, forever: "Jusqu’à ce qu’on la révoque", until: (day: string) => `jusqu’au ${day}`, noEnd: "sans fin",
  expired: "Expirée", revoked: "Révoquée", revoke: "Révoquer", revokeNamed: (name: string) => `Révoquer la clé ${name}`,
  revokeAsk: (name: string) => `Révoquer la clé « ${name} » ? Les programmes qui la montrent sont refusés aussitôt, et on ne peut pas revenir en arrière.`,
  revokedNow: "La clé est révoquée.", shownOnce: "Voici la clé. Elle n’est montrée que cette fois : copiez-la maintenant et rangez-la en lieu sûr.",
  secret: "Clé", copy: "Copier la clé", done: "C’est noté", past: (count: number) => `Clés qui ne servent plus (${count})`, madeBy: (who: string, day: string) => who ? `faite par ${who}, ${day}` : `faite le ${day}`,
};

const english: Widened<typeof french> = {
  title: "Access", lead: "Who may read or fill each collection, and the keys that programs show. Without a right, a collection does not exist for a person.",
  open: "Nobody is asked who they are here: everybody may do everything. The rights and keys below count once the service asks who is there.",
  grants: "Rights", give: "Give a right", none: "No right was given here. Operators alone see everything.", of: "For", all: "All collections",
  who: "Who", whoKinds: { user: "A person", group: "A group", key: "A key", everyone: "Everybody" },
  whoHints: { user: "Their identifier, as the identity provider gives it", group: "The group’s name", key: "The key", everyone: "All people and keys of the organisation" },
  right: "Right", rights: { read: "Read", write: "Read and fill", manage: "Manage", conversations: "See the conversations of others" },
  rightHints: {
    read: "Search, ask, open documents", write: "Also add, correct and delete documents",
    manage: "Also change the collection, validate answers, give rights",
  },
  collection: "Collection", by: "Given by", remove: "Take back",
  removeNamed: (who, what) => `Take the right “${what}” back from ${who}`,
  removeAsk: (who, what, where) => `Take the right “${what}” on ${where} back from ${who}? It counts at once.`,
  given: "The right is given.", taken: "The right is taken back.",
  roleNote: "A right never exceeds the person’s role: a reader who is given “Manage” still only reads.",
  named: { user: (name) => name, group: (name) => `group ${name}`, key: (name) => `key ${name}`, everyone: "everybody" },
  keys: "Access keys", newKey: "New key", noKeys: "No keys.", keyName: "What it is for", role: "Role",
  roles: { reader: "Reader", writer: "Writer", manager: "Manager", operator: "Operator" },
  roleHints: {
    reader: "Searches and asks", writer: "Also adds and deletes documents", manager: "Also manages collections and their rights",
    operator: "Everything, on all collections",
  },
  onCollections: "On which collections", noCollections: "Without a collection the key sees nothing until it is given a right.",
  validity: "Valid", days: (count) => `${count} days`, forever: "Until it is revoked", until: (day) => `until ${day}`, noEnd: "without an end",
  expired: "Expired", revoked: "Revoked", revoke: "Revoke", revokeNamed: (name) => `Revoke the key ${name}`,
  revokeAsk: (name) => `Revoke the key “${name}”? Programs that show it are refused at once, and this cannot be undone.`,
  revokedNow: "The key is revoked.", shownOnce: "This is the key. It is shown this once: copy it now, and keep it in a safe place.",
  secret: "Key", copy: "Copy the key", done: "Done", past: (count) => `Keys that are of no use any more (${count})`, madeBy: (who, day) => who ? `made by ${who}, ${day}` : `made ${day}`,
};

const BOTH = { fr: french, en: english };
export type AccessWords = Widened<typeof french>;

export function accessWords(): AccessWords {
  return said<AccessWords>(BOTH);
}
