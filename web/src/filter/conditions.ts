/** What documents are narrowed to, as a person chooses it, and as the contract says it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConditionSchema } from "../gen/sourcier/gateway/v1/answer_pb";
import { switched } from "../ui/lists";

export interface Chosen {
  /** By field, the values of which one has to be met. */
  values: Readonly<Record<string, readonly string[]>>;
  /** The first and the last day of the documents' own dates; empty for no bound. */
  from: string;
  until: string;
}

export type Where = MessageInitShape<typeof ConditionSchema>;

export const NOTHING: Chosen = { values: {}, from: "", until: "" };
/** The service cuts longer values when it counts them. */
const VALUE_CHARACTERS_MAX = 200;

export function isEmpty(chosen: Chosen): boolean {
  return !chosen.from && !chosen.until && !Object.values(chosen.values).some((values) => values.length);
}

export function countOf(chosen: Chosen): number {
  return Object.values(chosen.values).reduce((sum, values) => sum + values.length, Number(Boolean(chosen.from || chosen.until)));
}

/** Takes a value in, or out again. */
export function toggled(chosen: Chosen, field: string, value: string): Chosen {
  return { ...chosen, values: { ...chosen.values, [field]: switched(chosen.values[field] ?? [], value) } };
}

/** Returns the condition; undefined where nothing is chosen. `without` leaves a field out, to count what else it has. */
export function whereOf(chosen: Chosen, without = ""): Where | undefined {
  const parts: Where[] = [];
  for (const [field, values] of Object.entries(chosen.values)) {
    if (field !== without && values.length) parts.push(ofField(field, values));
  }
  if (chosen.from || chosen.until) {
    parts.push({
      field: "date", ...(chosen.from && { atLeast: text(chosen.from) }), ...(chosen.until && { atMost: text(chosen.until) }),
    });
  }
  return parts.length > 1 ? { allOf: parts } : parts[0];
}

function ofField(field: string, values: readonly string[]): Where {
  const whole = values.filter((value) => [...value].length < VALUE_CHARACTERS_MAX);
  const parts: Where[] = values.filter((value) => !whole.includes(value)).map((prefix) => ({ field, prefix }));
  if (whole.length) parts.unshift({ field, oneOf: { values: whole.map(text) } });
  return parts.length > 1 ? { anyOf: parts } : parts[0] ?? { field, exists: true };
}

function text(value: string): { kind: { case: "stringValue"; value: string } } {
  return { kind: { case: "stringValue", value } };
}
