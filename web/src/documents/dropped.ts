/** Files out of what was dropped or chosen, those in folders with their paths. */
export interface Dropped {
  /** The name, or the path below what was dropped: it identifies the document in its collection. */
  path: string;
  /** Absent where the page did not get the file itself. */
  file: File | null;
}

/** What systems leave in folders, and nobody means. */
const LITTER = /(^|\/)(\.[^/]*|~\$[^/]*|Thumbs\.db|desktop\.ini|__MACOSX)(\/|$)/i;

export function chosenFiles(files: Iterable<File>): Dropped[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter(({ path }) => !LITTER.test(path));
}

export async function droppedFiles(transfer: DataTransfer): Promise<Dropped[]> {
  // All of them now: the list is empty once the event is over.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry !== null && entry !== undefined);
  if (!entries.length) return chosenFiles(transfer.files);
  const found: Dropped[] = [];
  for (const entry of entries) await walk(entry, found);
  return found.filter(({ path }) => !LITTER.test(path));
}

async function walk(entry: FileSystemEntry, found: Dropped[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A hundred at a time, until none is left.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) await walk(each, found);
  }
}
