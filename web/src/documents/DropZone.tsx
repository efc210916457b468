import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { notifyError } from "../ui/notices";
import { chosen, collections } from "./collections";
import { chosenFiles, type Dropped, droppedFiles } from "./dropped";
import { add } from "./uploads";

/** Takes files and folders, dropped anywhere on the page, or chosen. */
export function DropZone() {
  const words = t().documents;
  const over = useSignal(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const take = (found: Dropped[]) => found.length && add(found, chosen.value);
  useEffect(() => {
    let depth = 0;
    const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!carries(event)) return;
      depth += 1;
      over.value = true;
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (!depth) over.value = false;
    };
    const hold = (event: DragEvent) => carries(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!carries(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      over.value = false;
      droppedFiles(event.dataTransfer).then(take, notifyError);
    };
    addEventListener("dragenter", enter);
    addEventListener("dragleave", leave);
    addEventListener("dragover", hold);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragenter", enter);
      removeEventListener("dragleave", leave);
      removeEventListener("dragover", hold);
      removeEventListener("drop", drop);
    };
  }, []);
  // What there is already is what people come for.
  const filled = collections.value.some((each) => each.name === chosen.value && each.documentCount > 0n);
  const picked = (event: { currentTarget: HTMLInputElement }) => {
    take(chosenFiles(event.currentTarget.files ?? []));
    // The same file can be chosen again.
    event.currentTarget.value = "";
  };
  return (
    <section class={["drop", over.value ? "over" : "", filled ? "small" : ""].join(" ")} aria-label={words.drop}>
      <Icon name="upload" />
      <p class="big">{over.value ? words.dropNow : words.drop}</p>
      <p class="quiet formats">{words.formats}</p>
      <div class="bar">
        <button type="button" class="primary" onClick={() => files.current?.click()}>{words.choose}</button>
        <button type="button" onClick={() => folder.current?.click()}>{words.chooseFolder}</button>
      </div>
      <input ref={files} type="file" multiple hidden onChange={picked} />
      <input ref={(element) => {
        folder.current = element;
        if (element) element.webkitdirectory = true;
      }} type="file" multiple hidden onChange={picked} />
    </section>
  );
}
