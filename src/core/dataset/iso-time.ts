import { Temporal } from 'temporal-polyfill'
import { entry } from '../../privacy/must.ts'

/*
 * Dates and instants as ISO 8601 texts, in the proleptic Gregorian calendar, for the years 1 to 9999. A date is a
 * number of days since 1970-01-01; an instant is a number of seconds or nanoseconds since 1970-01-01T00:00:00Z. Leap
 * seconds are not counted, as in POSIX time.
 */

export const SECONDS_PER_DAY = 86_400n
/** Largest distance of the bounds of a column in a time zone whose clock changes, in seconds: 400 years. */
export const LONGEST_SPAN_SECONDS = 146_097n * SECONDS_PER_DAY
const NANOSECONDS_PER_SECOND = 1_000_000_000n
const MILLISECONDS_PER_SECOND = 1000
const MILLISECONDS_PER_DAY = 86_400_000

const DATE = /^(?!0000)\d{4}-\d{2}-\d{2}$/
const INSTANT =
  /^(?<date>\d{4}-\d{2}-\d{2})(?:T(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d)(?::(?<seconds>[0-5]\d)(?:\.(?<fraction>\d{1,9}))?)?(?<offset>Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** Returns the days since 1970-01-01 of a text such as `2024-02-29`; `undefined` for a date that does not exist. */
export function parseDate(text: string): bigint | undefined {
  if (!DATE.test(text)) return undefined
  const milliseconds = Date.parse(`${text}T00:00:00Z`)
  // Date.parse accepts the 31st of every month.
  if (Number.isNaN(milliseconds) || !new Date(milliseconds).toISOString().startsWith(text)) return undefined
  return BigInt(milliseconds / MILLISECONDS_PER_DAY)
}

/**
 * Returns the nanoseconds since 1970-01-01T00:00:00Z of a text such as `2024-02-29T13:30:00Z`. The seconds and their
 * fraction may be omitted, and so may the whole time (midnight). A text without `Z` and without an offset is UTC.
 *
 * @returns `undefined` for a text of another form, or an instant that does not exist
 */
export function parseInstant(text: string): bigint | undefined {
  const groups = INSTANT.exec(text)?.groups
  if (groups?.date === undefined) return undefined
  const days = parseDate(groups.date)
  if (days === undefined) return undefined
  const { hours = '0', minutes = '0', seconds = '0', fraction = '', offset = 'Z' } = groups
  const local = days * SECONDS_PER_DAY + BigInt(hours) * 3600n + BigInt(minutes) * 60n + BigInt(seconds)
  return (local - secondsOfOffset(offset)) * NANOSECONDS_PER_SECOND + BigInt(fraction.padEnd(9, '0'))
}

/** Returns the date of a number of days since 1970-01-01, such as `2024-02-29`. */
export function dateText(days: bigint): string {
  return new Date(Number(days) * MILLISECONDS_PER_DAY).toISOString().slice(0, 'yyyy-mm-dd'.length)
}

/** Returns the instant of a number of seconds since 1970-01-01T00:00:00Z, such as `2024-02-29T13:30:00Z`. */
export function instantText(seconds: bigint): string {
  return `${new Date(Number(seconds) * MILLISECONDS_PER_SECOND).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}Z`
}

function secondsOfOffset(offset: string): bigint {
  if (offset === 'Z') return 0n
  const parts = offset.slice(1).split(':').map(BigInt)
  const seconds = entry(parts, 0) * 3600n + entry(parts, 1) * 60n
  return offset.startsWith('-') ? -seconds : seconds
}

/**
 * Returns the name of a time zone that this platform knows, as the IANA list spells it whatever its case here; `undefined` for
 * another text. Offsets such as `+01:00` are not names.
 */
export function timeZoneNamed(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
