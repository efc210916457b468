/** The conversation that is open: its turns, and the answer that is being read. */
import { effect, signal } from "@preact/signals";
import { answers, conversations } from "../api/clients";
import { isNotFound } from "../api/errors";
import { all } from "../api/paging";
import { refresh } from "../conversations/state";
import { AnswerMode, Strictness } from "../gen/sourcier/gateway/v1/answer_pb";
import { Rating } from "../gen/sourcier/gateway/v1/conversation_pb";
import { t } from "../i18n";
import { go } from "../route";
import { announce, notify, notifyError } from "../ui/notices";
import { keepHere, keptHere } from "../ui/stored";
import { Announcer } from "./announcer";
import { filterOf } from "./scope";
import { ask, resume, type Update } from "./stream";
import { isOpen, newTurn, turnsOf, type Turn } from "./turn";

export const turns = signal<Turn[]>([]);
export const loading = signal(false);
/** Kept with the window: neither a reload nor a way round by the identity provider loses what was written. */
export const draft = signal(keptHere("draft"));
effect(() => keepHere("draft", draft.value));

/** How questions are asked from now on. */
export const mode = signal(AnswerMode.UNSPECIFIED);
export const strictness = signal(Strictness.UNSPECIFIED);
export const agent = signal("");
/** The collection that the agent answers from. */
export const agentCollection = signal("");

let conversationId = "";
let reading = new AbortController();

/** Opens a conversation, or a new one without an id. What is being answered goes on; nobody reads it here any more. */
export async function open(id: string): Promise<void> {
  if (id === conversationId) return;
  conversationId = id;
  reading.abort();
  reading = new AbortController();
  turns.value = [];
  if (!id) return;
  loading.value = true;
  try {
    const messages = await all(async (pageToken) => {
      const page = await conversations.listMessages({ conversationId: id, pageSize: 200, pageToken });
      return { items: page.messages, next: page.nextPageToken };
    });
    if (id !== conversationId) return;
    turns.value = turnsOf(messages);
  } catch (error) {
    if (id !== conversationId) return;
    if (isNotFound(error)) {
      notify(t().conversations.gone, true);
      go("ask", "", true);
    } else notifyError(error);
    return;
  } finally {
    loading.value = false;
  }
  const last = turns.value.at(-1);
  if (last?.state === "lost" && last.answerId) await readOn(last);
}

/** Reads an answer that was being made when the page was left, from its beginning. */
async function readOn(kept: Turn): Promise<void> {
  const fresh: Turn = { ...newTurn(kept.question), key: kept.key, answerId: kept.answerId, messageId: kept.messageId };
  replace(fresh);
  await followed(kept.key, (update, signal) => resume(kept.answerId, update, signal));
  // Too old to be read again: what was kept of it is all there is.
  const now = turns.value.find((turn) => turn.key === kept.key);
  if (now?.state === "lost" && now.sequence === 0n) replace(kept);
}

export async function submit(question: string): Promise<void> {
  const asked = question.trim();
  if (!asked || turns.value.some(isOpen)) return;
  const turn = newTurn(asked);
  const mine = reading;
  turns.value = [...turns.value, turn];
  draft.value = "";
  try {
    if (!conversationId) {
      const { conversation } = await conversations.createConversation({});
      if (mine.signal.aborted) return;
      conversationId = conversation?.conversationId ?? "";
      go("ask", conversationId, true);
    }
  } catch (error) {
    turns.value = turns.value.filter((other) => other !== turn);
    draft.value = asked;
    notifyError(error);
    return;
  }
  const request = {
    question: asked, conversationId, mode: mode.value, strictness: strictness.value, agent: agent.value,
    filter: filterOf(agent.value),
  };
  await followed(turn.key, (update, signal) => ask(request, update, signal));
  if (turns.value.find((each) => each.key === turn.key)?.state === "finished") void refresh();
}

async function followed(key: string, run: (update: Update, signal: AbortSignal) => Promise<void>): Promise<void> {
  const { signal } = reading;
  const announcer = new Announcer(announce);
  announcer.began();
  await run((change) => {
    if (signal.aborted) return;
    turns.value = turns.value.map((turn) => {
      if (turn.key !== key) return turn;
      const next = change(turn);
      announcer.follow(next);
      return next;
    });
  }, signal);
}

function replace(turn: Turn): void {
  turns.value = turns.value.map((other) => (other.key === turn.key ? turn : other));
}

export async function stop(turn: Turn): Promise<void> {
  try {
    await answers.cancel({ answerId: turn.answerId });
  } catch (error) {
    if (!isNotFound(error)) notifyError(error);
  }
}

export async function rate(turn: Turn, rating: Rating, comment: string): Promise<void> {
  try {
    await conversations.rateMessage({ messageId: turn.messageId, rating, comment });
    replace({ ...(turns.value.find((other) => other.key === turn.key) ?? turn), rating, ratingComment: comment });
    notify(t().ask.rate.thanks);
  } catch (error) {
    notifyError(error);
  }
}
