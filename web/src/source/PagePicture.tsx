import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Reference } from "../ask/segments";
import { Marking } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { t } from "../i18n";
import { drawn, type Picture } from "./drawing";

const DPI = 130;
/** Of a passage, for those who cannot see its picture; the whole of it is told as text. */
const TOLD_MAX = 300;

/** Draws a page of the version that was read; null where the format has no pages to draw, or the version is gone. */
function draw(reference: Reference, page: number, signal: AbortSignal): Promise<Picture | null> {
  const rectangles = reference.places.flatMap(({ where }) => (where.case === "page" && where.value.number === page ? where.value.rectangles : []));
  const inside = reference.places.find((place) => place.picture && place.where.case !== "page");
  return drawn(inside
    // A picture inside a file without pages to draw is shown itself.
    ? { documentId: reference.documentId, versionId: reference.versionId, picture: inside.picture }
    : {
      documentId: reference.documentId, versionId: reference.versionId, page, dpi: DPI, rectangles,
      // Without places that were kept the service looks for the text.
      ...(rectangles.length || !reference.chunkId ? {} : { chunkId: reference.chunkId, start: reference.start, end: reference.end }),
    }, signal);
}

/** The page as it looks, its cited words marked. Calls `onNone` where there is no picture to be had. */
export function PagePicture({ reference, onNone }: { reference: Reference; onNone: () => void }) {
  const words = t().source;
  const page = useSignal(reference.page || 1);
  const picture = useSignal<Picture | null>(null);
  const large = useSignal(false);
  useEffect(() => {
    const leaving = new AbortController();
    let url = "";
    draw(reference, page.value, leaving.signal).then((found) => {
      if (!found) return onNone();
      url = found.url;
      if (leaving.signal.aborted) URL.revokeObjectURL(url);
      else picture.value = found;
    }, () => leaving.signal.aborted || onNone());
    return () => {
      leaving.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [reference, page.value]);
  if (!picture.value) return <p class="quiet">{t().common.loading}</p>;
  const { header, url } = picture.value;
  const cited = header.page === (reference.page || 1);
  return (
    <section class={large.value ? "picture large" : "picture"}>
      {cited && reference.chunkId && header.marking === Marking.UNSPECIFIED && <p class="hint">{words.notMarkedPicture}</p>}
      {header.marking === Marking.TEXT && <p class="quiet">{words.markedByText}</p>}
      <div class="bar">
        {header.pageCount > 0 && <span class="bar">
          <button type="button" disabled={page.value <= 1} onClick={() => (page.value -= 1)} aria-label={words.previousPage}>‹</button>
          <span>{words.pageOf(header.page, header.pageCount)}</span>
          <button type="button" disabled={page.value >= header.pageCount} onClick={() => (page.value += 1)} aria-label={words.nextPage}>›</button>
        </span>}
        <button type="button" aria-pressed={large.value} onClick={() => (large.value = !large.value)}>{large.value ? words.zoomOut : words.zoomIn}</button>
      </div>
      <div class="sheet" tabIndex={0} role="group" aria-label={words.picture}>
        <img src={url} width={header.width} height={header.height} alt={header.pageCount ? words.picturedAs(header.page, reference.title || reference.source) : told(reference)} />
      </div>
    </section>
  );
}

/** What a picture says, as it was read: the cited part of it. */
function told(reference: Reference): string {
  const letters = [...reference.passage];
  const cited = reference.end > reference.start ? letters.slice(reference.start, reference.end) : letters;
  const text = cited.slice(0, TOLD_MAX).join("").trim().replace(/\s+/g, " ");
  return t().source.imageOf(text ? `${text}${cited.length > TOLD_MAX ? "…" : ""}` : reference.title || reference.source);
}
