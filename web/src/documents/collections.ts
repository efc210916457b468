/** The collections, and the one that is asked and filled. */
import { signal } from "@preact/signals";
import { knowledge } from "../api/clients";
import { all } from "../api/paging";
import type { Collection } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { t } from "../i18n";
import { notifyError } from "../ui/notices";
import { store, stored } from "../ui/stored";

export const DEFAULT = "default";
export const collections = signal<Collection[]>([]);
export const collectionsRead = signal(false);
export const chosen = signal(stored("collection") ?? DEFAULT);

export function choose(name: string): void {
  chosen.value = name;
  store("collection", name);
}

export async function refreshCollections(): Promise<void> {
  try {
    collections.value = await all(async (pageToken) => {
      const page = await knowledge.listCollections({ pageSize: 1000, pageToken });
      return { items: page.collections, next: page.nextPageToken };
    });
    collectionsRead.value = true;
    const names = collections.value.map((collection) => collection.name);
    if (names.length && !names.includes(chosen.value) && chosen.value !== DEFAULT) choose(names[0] ?? DEFAULT);
  } catch (error) {
    notifyError(error);
  }
}

/** Whether a collection is there: `default` is made by its first document, and asking for it before is an error. */
export function exists(name: string): boolean {
  return collections.value.some((collection) => collection.name === name);
}

/** The names to choose from; `default` is made by its first document. */
export function collectionNames(): string[] {
  const names = collections.value.map((collection) => collection.name);
  return names.includes(DEFAULT) ? names : [DEFAULT, ...names];
}

/** A collection's name as people read it. */
export function shownName(name: string): string {
  return name === DEFAULT ? t().documents.defaultCollection : name;
}
