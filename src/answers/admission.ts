import { createLimiter, LimiterFull, LimiterTimeout, type Place } from '../concurrency/limiter.ts'
import type { Engine } from '../engines/engine.ts'
import { Refusal } from '../privacy/refusal.ts'

/** A caller who waits for a turn. */
export interface Waiter {
  readonly principal: string
  /** Aborted once the client has disconnected. Ends the wait. */
  readonly givenUp?: AbortSignal
}

/** The fair queue in front of the engine: one for the process, because all datasets share its threads. */
export interface Admission {
  /**
   * Waits for the principal's turn.
   * @throws Refusal `unavailable` if too many requests wait, the wait takes too long, or the client has disconnected.
   */
  enter(waiter: Waiter): Promise<Place>
  /** True if a request of the principal would have to wait. */
  mustWait(principal: string): boolean
  /** Notes that the flow of a request has begun; returns false if the same request is under way already. */
  begin(request: string): boolean
  /** Notes that the flow of a request has ended. */
  end(request: string): void
  /** The numbers of requests that hold a place and that wait for one. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** The limits of a queue. */
export interface AdmissionLimits {
  /** The number of requests that may be computed at the same time. */
  readonly places: number
  /** The number of requests that wait for a place. */
  readonly maxWaiting: number
  /** Time limit for a wait. */
  readonly maxWaitMs: number
  /** Receives how long each request waited for its place. */
  readonly onEntered?: (waitedMs: number) => void
}

/** An empty queue. */
export function createAdmission({ places, maxWaiting, maxWaitMs, onEntered }: AdmissionLimits): Admission {
  const limiter = createLimiter({ concurrency: places, maxWaiting, maxWaitMs })
  const underWay = new Set<string>()
  return {
    async enter({ principal, givenUp }) {
      const start = performance.now()
      try {
        const place = await limiter.enter({ turn: principal, signal: givenUp })
        onEntered?.(performance.now() - start)
        return place
      } catch (error) {
        if (givenUp?.aborted) throw disconnected()
        if (error instanceof LimiterFull) throw busy('Too many requests are waiting.')
        if (error instanceof LimiterTimeout) throw busy('The request waited too long for its turn.')
        throw error
      }
    },
    mustWait: limiter.mustWait,
    begin(request) {
      if (underWay.has(request)) return false
      underWay.add(request)
      return true
    },
    end: (request) => void underWay.delete(request),
    counts: () => ({ running: limiter.running(), waiting: limiter.waiting() }),
  }
}

/** Place of work that needs none. */
export const NO_PLACE: Place = { yield: async () => undefined, leave: () => undefined }

/** Admits everything at once, for callers whose engine takes turns itself (see {@link readingInTurns}). */
export const WITHOUT_QUEUE: Admission = {
  enter: async () => NO_PLACE,
  mustWait: () => false,
  begin: () => true,
  end: () => undefined,
  counts: () => ({ running: 0, waiting: 0 }),
}

/** An engine for work that is not charged: each of its reads takes one turn of the principal. */
export function readingInTurns(engine: Engine, admission: Admission, waiter: Waiter): Engine {
  const inTurn = async <Result>(read: () => Promise<Result>): Promise<Result> => {
    const place = await admission.enter(waiter)
    try {
      return await read()
    } finally {
      place.leave()
    }
  }
  return {
    ...engine,
    aggregate: (...asked) => inTurn(() => engine.aggregate(...asked)),
    countIndexes: (...asked) => inTurn(() => engine.countIndexes(...asked)),
    countIndexesInCells: (...asked) => inTurn(() => engine.countIndexesInCells(...asked)),
    countTexts: (...asked) => inTurn(() => engine.countTexts(...asked)),
  }
}

/** Refusal of a request whose client left before anything was charged. */
export function disconnected(): Refusal {
  return new Refusal('unavailable', 'The client disconnected before anything was charged.')
}

const RETRY_AFTER_SECONDS = 2

function busy(reason: string): Refusal {
  const detail = `${reason} Nothing was charged. Retry later.`
  return new Refusal('unavailable', detail, [], { retryAfterSeconds: RETRY_AFTER_SECONDS })
}
