/** Copies what a person asks for; code has a button beside it, wherever Markdown is shown. */
import { t } from "../i18n";
import { notify } from "./notices";

export async function copy(text: string): Promise<void> {
  if (await written(text)) notify(t().common.copied);
  else notify(t().common.notCopied, true);
}

async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writtenByHand(text);
  }
}

/** The old way, for addresses without TLS, where browsers have no clipboard for scripts. */
function writtenByHand(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  // Inside an open dialog nothing outside of it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  const before = document.activeElement;
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}

export function listen(): void {
  addEventListener("click", (event) => {
    const button = (event.target as Element).closest?.("[data-copy]");
    const code = button?.parentElement?.querySelector("pre");
    if (code) void copy(code.textContent ?? "");
  });
}
