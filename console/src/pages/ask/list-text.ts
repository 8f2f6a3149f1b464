/** Reads items that are separated by commas: numbers, or else texts such as dates. */
export function readList(text: string): readonly (string | number)[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => (Number.isFinite(Number(item)) ? Number(item) : item))
}

/** Writes items separated by commas. */
export function listText(items: readonly unknown[]): string {
  return items.join(', ')
}
