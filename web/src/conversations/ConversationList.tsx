import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { conversations } from "../api/clients";
import type { Conversation } from "../gen/sourcier/gateway/v1/conversation_pb";
import { t } from "../i18n";
import { address, go, route } from "../route";
import { Confirm, Dialog } from "../ui/Dialog";
import { IconButton } from "../ui/IconButton";
import { notifyError } from "../ui/notices";
import { list, refresh } from "./state";

const SHOWN = 60;
const SEARCH_FROM = 4;

export function ConversationList() {
  const words = t().conversations;
  const wanted = useSignal("");
  const shownCount = useSignal(SHOWN);
  const renaming = useSignal<Conversation | null>(null);
  const deleting = useSignal<Conversation | null>(null);
  useEffect(() => void refresh(), []);
  const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const matching = list.value.filter(({ title }) => fold(title).includes(fold(wanted.value.trim())));
  const remove = async ({ conversationId }: Conversation) => {
    try {
      await conversations.deleteConversation({ conversationId });
      if (route.value.conversationId === conversationId) go("ask");
      await refresh();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <section class="conversations" aria-label={words.title}>
      <h2>{words.title}</h2>
      {list.value.length >= SEARCH_FROM && (
        <input type="search" placeholder={words.search} aria-label={words.search} value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
      )}
      {!matching.length && <p class="quiet">{wanted.value ? words.noMatch : words.none}</p>}
      <ul>
        {matching.slice(0, shownCount.value).map((conversation) => {
          const title = conversation.title || words.untitled;
          const current = route.value.conversationId === conversation.conversationId;
          return (
            <li key={conversation.conversationId} class={current ? "current" : ""}>
              <a href={address("ask", conversation.conversationId)} aria-current={current ? "page" : undefined} title={title}>{title}</a>
              <IconButton icon="edit" label={`${words.rename} : ${title}`} onClick={() => (renaming.value = conversation)} />
              <IconButton icon="trash" label={`${words.delete} : ${title}`} onClick={() => (deleting.value = conversation)} />
            </li>
          );
        })}
      </ul>
      {matching.length > shownCount.value && <button type="button" class="link" onClick={() => (shownCount.value += SHOWN)}>{t().common.more}</button>}
      {renaming.value && <Rename conversation={renaming.value} onClose={() => (renaming.value = null)} />}
      {deleting.value && (
        <Confirm title={words.delete} question={words.deleteAsk(deleting.value.title || words.untitled)} action={t().common.delete}
          onYes={() => deleting.value && void remove(deleting.value)} onClose={() => (deleting.value = null)} />
      )}
    </section>
  );
}

function Rename({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const words = t().conversations;
  const title = useSignal(conversation.title);
  const save = async () => {
    try {
      await conversations.updateConversation({ conversationId: conversation.conversationId, title: title.value.trim() });
      await refresh();
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={words.rename} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void save())}>
        <label>{words.newTitle}
          <input required maxLength={200} value={title.value} onInput={(event) => (title.value = event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.save}</button>
        </div>
      </form>
    </Dialog>
  );
}
