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
