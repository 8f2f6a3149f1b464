import { connectionOf, type Dataset } from '../catalog/dataset.ts'
import {
  createLimiter,
  type Limiter,
  LimiterFull,
  LimiterTimeout,
  type Place,
} from '../concurrency/limiter.ts'
import { createSharedPlaces, type Seat, type SharedPlaces } from '../concurrency/shared-places.ts'
import type { Engine } from '../engines/engine.ts'
import { Refusal } from '../privacy/refusal.ts'

/** A caller who waits for a turn. */
export interface Waiter {
  readonly principal: string
  /** Time between the release instants of the outcome; absent if it leaves at once. */
  readonly periodMs?: number | undefined
  /** Name of the connection whose database computes the request; absent if the service has ingested the rows. */
  readonly connection?: string | undefined
  /** Aborted once the client has disconnected. Ends the wait. */
  readonly givenUp?: AbortSignal | undefined
  /**
   * Name of the scan that computes the request, if others can share it ({@link Engine.scanOf}). Requests with the same name
   * that wait at the same time share a place.
   */
  readonly scan?: string | undefined
}

/** The turn of one request. */
export interface Turn {
  /** Waits for a place at the engine. The request may be charged by then, so it is never refused. */
  begin(): Promise<void>
  /** Yields to other principals that wait, and then takes a place again. The request is never refused. */
  yield(): Promise<void>
  /** Gives the place at the engine back, because everything is computed. The turn goes on. */
  leavePlace(): void
  /**
   * Ends the turn; does nothing the second time. A request that has read data ends its turn at a record instant: the next
   * request of the queue is charged then, and analysts see the debit.
   */
  leave(): void
}

/**
 * The fair queue in front of the engine. Requests whose outcomes leave at other intervals have a queue of their own: a
 * request that leaves at once, or in shorter slots, would otherwise show when a computation of another dataset ended. So do
 * requests of each connection: a database that stalls holds up its own datasets only.
 */
export interface Admission {
  /**
   * Waits for the principal's turn. The caller may charge the request then.
   * @throws Refusal `unavailable` if too many requests wait, the wait takes too long, or the client has disconnected.
   */
  enter(waiter: Waiter): Promise<Turn>
  /** True if a request would have to wait. */
  mustWait(waiter: Waiter): boolean
  /** Notes that the flow of a request has begun; returns false if the same request is under way already. */
  begin(request: string): boolean
  /** Notes that the flow of a request has ended. */
  end(request: string): void
  /** Returns the number of requests that hold a place at the engine, and the number that wait for a turn or a place. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** The limits of each queue. */
export interface AdmissionLimits {
  /** The number of requests, or of scans that several requests share, that may be computed at the same time. */
  readonly places: number
  /** The largest number of requests that share a scan. Default: 1. */
  readonly seats?: number
  /**
   * The number of requests that may have a turn: those that are being charged, wait for a place, are computed, or wait for
   * their record instant. More than there are places, so that the engine works while others are charged, and the ledger
   * commits charges in groups. Requests that can share a scan have turns of their own, at least as many as there are seats
   * at all places.
   */
  readonly turns: number
  /** The number of requests that wait for a turn. */
  readonly maxWaiting: number
  /** Time limit for a wait. */
  readonly maxWaitMs: number
  /** Receives how long each request waited for its place. */
  readonly onEntered?: (waitedMs: number) => void
}

/** Creates an empty queue. */
export function createAdmission(limits: AdmissionLimits): Admission {
  const { onEntered = () => undefined } = limits
  const queues = new Map<string, Queue>()
  const queueOf = ({ periodMs, connection }: Waiter): Queue => {
    const name = JSON.stringify([periodMs, connection])
    const queue = queues.get(name) ?? createQueue(limits)
    queues.set(name, queue)
    return queue
  }
  const underWay = new Set<string>()
  return {
    async enter(waiter) {
      const { principal, givenUp, scan } = waiter
      const { engine, scans, ...queue } = queueOf(waiter)
      const start = performance.now()
      try {
        const entered = await entranceOf(queue, waiter).enter({ turn: principal, signal: givenUp })
        const waitedMs = performance.now() - start
        const takePlace = async () => {
          const chargedAt = performance.now()
          const place = await (scan === undefined
            ? engine.enter({ turn: principal })
            : scans.enter(scan, principal))
          onEntered(waitedMs + performance.now() - chargedAt)
          return place
        }
        return turnOf(entered, takePlace)
      } catch (error) {
        if (givenUp?.aborted) throw disconnected()
        if (error instanceof LimiterFull) throw busy('Too many requests are waiting.')
        if (error instanceof LimiterTimeout) throw busy('The request waited too long for its turn.')
        throw error
      }
    },
    mustWait: (waiter) => entranceOf(queueOf(waiter), waiter).mustWait(waiter.principal),
    begin(request) {
      if (underWay.has(request)) return false
      underWay.add(request)
      return true
    },
    end: (request) => void underWay.delete(request),
    counts: () =>
      [...queues.values()].reduce(
        ({ running, waiting }, { entrance, sharedEntrance, engine, scans }) => ({
          running: running + engine.running() + scans.guests(),
          waiting: waiting + entrance.waiting() + sharedEntrance.waiting() + engine.waiting(),
        }),
        { running: 0, waiting: 0 },
      ),
  }
}

/** The requests of one connection, or of no connection, whose outcomes leave at the same intervals. */
interface Queue {
  /** Orders the debits. */
  readonly entrance: Limiter
  /** Orders the debits of requests that can share a scan. */
  readonly sharedEntrance: Limiter
  /** Orders the computations. */
  readonly engine: Limiter
  /** The places of `engine` for requests that can share a scan. */
  readonly scans: SharedPlaces
}

function createQueue({ places, seats = 1, turns, maxWaiting, maxWaitMs }: AdmissionLimits): Queue {
  const engine = createLimiter({ concurrency: places })
  return {
    entrance: createLimiter({ concurrency: turns, maxWaiting, maxWaitMs }),
    sharedEntrance: createLimiter({ concurrency: Math.max(turns, places * seats), maxWaiting, maxWaitMs }),
    engine,
    scans: createSharedPlaces(engine, seats),
  }
}

/** Requests that can share a scan wait for less, so that many more of them may be charged at a time. */
function entranceOf(
  { entrance, sharedEntrance }: Pick<Queue, 'entrance' | 'sharedEntrance'>,
  { scan }: Waiter,
): Limiter {
  return scan === undefined ? entrance : sharedEntrance
}

/** Creates the turn of a request that has entered. */
function turnOf(entered: Place, takePlace: () => Promise<Seat>): Turn {
  let place: Seat | undefined
  return {
    async begin() {
      place ??= await takePlace()
    },
    async yield() {
      place?.leave()
      place = await takePlace()
    },
    leavePlace() {
      place?.leave()
    },
    leave() {
      place?.leave()
      entered.leave()
    },
  }
}

/** Turn of work that needs none. */
export const NO_TURN: Turn = {
  begin: async () => undefined,
  yield: async () => undefined,
  leavePlace: () => undefined,
  leave: () => undefined,
}

/** Admits everything at once, for callers whose engine takes turns itself (see {@link readingInTurns}). */
export const WITHOUT_QUEUE: Admission = {
  enter: async () => NO_TURN,
  mustWait: () => false,
  begin: () => true,
  end: () => undefined,
  counts: () => ({ running: 0, waiting: 0 }),
}

/** An engine for work that is not charged: each of its reads takes one turn of the principal. */
export function readingInTurns(engine: Engine, admission: Admission, waiter: Waiter): Engine {
  const inTurn = async <Result>(dataset: Dataset, read: () => Promise<Result>): Promise<Result> => {
    const turn = await admission.enter({ ...waiter, connection: connectionOf(dataset) })
    try {
      await turn.begin()
      return await read()
    } finally {
      turn.leave()
    }
  }
  return {
    ...engine,
    aggregate: (...asked) => inTurn(asked[0], () => engine.aggregate(...asked)),
    countIndexes: (...asked) => inTurn(asked[0], () => engine.countIndexes(...asked)),
    countIndexesInCells: (...asked) => inTurn(asked[0], () => engine.countIndexesInCells(...asked)),
    countTexts: (...asked) => inTurn(asked[0], () => engine.countTexts(...asked)),
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
