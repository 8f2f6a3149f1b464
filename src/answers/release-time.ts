import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Timing } from '../core/dataset/dataset.ts'

/**
 * Precision of a wait. `timer`: up to 2 ms late, depending on when the wait began. `exact`: polls for the last 2 ms, which
 * costs about 1 ms of processor time.
 */
type Precision = 'timer' | 'exact'

/** Monotonic clock. Tests replace it. */
export interface Clock {
  /** Milliseconds since a fixed moment. */
  readonly nowMs: () => number
  /** Resolves once the clock shows an instant. */
  readonly waitUntil: (instantMs: number, precision: Precision) => Promise<void>
}

/** Clock of the process. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  async waitUntil(instantMs, precision) {
    for (let leftMs = instantMs - performance.now(); leftMs > 0; leftMs = instantMs - performance.now()) {
      // Timers round to 1 ms, and may end early.
      if (precision === 'timer') await setTimeout(Math.ceil(leftMs))
      else if (leftMs < 2) await setImmediate()
      else await setTimeout(Math.floor(leftMs) - 1)
    }
  },
}

/** The arrival of a request whose outcome may depend on data, and the timing of its dataset. */
export interface Timed {
  readonly timing: Timing
  /** Instant at which the whole request, with its body, had arrived. */
  readonly arrivedAtMs: number
}

/**
 * Runs a task and settles as it does, at the first release instant after it. The task must await `recordInstant` before
 * it records an outcome: an analyst who polls for the outcome would otherwise learn when the computation ended. The wait
 * uses no connection and no place in a queue. See decision 35.
 * @returns the task's result; rejects with the task's error.
 */
export async function releaseInTime<Result>(
  clock: Clock,
  { timing, arrivedAtMs }: Timed,
  task: (recordInstant: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const periodMs = periodOf(timing)
  if (periodMs === undefined) return task(async () => undefined)
  try {
    return await task(() => clock.waitUntil(nextRecordMs(periodMs, arrivedAtMs, clock.nowMs()), 'timer'))
  } finally {
    const precision = timing !== 'off' && 'deadlineMs' in timing ? 'exact' : 'timer'
    await clock.waitUntil(nextReleaseMs(periodMs, arrivedAtMs, clock.nowMs()), precision)
  }
}

/** Returns the first release instant that is not before now: a whole number of periods, at least one, after the arrival. */
export function nextReleaseMs(periodMs: number, arrivedAtMs: number, nowMs: number): number {
  return arrivedAtMs + periodMs * Math.max(1, Math.ceil((nowMs - arrivedAtMs) / periodMs))
}

/** Returns the first record instant that is not before now. It precedes a release instant by a fixed time. */
export function nextRecordMs(periodMs: number, arrivedAtMs: number, nowMs: number): number {
  const marginMs = recordMarginMs(periodMs)
  return nextReleaseMs(periodMs, arrivedAtMs, nowMs + marginMs) - marginMs
}

/** Returns the time for making an outcome durable before its release. An outcome that takes longer waits another period. */
export function recordMarginMs(periodMs: number): number {
  return Math.min(20, periodMs / 4)
}

/** Returns the longest time for which the release of an outcome is delayed, if recording it takes less than a period. */
export function longestDelayMs(timing: Timing): number {
  return 2 * (periodOf(timing) ?? 0)
}

/** Returns the period, the time between two release instants; `undefined` if outcomes are released at once. */
export function periodOf(timing: Timing): number | undefined {
  if (timing === 'off') return undefined
  return 'slotMs' in timing ? timing.slotMs : timing.deadlineMs
}

/** Returns the timing with the longest period. */
export function longestOf(timings: readonly Timing[]): Timing {
  return timings.reduce((one, other) => ((periodOf(other) ?? 0) > (periodOf(one) ?? 0) ? other : one))
}

/** Rounds a time (ISO 8601) down to a multiple of the period of a timing, as it is shown to analysts. */
export function shownTime(at: string, timing: Timing): string {
  const periodMs = periodOf(timing) ?? 1
  return new Date(Math.floor(Date.parse(at) / periodMs) * periodMs).toISOString()
}
