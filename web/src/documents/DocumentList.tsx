import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { knowledge } from "../api/clients";
import { may } from "../api/credentials";
import { isNotFound } from "../api/errors";
import { type Chosen, countOf, isEmpty, NOTHING, whereOf } from "../filter/conditions";
import { FacetPanel } from "../filter/FacetPanel";
import { FilterChips } from "../filter/FilterChips";
import { filterWords } from "../filter/words";
import { type Document, DocumentOrder } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { bytes, dateTime, number, t } from "../i18n";
import { ofDocument } from "../source/ofDocument";
import { SourcePanel } from "../source/SourcePanel";
import { opened, openSource } from "../source/state";
import { Confirm } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { IconButton } from "../ui/IconButton";
import { announce, notify, notifyError } from "../ui/notices";
import { collections, refreshCollections } from "./collections";
import { DocumentDialog } from "./DocumentDialog";
import { nameOf } from "./names";
import { relations, replacements, standing } from "./times";
import { failed, indexed } from "./uploads";
import { documentWords } from "./words";

const PAGE = 50;
const TYPED_MS = 250;

/** The documents of a collection: looked for by name, narrowed by their fields, in an order, a page at a time. */
export function DocumentList({ collection }: { collection: string }) {
  const words = t().documents;
  const more = documentWords();
  const panel = useId();
  const documents = useSignal<Document[]>([]);
  /** Where each page that was opened begins; the last is the one that is shown. */
  const tokens = useSignal<string[]>([""]);
  const next = useSignal("");
  const matching = useSignal<bigint | null>(null);
  const reading = useSignal(true);
  const typed = useSignal("");
  const name = useSignal("");
  const order = useSignal(DocumentOrder.UNSPECIFIED);
  const chosen = useSignal<Chosen>(NOTHING);
  const filtering = useSignal(false);
  const deleting = useSignal<Document | null>(null);
  const detailed = useSignal<Document | null>(null);
  /** How many were deleted here: each time the page is read again. */
  const removed = useSignal(0);
  const total = collections.value.find((each) => each.name === collection)?.documentCount ?? 0n;
  const pageToken = tokens.value.at(-1) ?? "";
  const asked = JSON.stringify([collection, name.value, order.value, chosen.value, pageToken]);
  useEffect(() => {
    const leaving = new AbortController();
    reading.value = true;
    knowledge.listDocuments({
      collection, pageSize: PAGE, pageToken, name: name.value, order: order.value, where: whereOf(chosen.value),
    }, { signal: leaving.signal }).then((page) => {
      if (!page.documents.length && pageToken) return void (tokens.value = tokens.value.slice(0, -1));
      documents.value = page.documents;
      next.value = page.nextPageToken;
      if (!pageToken) matching.value = page.documentCount ?? null;
      reading.value = false;
    }, (error: unknown) => {
      if (leaving.signal.aborted) return;
      // The collection `default` is made by its first document.
      if (!isNotFound(error)) notifyError(error);
      documents.value = [];
      next.value = "";
      reading.value = false;
    });
    return () => leaving.abort();
  }, [asked, indexed.value, removed.value, total]);
  useEffect(() => {
    const timer = setTimeout(() => name.value !== typed.value.trim() && anew(() => (name.value = typed.value.trim())), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => () => void (opened.value = null), []);
  const anew = (change: () => void) => {
    change();
    tokens.value = [""];
  };
  const narrows = Boolean(name.value) || !isEmpty(chosen.value);
  useEffect(() => {
    if (narrows && !reading.value && matching.value !== null) announce(words.count(Number(matching.value)));
  }, [matching.value, reading.value]);
  const remove = async (document: Document) => {
    try {
      await knowledge.deleteDocument({ documentId: document.documentId });
      documents.value = documents.value.filter((each) => each.documentId !== document.documentId);
      if (matching.value !== null) matching.value -= 1n;
      reading.value = true;
      removed.value += 1;
      notify(words.deleted(nameOf(document)));
      void refreshCollections();
    } catch (error) {
      notifyError(error);
    }
  };
  const first = (tokens.value.length - 1) * PAGE + 1;
  const choices: [DocumentOrder, string][] = [
    [DocumentOrder.UNSPECIFIED, more.orders.came], [DocumentOrder.TITLE, more.orders.title], [DocumentOrder.DATE, more.orders.date],
    [DocumentOrder.INDEXED, more.orders.indexed], [DocumentOrder.SIZE, more.orders.size],
  ];
  return (
    <section class="card" aria-label={words.list}>
      <header class="card-head">
        <h2>{words.list}</h2>
        <p class="quiet">{narrows && matching.value !== null ? more.found(number(matching.value), words.count(Number(total))) : words.count(Number(total))}</p>
      </header>
      {(total > 0n || narrows) && (
        <div class="list-tools">
          <input type="search" placeholder={words.search} aria-label={words.search} value={typed.value} maxLength={200} onInput={(event) => (typed.value = event.currentTarget.value)} />
          <button type="button" aria-expanded={filtering.value} aria-controls={panel} onClick={() => (filtering.value = !filtering.value)}>
            <Icon name="filter" /><span>{filterWords().title}{countOf(chosen.value) ? ` (${countOf(chosen.value)})` : ""}</span>
          </button>
          <label class="pick"><span class="quiet">{more.sort}</span>
            <select value={order.value} onChange={(event) => {
              const wanted = Number(event.currentTarget.value);
              anew(() => (order.value = wanted));
            }}>
              {choices.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
            </select>
          </label>
        </div>
      )}
      <div id={panel} hidden={!filtering.value}>
        {filtering.value && <FacetPanel scope={{ collection }} chosen={chosen.value} onChange={(wanted) => anew(() => (chosen.value = wanted))} />}
      </div>
      <FilterChips chosen={chosen.value} onChange={(wanted) => anew(() => (chosen.value = wanted))} />
      {!documents.value.length && (
        <p class="quiet empty">
          {reading.value ? t().common.loading : narrows ? more.noMatch : words.empty}{" "}
          {narrows && !reading.value && <button type="button" class="link" onClick={() => anew(() => (typed.value = "", name.value = "", chosen.value = NOTHING))}>{more.clear}</button>}
        </p>
      )}
      {documents.value.length > 0 && (
        <ul class={reading.value ? "rows documents stale" : "rows documents"} aria-busy={reading.value}>
          {documents.value.map((document) => (
            <Row key={document.documentId} document={document} onDetails={() => (detailed.value = document)} onDelete={() => (deleting.value = document)} />
          ))}
        </ul>
      )}
      {(tokens.value.length > 1 || next.value) && (
        <nav class="pager" aria-label={more.pages}>
          <button type="button" disabled={tokens.value.length < 2 || reading.value} onClick={() => (tokens.value = tokens.value.slice(0, -1))}>{more.previous}</button>
          <span class="quiet" role="status">{more.page(number(first), number(first + documents.value.length - 1))}</span>
          <button type="button" disabled={!next.value || reading.value} onClick={() => (tokens.value = [...tokens.value, next.value])}>{more.next}</button>
        </nav>
      )}
      {deleting.value && (
        <Confirm title={t().common.delete} question={words.deleteAsk(nameOf(deleting.value))} action={t().common.delete}
          onYes={() => deleting.value && void remove(deleting.value)} onClose={() => (deleting.value = null)} />
      )}
      {detailed.value && (
        <DocumentDialog document={detailed.value} onClose={() => (detailed.value = null)}
          onChange={(changed) => (documents.value = documents.value.map((each) => (each.documentId === changed.documentId ? changed : each)))} />
      )}
      {opened.value && <SourcePanel key={opened.value.key} opened={opened.value} />}
    </section>
  );
}

function Row({ document, onDetails, onDelete }: { document: Document; onDetails: () => void; onDelete: () => void }) {
  const words = t().documents;
  const more = documentWords();
  const name = nameOf(document);
  const facts = [
    document.source !== name ? document.source : "", document.versionId ? words.passageCount(Number(document.chunkCount)) : failed.value.has(document.documentId) ? words.notRead : words.notYet,
    bytes(document.sizeBytes), document.category, ...standing(document, more), ...relations(document, more), dateTime(document.indexedAt?.seconds),
  ];
  return (
    <li>
      <button type="button" class="name link" title={document.source} onClick={(event) => openSource(ofDocument(document), event.currentTarget)}>{name}</button>
      <span class="facts">{facts.filter(Boolean).join(" · ")}</span>
      <span class="row-actions">
        <IconButton icon="info" label={more.details(name)} onClick={onDetails} />
        {may("writer") && <IconButton icon="trash" label={`${t().common.delete} ${name}`} onClick={onDelete} />}
      </span>
      {replacements(document).map((other) => <span key={other.documentId} class="badge doubtful"><Icon name="warning" />{more.replacedBy(other.title)}</span>)}
      {document.warnings.length > 0 && (
        <button type="button" class="link warned" onClick={onDetails}><Icon name="warning" />{words.warnings(document.warnings.length)}</button>
      )}
    </li>
  );
}
