import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { knowledge } from "../api/clients";
import type { Reference } from "../ask/segments";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { notifyError } from "../ui/notices";

interface Original {
  name: string;
  contentType: string;
  bytes: Uint8Array<ArrayBuffer>[];
}

/** The file itself: a recording is heard from the cited moment on, any other is saved. */
export function Original({ reference }: { reference: Reference }) {
  const words = t().source;
  const fetching = useSignal(false);
  const sound = useSignal("");
  const player = useRef<HTMLAudioElement>(null);
  const time = reference.places.find(({ where }) => where.case === "time")?.where;
  const leaving = useRef(new AbortController());
  useEffect(() => () => {
    leaving.current.abort();
    if (sound.value) URL.revokeObjectURL(sound.value);
  }, []);
  const fetched = async (then: (original: Original) => void) => {
    fetching.value = true;
    try {
      then(await read(reference, leaving.current.signal));
    } catch (error) {
      if (!leaving.current.signal.aborted) notifyError(error);
    } finally {
      fetching.value = false;
    }
  };
  // What a stranger wrote is never opened as a page of this site: only what is sound keeps its type.
  const listen = () => fetched(({ contentType, bytes }) => {
    sound.value = URL.createObjectURL(new Blob(bytes, { type: /^(audio|video)\//.test(contentType) ? contentType : "" }));
  });
  const begin = () => {
    const element = player.current;
    if (!element) return;
    if (time?.case === "time") element.currentTime = Number(time.value.start?.seconds ?? 0n);
    void element.play().catch(() => undefined);
  };
  return (
    <div class="bar original">
      {time && !sound.value && <button type="button" disabled={fetching.value} onClick={() => void listen()}><Icon name="play" /><span>{fetching.value ? t().common.loading : words.listen}</span></button>}
      {sound.value && <audio ref={player} controls src={sound.value} onLoadedMetadata={begin} aria-label={reference.title || reference.source} />}
      <button type="button" disabled={fetching.value} onClick={() => void fetched(save)}><Icon name="download" /><span>{words.download}</span></button>
    </div>
  );
}

async function read({ documentId, versionId }: Reference, signal: AbortSignal): Promise<Original> {
  const original: Original = { name: "document", contentType: "", bytes: [] };
  for await (const { part } of knowledge.getOriginal({ documentId, versionId }, { signal })) {
    if (part.case === "header") {
      original.name = part.value.filename || original.name;
      original.contentType = part.value.contentType;
    } else if (part.case === "data") original.bytes.push(new Uint8Array(part.value));
  }
  return original;
}

function save({ name, bytes }: Original): void {
  const address = URL.createObjectURL(new Blob(bytes, { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
