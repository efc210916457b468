/** The words of the page. French is the first language; every other one has the same. */
import type { french } from "./fr";

export type Widened<T> = T extends string ? string
  : T extends (...parameters: infer P) => string ? (...parameters: P) => string
  : { readonly [K in keyof T]: Widened<T[K]> };

export type Words = Widened<typeof french>;
