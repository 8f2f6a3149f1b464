import { connectionOf, type Dataset } from '../core/dataset/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import {
  createLimiter,
  type Limiter,
  LimiterFull,
  LimiterTimeout,
  type Place,
} from '../platform/concurrency/limiter.ts'
import { Refusal } from '../privacy/refusal.ts'
import { periodOf } from './release-time.ts'

/** A request that waits for its turn. */
export interface TurnRequest {
  /** Principals alternate. */
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

/** Completes a request for a turn with the facts of its dataset. */
export function turnRequestOf(request: TurnRequest, dataset: Dataset): TurnRequest {
  return { ...request, periodMs: periodOf(dataset.timing), connection: connectionOf(dataset) }
}

/** The turn of one request: the right to be charged, and then to wait for a place at the engine. */
export interface Turn {
  /** Waits for a place at the engine, the right to compute. The request may be charged by then, so it is never refused. */
  takePlace(): Promise<void>
  /** Gives the place back, waits behind the other principals, and takes a place again. The request is never refused. */
  yieldPlace(): Promise<void>
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
  enter(request: TurnRequest): Promise<Turn>
  /**
   * The turn of a further part of a request that has had one: a place at its own engine, for which it waits and is never refused.
   * A request that held several turns while it waits for another could wait for ever, and would hold up other queues.
   */
  further(part: TurnRequest): Turn
  /** True if a request would have to wait. */
  mustWait(request: TurnRequest): boolean
  /** Notes that the flow of a request has begun; returns false if the same request is under way already. */
  begin(request: string): boolean
  /** Notes that the flow of a request has ended. */
  end(request: string): void
  /** Returns the number of requests that have a place at the engine, and the number that wait for a turn or a place. */
  counts(): { readonly running: number; readonly waiting: number }
}

/** The limits of each queue. */
export interface AdmissionLimits {
  /** The number of requests, or of scans that several requests share, that may be computed at the same time. */
  readonly places: number
  /** The largest number of requests that share a place. Default: 1. */
  readonly requestsPerPlace?: number
  /**
   * The number of requests that may have a turn: those that are being charged, wait for a place, are computed, or wait for
   * their record instant. More than there are places, so that the engine works while others are charged, and the ledger
   * commits charges in groups. Requests that can share a scan have turns of their own, at least as many as can be computed
   * at the same time.
   */
  readonly turns: number
  /** The number of requests that wait for a turn. */
  readonly maxWaiting: number
  /** Time limit for a wait. */
  readonly maxWaitMs: number
  /** Receives how long each request waited for its place. */
  readonly onEntered?: (waitedMs: number) => void
}

/** Creates an empty queue. See decision 34. */
export function createAdmission(limits: AdmissionLimits): Admission {
  const { onEntered = () => undefined } = limits
  const queues = new Map<string, Queue>()
  const queueOf = ({ periodMs, connection }: TurnRequest): Queue => {
    const name = JSON.stringify([periodMs, connection])
    const queue = queues.get(name) ?? createQueue(limits)
    queues.set(name, queue)
    return queue
  }
  /** Enters a place at the engine of a request that has waited for its turn. */
  const placeOf = (request: TurnRequest, waitedMs: number) => async () => {
    const { principal: owner, scan: group } = request
    const chargedAt = performance.now()
    const place = await queueOf(request).places.enter({ owner, group })
    onEntered(waitedMs + performance.now() - chargedAt)
    return place
  }
  const underWay = new Set<string>()
  return {
    async enter(request) {
      const { principal, givenUp } = request
      const start = performance.now()
      try {
        const turn = await turnsOf(queueOf(request), request).enter({ owner: principal, signal: givenUp })
        return turnWith(turn, placeOf(request, performance.now() - start))
      } catch (error) {
        if (givenUp?.aborted) throw disconnected()
        if (error instanceof LimiterFull) throw busy('Too many requests are waiting.')
        if (error instanceof LimiterTimeout) throw busy('The request waited too long for its turn.')
        throw error
      }
    },
    further: (part) => turnWith({ leave: () => undefined }, placeOf(part, 0)),
    mustWait: (request) => turnsOf(queueOf(request), request).mustWait(request.principal),
    begin(request) {
      if (underWay.has(request)) return false
      underWay.add(request)
      return true
    },
    end: (request) => void underWay.delete(request),
    counts: () =>
      [...queues.values()].reduce(
        ({ running, waiting }, { turns, turnsInScans, places }) => ({
          running: running + places.running(),
          waiting: waiting + turns.waiting() + turnsInScans.waiting() + places.waiting(),
        }),
        { running: 0, waiting: 0 },
      ),
  }
}

/** The requests of one connection, or of no connection, whose outcomes leave at the same intervals. */
interface Queue {
  /** Orders the debits. */
  readonly turns: Limiter
  /** Orders the debits of requests that can share a scan. They wait for less, so that many more of them have a turn. */
  readonly turnsInScans: Limiter
  /** Orders the computations. */
  readonly places: Limiter
}

function createQueue({ places, requestsPerPlace = 1, turns, maxWaiting, maxWaitMs }: AdmissionLimits): Queue {
  const waits = { maxWaiting, maxWaitMs }
  return {
    turns: createLimiter({ concurrency: turns, ...waits }),
    turnsInScans: createLimiter({ concurrency: Math.max(turns, places * requestsPerPlace), ...waits }),
    places: createLimiter({ concurrency: places, tasksPerPlace: requestsPerPlace }),
  }
}

function turnsOf({ turns, turnsInScans }: Queue, { scan }: TurnRequest): Limiter {
  return scan === undefined ? turns : turnsInScans
}

/** Creates the turn of a request that has entered. */
function turnWith(entered: Place, enterPlace: () => Promise<Place>): Turn {
  let place: Place | undefined
  return {
    async takePlace() {
      place ??= await enterPlace()
    },
    async yieldPlace() {
      place?.leave()
      place = await enterPlace()
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
  takePlace: async () => undefined,
  yieldPlace: async () => undefined,
  leavePlace: () => undefined,
  leave: () => undefined,
}

/** Admits everything at once, for callers whose engine takes turns itself (see {@link readingInTurns}). */
export const WITHOUT_QUEUE: Admission = {
  enter: async () => NO_TURN,
  further: () => NO_TURN,
  mustWait: () => false,
  begin: () => true,
  end: () => undefined,
  counts: () => ({ running: 0, waiting: 0 }),
}

/** An engine for work that is not charged: each of its reads takes one turn of the principal. */
export function readingInTurns(engine: Engine, admission: Admission, request: TurnRequest): Engine {
  const inTurn = async <Result>(dataset: Dataset, read: () => Promise<Result>): Promise<Result> => {
    const turn = await admission.enter({ ...request, connection: connectionOf(dataset) })
    try {
      await turn.takePlace()
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
