/**
 * Who is here. The service keeps a sign-in in a cookie that no script can read; where a browser does not keep it, as at an
 * address without TLS that is not this machine's, a key stays in the window until that is closed.
 */
import { signal } from "@preact/signals";
import { keepHere } from "../ui/stored";

const NAME = "sourcier.key";
const SECONDS_MAX = 10;
const FAILED = "#/sign-in-failed";

export interface Person { name: string; tenant: string; role: string }
export interface Session {
  /** Whether the gateway wants to know who asks. */
  required: boolean;
  /** Whether an identity provider signs people in. */
  provider: boolean;
  who: Person | null;
}

function kept(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

const key = signal(kept());
export const session = signal<Session>({ required: false, provider: false, who: null });
/** Whether a call was refused because nobody knows who made it, or is going to be. */
export const asked = signal(false);
/** Whether somebody was here when the session ended: the page stays as it is below the sign-in, with what was written in it. */
export const ended = () => asked.value && session.value.who !== null;
/** Whether somebody came back from the identity provider without a sign-in. */
export const failed = signal(location.hash === FAILED);

const ROLES = ["reader", "writer", "manager", "operator"] as const;

/** Whether the role of whoever is here suffices; where nobody is asked, everybody may do everything. */
export function may(role: (typeof ROLES)[number]): boolean {
  const { who } = session.value;
  if (!who) return true;
  return ROLES.findIndex((each) => each === who.role) >= ROLES.indexOf(role);
}

export function headers(): Record<string, string> {
  return key.value ? { authorization: `Bearer ${key.value}` } : {};
}

/** Finds out who is here, before anything is asked of the gateway. */
export async function meet(): Promise<void> {
  if (failed.value) history.replaceState(null, "", "#/");
  try {
    session.value = await told("/auth/session");
    asked.value = session.value.required && !session.value.who;
  } catch {
    // Whoever has to sign in finds out at the first call that is refused.
  }
}

/** Signs in with a key; returns whether it is known. */
export async function enter(given: string): Promise<boolean> {
  const answer = await fetch("/auth/key", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ key: given }),
    signal: AbortSignal.timeout(SECONDS_MAX * 1000),
  });
  if (answer.status === 400 || answer.status === 401) return false;
  if (!answer.ok) throw new Error(((await answer.json()) as { message?: string }).message ?? answer.statusText);
  remember("");
  if (!(await told("/auth/session")).who) remember(given);
  return true;
}

/** Looks whether somebody is here again, after a sign-in in another tab or by a key; whoever is somebody else starts anew. */
export async function back(): Promise<boolean> {
  const before = session.value.who;
  const found = await told("/auth/session");
  if (!found.who) return false;
  if (before && (found.who.name !== before.name || found.who.tenant !== before.tenant || found.who.role !== before.role)) {
    keepHere("draft", "");
    location.reload();
  }
  session.value = found;
  asked.value = false;
  return true;
}

/** Where to sign in at the identity provider; the way back leads to where the reader is. */
export function provider(): string {
  const place = location.hash.startsWith("#/") ? location.hash : "#/";
  return `/auth/login?place=${encodeURIComponent(place)}`;
}

/** Signs out, here and at the identity provider. */
export async function leave(): Promise<void> {
  remember("");
  // Who comes next at this window finds nothing of who was here.
  keepHere("draft", "");
  const answer = await fetch("/auth/logout", { method: "POST", signal: AbortSignal.timeout(SECONDS_MAX * 1000) });
  const { end_session: end } = (await answer.json()) as { end_session: string };
  if (end) location.assign(end);
  else location.reload();
}

async function told(path: string): Promise<Session> {
  const answer = await fetch(path, { headers: headers(), signal: AbortSignal.timeout(SECONDS_MAX * 1000) });
  if (!answer.ok) throw new Error(answer.statusText);
  return (await answer.json()) as Session;
}

function remember(given: string): void {
  key.value = given;
  try {
    if (given) sessionStorage.setItem(NAME, given);
    else sessionStorage.removeItem(NAME);
  } catch {
    // A window that keeps nothing asks again after it is loaded anew.
  }
}
