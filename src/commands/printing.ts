/** Prints JSON in lines that people can read. Characters that a terminal would not show are escaped. */
export function printJson(value: unknown): void {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  console.log(JSON.stringify(value, null, 2).replace(/[\u007f-\u009f\p{Bidi_Control}]/gu, escaped))
}

/** Prints rows as columns of equal width. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  for (const row of [header, ...rows])
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** Replaces characters of a remote text, such as control characters, that could change what a terminal shows. */
export function shown(value: unknown): string {
  return String(value ?? '').replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?')
}
