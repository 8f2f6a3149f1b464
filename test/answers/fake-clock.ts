import type { Clock } from '../../src/answers/release-time.ts'

/** A clock that moves only when a test or a wait moves it. */
export interface FakeClock extends Clock {
  /** Moves the clock forward, as work that takes this long does. */
  readonly pass: (durationMs: number) => void
  /** The instants that were waited for, in order. */
  readonly waits: readonly number[]
}

/**
 * Creates a clock that shows `startMs`.
 * @param beforeWait runs before each wait that takes time, while the clock still shows the earlier instant
 */
export function createFakeClock(startMs = 0, beforeWait: () => Promise<void> = async () => {}): FakeClock {
  let now = startMs
  const waits: number[] = []
  return {
    nowMs: () => now,
    async waitUntil(instantMs) {
      if (instantMs <= now) return
      waits.push(instantMs)
      await beforeWait()
      now = instantMs
    },
    pass: (durationMs) => {
      now += durationMs
    },
    waits,
  }
}
