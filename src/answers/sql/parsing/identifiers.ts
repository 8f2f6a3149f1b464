/** Longest name in PostgreSQL. Longer names are cut to this length. */
const LONGEST_NAME_BYTES = 63

/** The name as PostgreSQL's parser returns it when it is quoted. */
export function cut(name: string): string {
  const bytes = Buffer.from(name)
  if (bytes.length <= LONGEST_NAME_BYTES) return name
  return [...name].reduce(
    (kept, character) =>
      Buffer.byteLength(kept + character) <= LONGEST_NAME_BYTES ? kept + character : kept,
    '',
  )
}

/** The name as PostgreSQL's parser returns it when it is not quoted. */
export function fold(name: string): string {
  return cut(name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()))
}
