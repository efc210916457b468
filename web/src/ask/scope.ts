/** Where questions are searched for: the collections, and what their documents are narrowed to. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { chosen } from "../documents/collections";
import { type Chosen, countOf, NOTHING, whereOf } from "../filter/conditions";
import type { SearchFilterSchema } from "../gen/sourcier/gateway/v1/answer_pb";

export const narrowed = signal<Chosen>(NOTHING);
/** Collections beside the one that is chosen. */
export const others = signal<readonly string[]>([]);
export const everywhere = signal(false);

export function isNarrowed(): boolean {
  return countOf(narrowed.value) > 0 || everywhere.value || others.value.length > 0;
}

/** Returns the filter of a question. An agent answers from a collection of its own. */
export function filterOf(agent: string): MessageInitShape<typeof SearchFilterSchema> | undefined {
  const where = whereOf(narrowed.value);
  if (agent) return where && { where };
  if (everywhere.value) return { allCollections: true, where };
  return { collection: chosen.value, collections: others.value.filter((name) => name !== chosen.value), where };
}
