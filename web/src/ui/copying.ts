/** Copies what a person asks for; code has a button beside it, wherever Markdown is shown. */
import { t } from "../i18n";
import { notify } from "./notices";

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(t().common.copied);
  } catch {
    notify(t().common.notCopied, true);
  }
}

export function listen(): void {
  addEventListener("click", (event) => {
    const button = (event.target as Element).closest?.("[data-copy]");
    const code = button?.parentElement?.querySelector("pre");
    if (code) void copy(code.textContent ?? "");
  });
}
