/** What the page says by itself: short messages in a corner, and sentences for screen readers. */
import { signal } from "@preact/signals";
import { explained } from "../api/errors";
import { t } from "../i18n";
import { IconButton } from "./IconButton";

interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const SHOWN_MS = 6_000;
const notices = signal<Notice[]>([]);
const spoken = signal("");
let made = 0;

export function notify(text: string, bad = false): void {
  made += 1;
  const notice = { id: made, text, bad };
  notices.value = [...notices.value.slice(-2), notice];
  // What went wrong stays until it is read.
  if (!bad) setTimeout(() => dismiss(notice.id), SHOWN_MS);
}

export function notifyError(error: unknown): void {
  notify(explained(error), true);
}

/** Says a sentence to those who listen to the page. */
export function announce(sentence: string): void {
  // The same sentence twice is said twice.
  spoken.value = spoken.value === sentence ? `${sentence} ` : sentence;
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <>
      <div class="unseen" role="status" aria-live="polite" aria-atomic="true">{spoken.value}</div>
      <div class="notices" role="status">
        {notices.value.map((notice) => (
          <div key={notice.id} class={notice.bad ? "notice bad" : "notice"}>
            <p>{notice.text}</p>
            <IconButton icon="close" label={t().common.close} onClick={() => dismiss(notice.id)} />
          </div>
        ))}
      </div>
    </>
  );
}
