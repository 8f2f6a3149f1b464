const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }

const date = new Intl.DateTimeFormat('en-GB', DATE)
const minute = new Intl.DateTimeFormat('en-GB', { ...DATE, hour: '2-digit', minute: '2-digit' })
const second = new Intl.DateTimeFormat('en-GB', {
  ...DATE,
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

/**
 * Formats a time of the service, in UTC: `31 Jan 2026, 12:00:05`. A text without a time, such as `2026-01-31`, is shown
 * as a date. A text that is neither is returned unchanged.
 */
export function formatTime(iso: string): string {
  const time = new Date(iso)
  // A year or a month is the name of a period.
  if (!/^\d{4}-\d{2}-\d{2}/.test(iso) || Number.isNaN(time.getTime())) return iso
  return (iso.includes('T') ? second : date).format(time)
}

/** Formats when something happened, in UTC, to the minute: `27 Nov 2026, 14:05`. */
export function formatMinute(iso: string): string {
  return minute.format(new Date(iso))
}
