/** The conversations of this reader, the last one used first. */
import { signal } from "@preact/signals";
import { conversations } from "../api/clients";
import { all } from "../api/paging";
import type { Conversation } from "../gen/sourcier/gateway/v1/conversation_pb";
import { notifyError } from "../ui/notices";

export const list = signal<Conversation[]>([]);

export async function refresh(): Promise<void> {
  try {
    list.value = await all(async (pageToken) => {
      const page = await conversations.listConversations({ pageSize: 200, pageToken });
      return { items: page.conversations, next: page.nextPageToken };
    }, 5);
  } catch (error) {
    notifyError(error);
  }
}
