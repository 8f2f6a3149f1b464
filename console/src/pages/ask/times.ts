/** A date, or an instant in UTC to the second, as ISO 8601 writes it. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.0+)?)?Z?)?$/

/** Returns a date or an instant as a calendar of the browser takes it, or undefined if it cannot show the text. */
export function inputOfTime(type: 'date' | 'timestamp', text: string): string | undefined {
  const [, date, minutes, seconds = '00'] = INSTANT.exec(text) ?? []
  if (date === undefined) return undefined
  if (type === 'timestamp') return `${date}T${minutes ?? '00:00'}:${seconds}`
  return minutes === undefined ? date : undefined
}

/** Returns what was chosen in a calendar as ISO 8601. */
export function timeOfInput(type: 'date' | 'timestamp', text: string): string {
  if (type === 'date') return text
  return `${text.length === 'YYYY-MM-DDTHH:mm'.length ? `${text}:00` : text}Z`
}
