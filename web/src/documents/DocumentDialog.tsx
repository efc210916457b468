import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { knowledge } from "../api/clients";
import { may } from "../api/credentials";
import type { Document } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { bytes, dateTime, language, number, period, t } from "../i18n";
import { valueName } from "../filter/words";
import { Dialog } from "../ui/Dialog";
import { notify, notifyError } from "../ui/notices";
import { shownName } from "./collections";
import { nameOf } from "./names";
import { type DateKind, kindName, KINDS, relationName } from "./times";
import { documentWords } from "./words";

/** All that is known of a document: its dates, which can be mended, what it does to others, and what was not read of it. */
export function DocumentDialog({ document: given, onClose, onChange }: { document: Document; onClose: () => void; onChange: (document: Document) => void }) {
  const words = documentWords();
  const document = useSignal(given);
  useEffect(() => {
    knowledge.getDocument({ documentId: given.documentId }).then((found) => found.document && (document.value = found.document), notifyError);
  }, []);
  const shown = document.value;
  const changed = (next: Document | undefined) => {
    if (!next) return;
    document.value = next;
    onChange(next);
  };
  const facts: [string, string][] = [
    [words.collection, shownName(shown.collection)], [words.source, shown.source], [words.type, valueName("media_type", shown.contentType, language.value)],
    [words.size, bytes(shown.sizeBytes)], [words.category, shown.category], [words.indexed, dateTime(shown.indexedAt?.seconds) || words.notIndexed],
    [words.passages, shown.versionId ? number(shown.chunkCount) : ""], ...Object.entries(shown.metadata),
  ];
  return (
    <Dialog title={nameOf(shown)} onClose={onClose}>
      <Dates document={shown} onChange={changed} />
      {(shown.relations.length > 0 || shown.relatedBy.length > 0) && (
        <section class="part">
          <h3>{words.relations}</h3>
          <ul class="plain">
            {shown.relatedBy.map((related) => <li key={`by-${related.kind}-${related.documentId}`} class={related.kind === "replaces" ? "flag" : ""}>{relationName(related, words.reverse)}<Said text={related.words} /></li>)}
            {shown.relations.map((related) => <li key={`${related.kind}-${related.documentId}`}>{relationName(related, words.relation)}<Said text={related.words} /></li>)}
          </ul>
        </section>
      )}
      <section class="part">
        <h3>{words.warnings}</h3>
        {!shown.warnings.length ? <p class="quiet">{shown.versionId ? words.all : words.notIndexed}</p> : (
          <ul class="plain">
            {shown.warnings.map((warning) => {
              const [name = warning.code, meaning = ""] = words.warning[warning.code] ?? [];
              return (
                <li key={warning.code}>
                  <strong>{name}{warning.count > 1 ? ` (${number(warning.count)})` : ""}</strong>
                  {warning.places.length > 0 && t().documents.places(warning.places.join(", "))}
                  <small>{[meaning, warning.detail].filter(Boolean).join(" ")}</small>
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <section class="part">
        <h3>{words.facts}</h3>
        <dl class="facts-list">
          {facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
        </dl>
      </section>
    </Dialog>
  );
}

function Said({ text }: { text: string }) {
  return text ? <small>{documentWords().wordsSaid(text)}</small> : null;
}

function Dates({ document, onChange }: { document: Document; onChange: (document: Document | undefined) => void }) {
  const words = documentWords();
  const editing = useSignal<{ kind: DateKind; date: string; fresh: boolean } | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const open = editing.value !== null;
  useEffect(() => {
    if (open) field.current?.focus();
  }, [open]);
  const set = async (kind: string, date: string) => {
    try {
      const changed = await knowledge.setDocumentDate({ documentId: document.documentId, kind, date });
      onChange(changed.document);
      editing.value = null;
      if (date) notify(words.dateSaved);
    } catch (error) {
      notifyError(error);
    }
  };
  const missing = KINDS.filter((kind) => !document.dates.some((date) => date.kind === kind));
  const mends = may("writer") && Boolean(document.versionId);
  const at = editing.value;
  return (
    <section class="part">
      <h3>{words.dates}</h3>
      {!document.dates.length && <p class="quiet">{words.noDates}</p>}
      <ul class="plain dates">
        {document.dates.map((date) => (
          <li key={date.kind}>
            <span><strong>{kindName(date.kind, words)}</strong> {period(date.start, date.end)}
              <small>{[words.origins[date.origin] ?? date.origin, date.words && words.wordsSaid(date.words)].filter(Boolean).join(" · ")}</small>
            </span>
            {mends && (
              <span class="bar">
                {date.origin === "user" && <button type="button" class="link" aria-label={words.backKind(kindName(date.kind, words))} onClick={() => void set(date.kind, "")}>{words.back}</button>}
                <button type="button" class="link" aria-label={words.changeKind(kindName(date.kind, words))}
                  onClick={() => (editing.value = { kind: date.kind as DateKind, date: date.start === date.end ? date.start : "", fresh: false })}>{words.change}</button>
              </span>
            )}
          </li>
        ))}
      </ul>
      {mends && !at && missing.length > 0 && (
        <button type="button" onClick={() => (editing.value = { kind: missing[0] ?? "effect", date: "", fresh: true })}>{words.addDate}</button>
      )}
      {at && (
        <form class="date-form" onSubmit={(event) => (event.preventDefault(), void set(at.kind, at.date.trim()))}>
          <label>{words.kind}
            <select value={at.kind} disabled={!at.fresh} onChange={(event) => (editing.value = { ...at, kind: event.currentTarget.value as DateKind })}>
              {(at.fresh ? missing : [at.kind]).map((kind) => <option key={kind} value={kind}>{words.kinds[kind]}</option>)}
            </select>
          </label>
          <label>{words.date} <small>{words.dateHint}</small>
            <input ref={field} required pattern="\d{4}(-\d{2}(-\d{2})?)?" inputMode="numeric" title={words.dateHint} placeholder="2024-03-01" value={at.date}
              onInput={(event) => (editing.value = { ...at, date: event.currentTarget.value })} />
          </label>
          <div class="actions">
            <button type="button" onClick={() => (editing.value = null)}>{t().common.cancel}</button>
            <button type="submit" class="primary">{t().common.save}</button>
          </div>
        </form>
      )}
    </section>
  );
}
