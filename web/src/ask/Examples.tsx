import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { knowledge } from "../api/clients";
import { chosen, exists } from "../documents/collections";
import { DocumentOrder } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { t } from "../i18n";
import { submit } from "./session";

const TITLES = 2;
const TITLE_CHARACTERS_MAX = 60;

/** Questions that the documents at hand can answer, for those who come for the first time: a click asks them. */
export function Examples() {
  const words = t().ask;
  const titles = useSignal<string[]>([]);
  const collection = chosen.value;
  const there = exists(collection);
  useEffect(() => {
    titles.value = [];
    if (!there) return;
    const leaving = new AbortController();
    knowledge.listDocuments({ collection, pageSize: 20, order: DocumentOrder.INDEXED }, { signal: leaving.signal }).then((page) => {
      titles.value = page.documents.filter(({ title, versionId }) => versionId && title && title.length <= TITLE_CHARACTERS_MAX).slice(0, TITLES).map(({ title }) => title);
    }, () => undefined);
    return () => leaving.abort();
  }, [collection, there]);
  if (!there || !titles.value.length) return null;
  return (
    <ul class="examples" aria-label={words.examples}>
      {[words.which, ...titles.value.map(words.summarise)].map((question) => (
        <li key={question}><button type="button" onClick={() => void submit(question)}>{question}</button></li>
      ))}
    </ul>
  );
}
