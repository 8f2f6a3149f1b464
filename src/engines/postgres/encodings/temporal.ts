import type { DateColumn, TimestampColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import { divideRoundingDown } from '../../../privacy/rational.ts'
import { LARGEST_OFFSET_SECONDS, type LocalOffset, localOffsets } from '../../clock.ts'
import { ONE_NANO, SECONDS_PER_DAY } from '../../grid.ts'
import type { Source } from '../../tables/comparisons.ts'
import type { TemporalKind } from '../../tables/encoder.ts'
import { clamped, int8 } from './literals.ts'
import { unlessNull } from './source.ts'

/** Encodes dates; see `ValueRules`. */
export function encodeDate(column: DateColumn, source: Source, kind: TemporalKind): string {
  const date = dateOf(source.sql, kind)
  const { lowerIndex: lower, upperIndex: upper } = column
  const step = column.stepNano / ONE_NANO
  // The difference is clamped beforehand, because that of an infinite date is an error.
  const within = `least(greatest(${date}, ${dateAt(lower * step)}), ${dateAt(upper * step)})`
  const index =
    step === 1n
      ? `(${within} - DATE '1970-01-01')::int8`
      : `(${int8(lower)} + (2 * (${within} - ${dateAt(lower * step)})::int8 + ${step}) / ${2n * step})`
  return unlessNull(source, index)
}

/** The date that a value states. The session's time zone is UTC. */
export function dateOf(sql: string, kind: TemporalKind): string {
  return kind === 'date' ? sql : `(${sql})::date`
}

/** Encodes instants; see `ValueRules`. */
export function encodeTimestamp(column: TimestampColumn, source: Source, kind: TemporalKind): string {
  const step = column.stepNano / ONE_NANO
  const { lowerIndex: lower, upperIndex: upper } = column
  const margin = kind === 'timestamptz' ? 0n : LARGEST_OFFSET_SECONDS
  const [first, last] = [lower * step - margin, upper * step + margin]
  // floor(t / step + 1/2) is the quotient of a whole number of seconds, because the step is whole.
  const half = step / 2n
  const seconds = printSeconds(source.sql, kind, first, last, step % 2n === 1n)
  const offset = printOffset(column, source.sql, kind)
  const utc = offset === undefined ? seconds : `(${seconds} - (${offset}))`
  // Counted from below the smallest index, so that no dividend is negative.
  const start = lower - (2n * LARGEST_OFFSET_SECONDS) / step - 2n
  const index =
    step === 1n ? utc : `((${utc} + ${int8(half - start * step)}) / ${int8(step)} + ${int8(start)})`
  return unlessNull(source, clamped(index, lower, upper))
}

/** Up to this magnitude a double tells seconds apart that differ by a microsecond, also after 1/2 has been added. */
const LARGEST_DOUBLE_SECONDS = 2n ** 32n

/** Prints the whole seconds of a time between two instants, rounded to the nearest one or down. */
function printSeconds(
  sql: string,
  kind: TemporalKind,
  first: bigint,
  last: bigint,
  toNearest: boolean,
): string {
  if (kind === 'date') {
    const [least, most] = [
      divideRoundingDown(first, SECONDS_PER_DAY),
      divideRoundingDown(last, SECONDS_PER_DAY) + 1n,
    ]
    const date = `least(greatest(${sql}, ${dateAt(least)}), ${dateAt(most)})`
    return `((${date} - DATE '1970-01-01')::int8 * ${SECONDS_PER_DAY})`
  }
  // Infinite times are clamped as well.
  const time = `least(greatest(${sql}, ${timeAt(first, kind)}), ${timeAt(last, kind)})`
  const isSmall = -first < LARGEST_DOUBLE_SECONDS && last < LARGEST_DOUBLE_SECONDS
  const seconds = isSmall ? `date_part('epoch', ${time})` : `extract(epoch FROM ${time})`
  return `floor(${seconds}${toNearest ? ' + 0.5' : ''})::int8`
}

/** Prints the offset of a local time from UTC in seconds; `undefined` if there is none. */
function printOffset(column: TimestampColumn, sql: string, kind: TemporalKind): string | undefined {
  if (kind === 'timestamptz') return undefined
  const offsets = localOffsets(column)
  return offsets.every(({ offsetSeconds }) => offsetSeconds === 0)
    ? undefined
    : printOffsetSearch(offsets, sql, kind)
}

function printOffsetSearch(
  offsets: readonly LocalOffset[],
  sql: string,
  kind: Exclude<TemporalKind, 'timestamptz'>,
): string {
  const middle = offsets.length >> 1
  if (middle === 0) return int8(BigInt(must(offsets[0], 'an offset').offsetSeconds))
  const from = must(offsets[middle]?.from, 'the beginning of an offset')
  const change =
    kind === 'date' ? dateAt(-divideRoundingDown(-BigInt(from), SECONDS_PER_DAY)) : timeAt(BigInt(from), kind)
  const before = printOffsetSearch(offsets.slice(0, middle), sql, kind)
  const after = printOffsetSearch(offsets.slice(middle), sql, kind)
  return `CASE WHEN ${sql} < ${change} THEN ${before} ELSE ${after} END`
}

/** A constant date. */
export function dateAt(days: bigint): string {
  return `(DATE '1970-01-01' + '${days}'::int4)`
}

/** A constant time. PostgreSQL computes it once for each statement. */
function timeAt(seconds: bigint, kind: 'timestamp' | 'timestamptz'): string {
  return kind === 'timestamp'
    ? `(TIMESTAMP '1970-01-01' + INTERVAL '${seconds} seconds')`
    : `to_timestamp('${seconds}'::float8)`
}
