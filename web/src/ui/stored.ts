/** What this browser remembers of its reader's choices; one that forbids it forgets them. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(`sourcier.${name}`);
  } catch {
    return null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(`sourcier.${name}`, value);
  } catch {
    // Private windows may refuse; nothing depends on it.
  }
}

/** What this window remembers until it is closed. */
export function keptHere(name: string): string {
  try {
    return sessionStorage.getItem(`sourcier.${name}`) ?? "";
  } catch {
    return "";
  }
}

export function keepHere(name: string, value: string): void {
  try {
    if (value) sessionStorage.setItem(`sourcier.${name}`, value);
    else sessionStorage.removeItem(`sourcier.${name}`);
  } catch {
    // A window that keeps nothing forgets it when it is loaded anew.
  }
}
