import { type RefObject } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { period, t } from "../i18n";
import type { Reference } from "./segments";
import { pageOrTime } from "../source/places";

export interface At {
  number: number;
  left: number;
  top: number;
  below: boolean;
}

const SHOW_MS = 120;
const CARD_WIDTH = 340;
const EXCERPT = 320;

/** Follows pointer and focus over the chips of an answer. */
export function useHover(element: RefObject<HTMLDivElement | null>) {
  const [at, setAt] = useState<At | null>(null);
  const id = useId();
  useEffect(() => {
    const inside = element.current;
    if (!inside) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let held: Element | null = null;
    const leave = () => {
      clearTimeout(timer);
      held?.removeAttribute("aria-describedby");
      held = null;
      setAt(null);
    };
    const enter = (event: Event) => {
      const chip = (event.target as Element).closest<HTMLElement>("[data-chip]");
      if (!chip || chip === held) return;
      leave();
      timer = setTimeout(() => {
        if (!chip.isConnected) return;
        const box = chip.getBoundingClientRect();
        held = chip;
        chip.setAttribute("aria-describedby", id);
        setAt({
          number: Number(chip.dataset.chip), below: box.top < 260,
          left: Math.max(8, Math.min(box.left - 24, document.documentElement.clientWidth - CARD_WIDTH - 8)),
          top: box.top < 260 ? box.bottom + 8 : box.top - 8,
        });
      }, event.type === "focusin" ? 0 : SHOW_MS);
    };
    const out = (event: Event) => {
      const to = (event as PointerEvent | FocusEvent).relatedTarget as Element | null;
      if (!inside.contains(to) || !to?.closest("[data-chip]")) leave();
    };
    const key = (event: KeyboardEvent) => event.key === "Escape" && leave();
    inside.addEventListener("pointerover", enter);
    inside.addEventListener("pointerout", out);
    inside.addEventListener("focusin", enter);
    inside.addEventListener("focusout", out);
    addEventListener("keydown", key);
    addEventListener("scroll", leave, { passive: true });
    return () => {
      leave();
      inside.removeEventListener("pointerover", enter);
      inside.removeEventListener("pointerout", out);
      inside.removeEventListener("focusin", enter);
      inside.removeEventListener("focusout", out);
      removeEventListener("keydown", key);
      removeEventListener("scroll", leave);
    };
  }, [element.current]);
  return { at, id, close: () => setAt(null) };
}

/** What a chip stands for, at a glance. */
export function HoverCard({ id, at, reference }: { id: string; at: At; reference: Reference }) {
  const words = t();
  return (
    <div id={id} role="tooltip" class={at.below ? "hover-card below" : "hover-card"}
      ref={(element) => {
        // Set as properties: the policy of the page forbids styles that are written into it.
        if (element) (element.style.left = `${at.left}px`), (element.style.top = `${at.top}px`);
      }}>
      <p class="title">{reference.title || reference.source}</p>
      <p class="where">{[pageOrTime(reference, words), period(reference.dateStart, reference.dateEnd), ...reference.headingPath].filter(Boolean).join(" › ")}</p>
      {reference.replacedBy && <p class="flag">{words.source.replacedBy(reference.replacedBy)}</p>}
      {reference.passage && <Excerpt reference={reference} />}
      <p class={`verdict ${reference.tone}`}>{reference.reason || words.support[reference.support]}</p>
    </div>
  );
}

function Excerpt({ reference }: { reference: Reference }) {
  const points = [...reference.passage];
  const marked = reference.end > reference.start;
  const from = marked ? Math.max(0, reference.start - 80) : 0;
  const cited = points.slice(reference.start, Math.min(reference.end, reference.start + EXCERPT)).join("");
  const before = points.slice(from, reference.start).join("");
  const after = points.slice(marked ? reference.end : 0, (marked ? reference.end : 0) + Math.max(60, EXCERPT - cited.length)).join("");
  return <p class="excerpt">{from > 0 && "…"}{marked && before}{marked && <mark>{cited}</mark>}{after}…</p>;
}
