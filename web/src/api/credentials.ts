/** The key that the gateway knows this reader by, where it asks for one; forgotten with the window. */
import { signal } from "@preact/signals";

const NAME = "sourcier.key";

function kept(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export const key = signal(kept());
/** Whether a call was refused because nobody knows who made it. */
export const asked = signal(false);

/** Takes a key, or forgets the one it has. */
export function enter(given: string): void {
  key.value = given;
  try {
    if (given) sessionStorage.setItem(NAME, given);
    else sessionStorage.removeItem(NAME);
  } catch {
    // A window that keeps nothing asks again after it is loaded anew.
  }
}

export function headers(): Record<string, string> {
  return key.value ? { authorization: `Bearer ${key.value}` } : {};
}
