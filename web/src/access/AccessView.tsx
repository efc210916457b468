import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { access } from "../api/access";
import { may, session } from "../api/credentials";
import { all } from "../api/paging";
import { refreshCollections } from "../documents/collections";
import type { ApiKey } from "../gen/sourcier/gateway/v1/access_pb";
import { notifyError } from "../ui/notices";
import { Grants } from "./Grants";
import { Keys } from "./Keys";
import { accessWords } from "./words";

/** Who may do what, and the keys of programs: for those who may give rights. */
export default function AccessView() {
  const words = accessWords();
  const keys = useSignal<ApiKey[] | null>(null);
  const read = async () => {
    if (!may("operator")) return;
    try {
      keys.value = await all(async (pageToken) => {
        const page = await access.listKeys({ pageSize: 500, pageToken });
        return { items: page.keys, next: page.nextPageToken };
      });
    } catch (error) {
      keys.value ??= [];
      notifyError(error);
    }
  };
  useEffect(() => {
    void read();
    void refreshCollections();
  }, []);
  return (
    <div class="view">
      <header class="view-head"><h1>{words.title}</h1></header>
      <p class="lead">{words.lead}</p>
      {!session.value.required && <p class="hint">{words.open}</p>}
      <Grants keys={keys.value ?? []} />
      {may("operator") && <Keys keys={keys.value} onChange={() => void read()} />}
    </div>
  );
}
