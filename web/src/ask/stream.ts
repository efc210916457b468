/** Reads an answer to its end, through connections that break. */
import { answers } from "../api/clients";
import { explained, isNotFound, isPassing } from "../api/errors";
import type { AskEvent } from "../gen/sourcier/gateway/v1/answer_pb";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AskRequestSchema } from "../gen/sourcier/gateway/v1/answer_pb";
import { t } from "../i18n";
import { apply, isOpen, type Turn } from "./turn";

/** The service keeps an answer that nobody reads for a minute: no use in trying much longer. */
const RECONNECTS_MAX = 20;
const PAUSE_MAX_MS = 5_000;

export type Update = (change: (turn: Turn) => Turn) => void;
type Stream = AsyncIterable<{ event?: AskEvent }>;

/** Asks, and calls `update` with each change; returns once the answer ended, failed, or the page was left. */
export async function ask(request: MessageInitShape<typeof AskRequestSchema>, update: Update, signal: AbortSignal): Promise<void> {
  await read((_, __) => answers.ask(request, { signal }), update, signal);
}

/** Goes on with an answer that is being made, from its start. */
export async function resume(answerId: string, update: Update, signal: AbortSignal): Promise<void> {
  await read((id, after) => answers.resume({ answerId: id || answerId, afterSequence: after }, { signal }), update, signal);
}

async function read(open: (id: string, after: bigint) => Stream, update: Update, signal: AbortSignal): Promise<void> {
  let last: Turn | null = null;
  const seen: Update = (change) => update((turn) => (last = change(turn)));
  for (let broken = 0; ; broken += 1) {
    const turn: Turn | null = last as Turn | null;
    const id = turn?.answerId ?? "";
    const stream = broken && id ? answers.resume({ answerId: id, afterSequence: turn?.sequence ?? 0n }, { signal }) : open("", 0n);
    const before = turn?.sequence ?? 0n;
    try {
      for await (const { event } of stream) if (event) seen((current) => apply(current, event));
      if (last && !isOpen(last)) return;
    } catch (error) {
      if (signal.aborted) return;
      const known = (last as Turn | null)?.answerId;
      if (isNotFound(error)) return void seen((current) => ({ ...current, state: "lost", reconnecting: false }));
      // What never began is not begun twice: the service may be at it.
      if (!known || !isPassing(error) || broken >= RECONNECTS_MAX) {
        return void seen((current) => ({ ...current, state: "failed", failure: explained(error), reconnecting: false }));
      }
    }
    if (signal.aborted) return;
    const now: Turn | null = last as Turn | null;
    if (!now?.answerId || broken >= RECONNECTS_MAX) {
      return void seen((current) => ({ ...current, state: "failed", failure: t().errors.unreachable, reconnecting: false }));
    }
    if (now.sequence > before) broken = 0;
    seen((current) => ({ ...current, reconnecting: true }));
    await pause(Math.min(250 * 2 ** broken, PAUSE_MAX_MS), signal);
    if (signal.aborted) return;
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
