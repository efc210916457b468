/** The source that is open beside the answer. */
import { signal } from "@preact/signals";
import type { Reference } from "../ask/segments";

export interface Opened {
  key: number;
  reference: Reference;
  /** What it was opened from: the focus goes back there. */
  from: HTMLElement;
}

let made = 0;
export const opened = signal<Opened | null>(null);

export function openSource(reference: Reference, from: HTMLElement): void {
  made += 1;
  opened.value = { key: made, reference, from };
}

export function closeSource(): void {
  const from = opened.value?.from;
  opened.value = null;
  if (from?.isConnected) from.focus();
  else document.getElementById("question")?.focus();
}
