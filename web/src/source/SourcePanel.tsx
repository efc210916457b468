import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { knowledge } from "../api/clients";
import { isNotFound } from "../api/errors";
import { drawn } from "../ask/formulas";
import { html } from "../ask/markdown";
import type { Reference } from "../ask/segments";
import { Support } from "../gen/sourcier/gateway/v1/answer_pb";
import { period, t } from "../i18n";
import { IconButton } from "../ui/IconButton";
import { notifyError } from "../ui/notices";
import { type DocumentText, MORE, pagesOf, readText, widened, type Window, windowAround } from "./documentText";
import { mark } from "./marking";
import { Original } from "./Original";
import { PagePicture } from "./PagePicture";
import { placesNamed } from "./places";
import { Pictures } from "./Pictures";
import { closeSource, type Opened } from "./state";

type Change = "unknown" | "same" | "newer" | "gone";

/** A source: the passage as it was read, its words marked, and the document around it. */
export function SourcePanel({ opened }: { opened: Opened }) {
  const { reference } = opened;
  const words = t();
  const heading = useRef<HTMLHeadingElement>(null);
  const change = useSignal<Change>(reference.documentId ? "unknown" : "same");
  // The page as it looks, where the source has pages; a format without a picture of them shows its text.
  const tab = useSignal<"picture" | "text">((reference.page > 0 || reference.places.some(({ picture }) => picture)) && reference.documentId ? "picture" : "text");
  const pictured = useSignal(tab.value === "picture");
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    const key = (event: KeyboardEvent) => event.key === "Escape" && closeSource();
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  useEffect(() => {
    if (!reference.documentId) return;
    knowledge.getDocument({ documentId: reference.documentId }).then(({ document }) => {
      change.value = !reference.versionId || document?.versionId === reference.versionId ? "same" : "newer";
    }, (error: unknown) => {
      change.value = isNotFound(error) ? "gone" : "same";
      if (change.value === "same") notifyError(error);
    });
  }, [reference]);
  const there = reference.documentId && (change.value === "same" || change.value === "newer");
  return (
    <aside class="source-panel" aria-label={words.source.title}>
      <header>
        <div>
          <h2 ref={heading} tabIndex={-1}>{reference.title || reference.source}</h2>
          <p class="where">{[placesNamed(reference.places, words) || (reference.page ? words.source.page(reference.page) : ""), period(reference.dateStart, reference.dateEnd), ...reference.headingPath].filter(Boolean).join(" › ")}</p>
        </div>
        <IconButton icon="close" label={words.common.close} onClick={closeSource} />
      </header>
      <div class="source-inside" tabIndex={0} role="group" aria-label={words.source.document}>
        {reference.support !== Support.UNSPECIFIED && (
          <p class={`verdict ${reference.tone}`}>{reference.reason || words.support[reference.support]}</p>
        )}
        {reference.replacedBy && <p class="hint">{words.source.replacedBy(reference.replacedBy)}</p>}
        {change.value === "newer" && <p class="hint">{words.source.newer}</p>}
        {change.value === "gone" && <p class="hint">{words.source.gone}</p>}
        {!reference.passage && reference.chunkId && <p class="hint">{words.source.unknownPassage}</p>}
        {reference.faqEntryId && <p class="hint">{words.source.faq}</p>}
        {reference.passage && (change.value === "newer" || change.value === "gone" || !reference.documentId) && <AsRead reference={reference} />}
        {there && <Original reference={reference} />}
        {there && <Pictures reference={reference} />}
        {there && pictured.value && (
          <div class="tabs" role="tablist" aria-label={words.source.document}>
            {(["picture", "text"] as const).map((each) => (
              <button key={each} type="button" role="tab" id={`tab-${each}`} aria-selected={tab.value === each} aria-controls="source-view" onClick={() => (tab.value = each)}>
                {words.source[each]}
              </button>
            ))}
          </div>
        )}
        {there && (
          <div id="source-view" {...(pictured.value ? { role: "tabpanel", "aria-labelledby": `tab-${tab.value}` } : {})}>
            {tab.value === "picture" ? <PagePicture reference={reference} onNone={() => {
              pictured.value = false;
              tab.value = "text";
            }} /> : <Text reference={reference} />}
          </div>
        )}
      </div>
    </aside>
  );
}

/** The passage alone, as it was when the answer was written. */
function AsRead({ reference }: { reference: Reference }) {
  const element = useRef<HTMLDivElement>(null);
  const markup = html(reference.passage);
  useEffect(() => {
    if (element.current) mark(element.current, reference.passage, cited(reference));
  }, [markup]);
  return (
    <section class="as-read">
      <h3>{t().source.read}</h3>
      <div ref={element} class="prose" dangerouslySetInnerHTML={{ __html: markup }} />
    </section>
  );
}

export function cited(reference: Reference): string {
  return [...reference.passage].slice(reference.start, reference.end).join("");
}

function Text({ reference }: { reference: Reference }) {
  const words = t().source;
  const read = useSignal<DocumentText | null>(null);
  const window = useSignal<Window>({ start: 0, end: 0 });
  const missing = useSignal(false);
  const element = useRef<HTMLDivElement>(null);
  const scrolled = useRef(false);
  useEffect(() => {
    const leaving = new AbortController();
    readText(reference.documentId, leaving.signal).then((found) => {
      window.value = windowAround(found, reference.passage, reference.page);
      read.value = found;
    }, (error: unknown) => leaving.signal.aborted || isNotFound(error) || notifyError(error));
    return () => leaving.abort();
  }, [reference]);
  const pages = read.value ? pagesOf(read.value, window.value) : [];
  useEffect(() => {
    if (!element.current || !read.value || !reference.passage) return;
    const first = mark(element.current, reference.passage, cited(reference));
    missing.value = !first;
    const place = first ?? element.current;
    if (!scrolled.current) place.scrollIntoView({ block: first ? "center" : "nearest" });
    scrolled.current = true;
  }, [read.value, window.value, drawn()]);
  if (!read.value) return <p class="quiet">{t().common.loading}</p>;
  const text = read.value;
  const more = (start: number, end: number) => (window.value = widened(text, { start, end }));
  return (
    <section class="document-text">
      {missing.value && <p class="hint">{words.notMarked}</p>}
      {window.value.start > 0 && (
        <button type="button" class="link" onClick={() => more(window.value.start - MORE, window.value.end)}>{words.before}</button>
      )}
      {/* Anew with each window, and once formulas are drawn: what was marked is no part of what is compared. */}
      <div ref={element} key={`${window.value.start}-${window.value.end}-${drawn()}`}>
        {pages.map(({ page, text: part }, place) => (
          <div key={place} class="page-text">
            {page > 0 && <p class="page-number">{words.page(page)}</p>}
            <div class="prose" dangerouslySetInnerHTML={{ __html: html(part) }} />
          </div>
        ))}
      </div>
      {window.value.end < text.text.length && (
        <button type="button" class="link" onClick={() => more(window.value.start, window.value.end + MORE)}>{words.after}</button>
      )}
    </section>
  );
}
