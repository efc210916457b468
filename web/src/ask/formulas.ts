/** Formulas as MathML, which the browser draws with letters of its own; the program for it is fetched with the first one. */
import { signal } from "@preact/signals";

type Draw = (tex: string, display: boolean) => string | null;

const draw = signal<Draw | null>(null);
let wanted = false;
const CHARACTERS_MAX = 4_000;
const EXPANSIONS_MAX = 200;

/** Returns a formula as MathML; null until that can be done, and for what is none. Whoever draws it is drawn again then. */
export function formula(tex: string, display: boolean): string | null {
  if (draw.value) return draw.value(tex, display);
  if (!wanted) {
    wanted = true;
    import("temml").then(({ default: temml }) => {
      draw.value = (text, block) => {
        if (text.length > CHARACTERS_MAX) return null;
        try {
          const made = temml.renderToString(text, { displayMode: block, throwOnError: true, maxExpand: EXPANSIONS_MAX, maxSize: [20, 100] });
          // The policy of the page forbids styles that are written into it; text has its quotes as entities.
          return made.replace(/ style="[^"]*"/g, "");
        } catch {
          return null;
        }
      };
    }, () => (wanted = false));
  }
  return null;
}

/** Whether formulas can be drawn by now. */
export function drawn(): boolean {
  return draw.value !== null;
}
