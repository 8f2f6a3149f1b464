import { Temporal } from 'temporal-polyfill'
import type { TimestampColumn } from '../core/dataset/dataset.ts'
import { ONE_NANO, SECONDS_PER_DAY } from './grid.ts'

/** Offset of a time zone from UTC for a range of local times. */
export interface LocalOffset {
  /** First local time, in seconds since 1970-01-01T00:00:00 on the local clock; absent for the first range. */
  readonly from?: number
  /** Seconds to subtract from a local time to get UTC. */
  readonly offsetSeconds: number
}

/** Larger than the offset of any time zone from UTC, and than any change of a clock. */
export const LARGEST_OFFSET_SECONDS = 2n * SECONDS_PER_DAY

/** The lists by column: those of 10,000 years take a second, and every statement needs them. */
const known = new WeakMap<TimestampColumn, readonly LocalOffset[]>()

/**
 * Lists the offsets of the local times of a column's time zone, in their order, for all instants near its bounds. The list makes
 * every local time one instant: a time that the clock skipped is read with the offset before the change, and a time
 * that the clock showed twice is the earlier of both (RFC 5545, section 3.3.5; `disambiguation: "compatible"` in
 * ECMAScript's Temporal).
 *
 * Instants up to {@link LARGEST_OFFSET_SECONDS} beyond the bounds are included.
 */
export function localOffsets(column: TimestampColumn): readonly LocalOffset[] {
  const offsets = known.get(column) ?? computeOffsets(column)
  known.set(column, offsets)
  return offsets
}

function computeOffsets({
  timeZone,
  lowerIndex,
  upperIndex,
  stepNano,
}: TimestampColumn): readonly LocalOffset[] {
  const firstSecond = (lowerIndex * stepNano) / ONE_NANO - LARGEST_OFFSET_SECONDS
  const lastSecond = (upperIndex * stepNano) / ONE_NANO + LARGEST_OFFSET_SECONDS
  let here = Temporal.Instant.fromEpochMilliseconds(Number(firstSecond) * 1000).toZonedDateTimeISO(timeZone)
  const offsets: LocalOffset[] = [{ offsetSeconds: secondsOf(here) }]
  for (;;) {
    const next = here.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds > Number(lastSecond) * 1000) return offsets
    const [before, after] = [secondsOf(here), secondsOf(next)]
    // Before a change that skips time, the skipped times still belong to the offset before; before one that repeats
    // time, the first showing does.
    offsets.push({ from: next.epochMilliseconds / 1000 + Math.max(before, after), offsetSeconds: after })
    here = next
  }
}

function secondsOf({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return offsetNanoseconds / Number(ONE_NANO)
}
