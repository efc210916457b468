/** Light or dark: as the computer says, unless the reader chose. */
import { effect, signal } from "@preact/signals";
import { store, stored } from "./stored";

export type Theme = "system" | "light" | "dark";

const kept = stored("theme");
export const theme = signal<Theme>(kept === "light" || kept === "dark" ? kept : "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  store("theme", theme.value);
});
