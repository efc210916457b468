import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Reference } from "../ask/segments";
import type { SourcePicture } from "../gen/sourcier/gateway/v1/answer_pb";
import { t } from "../i18n";
import { drawn } from "./drawing";

/** The pictures beside a passage, small; one opens as large as the panel. */
export function Pictures({ reference }: { reference: Reference }) {
  if (!reference.pictures.length) return null;
  return (
    <section class="pictures" aria-label={t().source.pictures}>
      {reference.pictures.map((picture) => <Thumbnail key={picture.number} reference={reference} picture={picture} />)}
    </section>
  );
}

function Thumbnail({ reference, picture }: { reference: Reference; picture: SourcePicture }) {
  const words = t().source;
  const url = useSignal("");
  const large = useSignal(false);
  useEffect(() => {
    const leaving = new AbortController();
    let made = "";
    // One that cannot be drawn any more is left out: its text is among the passages.
    drawn({ documentId: reference.documentId, versionId: reference.versionId, picture: picture.number }, leaving.signal).then((found) => {
      made = found?.url ?? "";
      if (leaving.signal.aborted) URL.revokeObjectURL(made);
      else url.value = made;
    }, () => undefined);
    return () => {
      leaving.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [reference, picture.number]);
  if (!url.value) return null;
  const where = picture.page ? `, ${words.page(picture.page)}` : "";
  return (
    <button type="button" class={large.value ? "large" : ""} aria-expanded={large.value} title={picture.text} onClick={() => (large.value = !large.value)}>
      <img src={url.value} alt={words.imageOf(picture.text)} />
      <span>{`${words.image} ${picture.number}${where}`}</span>
    </button>
  );
}
