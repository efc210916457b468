import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { knowledge } from "../api/clients";
import { isNotFound } from "../api/errors";
import type { Document, ReadingWarning } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { bytes, dateTime, number, t } from "../i18n";
import { ofDocument } from "../source/ofDocument";
import { SourcePanel } from "../source/SourcePanel";
import { opened, openSource } from "../source/state";
import { Confirm } from "../ui/Dialog";
import { IconButton } from "../ui/IconButton";
import { notify, notifyError } from "../ui/notices";
import { collections, refreshCollections } from "./collections";
import { indexed } from "./uploads";

const PAGE = 100;

/** The documents of a collection. */
export function DocumentList({ collection }: { collection: string }) {
  const words = t().documents;
  const documents = useSignal<Document[]>([]);
  const next = useSignal("");
  const reading = useSignal(true);
  const filter = useSignal("");
  const deleting = useSignal<Document | null>(null);
  const read = async (pageToken: string, pageSize = PAGE) => {
    reading.value = true;
    try {
      const page = await knowledge.listDocuments({ collection, pageSize, pageToken });
      documents.value = pageToken ? [...documents.value, ...page.documents] : page.documents;
      next.value = page.nextPageToken;
    } catch (error) {
      // The collection `default` is made by its first document.
      if (!isNotFound(error)) notifyError(error);
      documents.value = [];
      next.value = "";
    } finally {
      reading.value = false;
    }
  };
  useEffect(() => {
    opened.value = null;
    documents.value = [];
  }, [collection]);
  useEffect(() => void read("", Math.min(1000, Math.max(PAGE, documents.value.length))), [collection, indexed.value]);
  useEffect(() => () => void (opened.value = null), []);
  const remove = async (document: Document) => {
    try {
      await knowledge.deleteDocument({ documentId: document.documentId });
      documents.value = documents.value.filter((each) => each.documentId !== document.documentId);
      notify(words.deleted(nameOf(document)));
      void refreshCollections();
    } catch (error) {
      notifyError(error);
    }
  };
  const wanted = filter.value.trim().toLowerCase();
  const rows = documents.value.filter((each) => !wanted || `${each.title} ${each.filename} ${each.source}`.toLowerCase().includes(wanted));
  const total = collections.value.find((each) => each.name === collection)?.documentCount ?? 0n;
  return (
    <section class="card" aria-label={words.list}>
      <header class="card-head">
        <h2>{words.list}</h2>
        <p class="quiet">{words.count(Number(total))}</p>
        {documents.value.length > 5 && (
          <input type="search" placeholder={words.search} aria-label={words.search} value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} />
        )}
      </header>
      {!rows.length && <p class="quiet empty">{reading.value ? t().common.loading : words.empty}</p>}
      {rows.length > 0 && <ul class="rows documents">
        {rows.map((document) => (
          <li key={document.documentId}>
            <button type="button" class="name link" title={document.source} onClick={(event) => openSource(ofDocument(document), event.currentTarget)}>{nameOf(document)}</button>
            <span class="facts">
              {[document.source !== nameOf(document) ? document.source : "", document.versionId ? words.passageCount(Number(document.chunkCount)) : words.notYet, bytes(document.sizeBytes), dateTime(document.indexedAt?.seconds)].filter(Boolean).join(" · ")}
            </span>
            <span class="row-actions">
              <IconButton icon="trash" label={`${t().common.delete} ${nameOf(document)}`} onClick={() => (deleting.value = document)} />
            </span>
            {document.warnings.length > 0 && <Warnings warnings={document.warnings} />}
          </li>
        ))}
      </ul>}
      {next.value && <button type="button" class="more" disabled={reading.value} onClick={() => void read(next.value)}>{t().common.more}</button>}
      {deleting.value && (
        <Confirm title={t().common.delete} question={words.deleteAsk(nameOf(deleting.value))} action={t().common.delete}
          onYes={() => deleting.value && void remove(deleting.value)} onClose={() => (deleting.value = null)} />
      )}
      {opened.value && <SourcePanel key={opened.value.key} opened={opened.value} />}
    </section>
  );
}

function nameOf(document: Document): string {
  return document.title || document.filename || document.source;
}

function Warnings({ warnings }: { warnings: ReadingWarning[] }) {
  const words = t().documents;
  const known = words.warning as Readonly<Record<string, string>>;
  return (
    <details class="warnings">
      <summary>{words.warnings(warnings.length)}</summary>
      <ul>
        {warnings.map((warning) => (
          <li key={warning.code}>
            {known[warning.code] ?? warning.code}{warning.count > 1 ? ` (${number(warning.count)})` : ""}
            {warning.places.length > 0 && words.places(warning.places.join(", "))}{warning.detail && ` — ${warning.detail}`}
          </li>
        ))}
      </ul>
    </details>
  );
}
