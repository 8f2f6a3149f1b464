import type { DateColumn, TemporalColumn, TimestampColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import { localOffsets } from '../../clock.ts'
import { ONE_NANO, SECONDS_PER_DAY } from '../../grid.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { bigint, clamped, edgesBelow } from './literals.ts'
import type { SourceType } from './source.ts'

const MS_PER_SECOND = 1_000n
const MS_PER_DAY = SECONDS_PER_DAY * MS_PER_SECOND

/**
 * Encodes dates as floor(days / step + 1/2) within the bounds, counted from 1970-01-01. A time of day is cut off: the date is the
 * one that a timestamp states, or that of an instant in UTC.
 */
export function encodeDate(column: DateColumn, sql: string, { kind }: SourceType): EncodedValue | undefined {
  const date = dateOf(sql, kind)
  if (date === undefined) return undefined
  const index = printIndex(column, daysOf(date), column.stepNano / ONE_NANO)
  return { stored: index, misfit: 'none' }
}

/** The date that a value states; `undefined` for types without one. */
export function dateOf(sql: string, kind: SourceType['kind']): string | undefined {
  switch (kind) {
    case 'date':
      return sql
    case 'timestamp':
      return `CAST(${sql} AS DATE)`
    case 'timestamptz':
      return `CAST(${sql} AT TIME ZONE 'UTC' AS DATE)`
    default:
      return undefined
  }
}

/** A constant date. */
export function dateAt(days: bigint): string {
  return `date_add('day', ${bigint(days)}, DATE '1970-01-01')`
}

function daysOf(date: string): string {
  return `date_diff('day', DATE '1970-01-01', ${date})`
}

/**
 * Encodes instants as floor(seconds / step + 1/2) within the bounds, counted from 1970-01-01T00:00:00Z. Dates are midnight.
 * Dates and timestamps without time zone are in the declared time zone. Digits beyond milliseconds are cut off, which
 * rounding to a step of whole seconds does not notice.
 */
export function encodeTimestamp(
  column: TimestampColumn,
  sql: string,
  { kind }: SourceType,
): EncodedValue | undefined {
  const ms = millisecondsOf(column, sql, kind)
  if (ms === undefined) return undefined
  return { stored: printIndex(column, ms, (column.stepNano / ONE_NANO) * MS_PER_SECOND), misfit: 'none' }
}

function millisecondsOf(column: TimestampColumn, sql: string, kind: SourceType['kind']): string | undefined {
  switch (kind) {
    case 'date':
      return printUtc(column, `(${daysOf(sql)} * ${bigint(MS_PER_DAY)})`)
    case 'timestamp':
      // The difference in milliseconds rounds both times down.
      return printUtc(column, `date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00', ${sql})`)
    case 'timestamptz':
      return `date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00 UTC', ${sql})`
    default:
      return undefined
  }
}

/** Prints the instant of a local time, both in milliseconds. */
function printUtc(column: TimestampColumn, local: string): string {
  const offsets = localOffsets(column)
  const offsetsMs = offsets.map(({ offsetSeconds }) => offsetSeconds * Number(MS_PER_SECOND))
  if (offsetsMs.length === 1) {
    const only = must(offsetsMs[0], 'an offset')
    return only === 0 ? local : `(${local} - ${bigint(BigInt(only))})`
  }
  const changes = offsets.flatMap(({ from }) => (from === undefined ? [] : [BigInt(from) * MS_PER_SECOND]))
  const place = `${edgesBelow(local, changes)} + 1`
  return `(${local} - element_at(CAST(JSON '[${offsetsMs.join(',')}]' AS ARRAY(BIGINT)), ${place}))`
}

/** The index of a 64-bit integer in units of which a step has this many. */
function printIndex({ lowerIndex, upperIndex }: TemporalColumn, sql: string, step: bigint): string {
  const [lower, upper] = [lowerIndex * step, upperIndex * step]
  const within = clamped(sql, bigint(lower), bigint(upper))
  if (step === 1n) return within
  // Counted from the lower bound, no number is negative, so that the quotient is the floor.
  return `((2 * (${within} - ${bigint(lower)}) + ${bigint(step)}) / ${bigint(2n * step)} + ${bigint(lowerIndex)})`
}
