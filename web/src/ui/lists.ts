/** Returns a list with a value at its end, or without it where it was in. */
export function switched<T>(list: readonly T[], value: T): T[] {
  return list.includes(value) ? list.filter((each) => each !== value) : [...list, value];
}
