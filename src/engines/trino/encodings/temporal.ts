import type { DateColumn, TemporalColumn, TimestampColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import { localOffsets } from '../../clock.ts'
import { ONE_NANO, SECONDS_PER_DAY } from '../../grid.ts'
import type { Source } from '../../tables/comparisons.ts'
import type { TemporalKind } from '../../tables/encoder.ts'
import { bigint, clamped, edgesBelow } from './literals.ts'

const MS_PER_SECOND = 1_000n
const MS_PER_DAY = SECONDS_PER_DAY * MS_PER_SECOND

/** Encodes dates; see `ValueRules`. */
export function encodeDate(column: DateColumn, { sql }: Source, kind: TemporalKind): string {
  return printIndex(column, daysOf(dateOf(sql, kind)), column.stepNano / ONE_NANO)
}

/** The date that a value states. */
export function dateOf(sql: string, kind: TemporalKind): string {
  switch (kind) {
    case 'date':
      return sql
    case 'timestamp':
      return `CAST(${sql} AS DATE)`
    case 'timestamptz':
      return `CAST(${sql} AT TIME ZONE 'UTC' AS DATE)`
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
 * Encodes instants; see `ValueRules`. Digits beyond milliseconds are cut off, which rounding to a step of whole seconds does not
 * notice.
 */
export function encodeTimestamp(column: TimestampColumn, { sql }: Source, kind: TemporalKind): string {
  const step = (column.stepNano / ONE_NANO) * MS_PER_SECOND
  return printIndex(column, millisecondsOf(column, sql, kind), step)
}

function millisecondsOf(column: TimestampColumn, sql: string, kind: TemporalKind): string {
  switch (kind) {
    case 'date':
      return printUtc(column, `(${daysOf(sql)} * ${bigint(MS_PER_DAY)})`)
    case 'timestamp':
      // The difference in milliseconds rounds both times down.
      return printUtc(column, `date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00', ${sql})`)
    case 'timestamptz':
      return `date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00 UTC', ${sql})`
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
