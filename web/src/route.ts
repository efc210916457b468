/** Where the reader is: the part of the address after `#`, so that the server needs to know one file only. */
import { signal } from "@preact/signals";

export type View = "ask" | "documents" | "curation" | "access" | "operations";

export interface Route {
  view: View;
  /** The conversation that is open, in `ask`. */
  conversationId: string;
}

function read(): Route {
  const [view = "", id = ""] = location.hash.replace(/^#\/?/, "").split("/");
  if (view === "documents" || view === "curation" || view === "access" || view === "operations") return { view, conversationId: "" };
  return { view: "ask", conversationId: view === "c" ? decodeURIComponent(id) : "" };
}

export const route = signal<Route>(read());

addEventListener("hashchange", () => {
  route.value = read();
});

export function address(view: View, conversationId = ""): string {
  if (view !== "ask") return `#/${view}`;
  return conversationId ? `#/c/${encodeURIComponent(conversationId)}` : "#/";
}

/** Goes somewhere; `silently` replaces the entry in the history and opens nothing. */
export function go(view: View, conversationId = "", silently = false): void {
  const hash = address(view, conversationId);
  if (silently) {
    history.replaceState(null, "", hash);
    route.value = read();
  } else location.hash = hash;
}
