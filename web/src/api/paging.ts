/** Reads all pages of a list, up to a bound. */
export async function all<Item>(
  page: (token: string) => Promise<{ items: Item[]; next: string }>, pagesMax = 20,
): Promise<Item[]> {
  const found: Item[] = [];
  let token = "";
  for (let count = 0; count < pagesMax; count += 1) {
    const { items, next } = await page(token);
    found.push(...items);
    if (!next) break;
    token = next;
  }
  return found;
}
