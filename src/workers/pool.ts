import { MessageChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../privacy/refusal.ts'
import type * as computations from './worker.ts'

type Computations = typeof computations

/** What is worked out off the event loop. */
export type ComputationName = keyof Computations

type Input<Name extends ComputationName> = Parameters<Computations[Name]>[0]['input']
type Output<Name extends ComputationName> = Extract<
  Awaited<ReturnType<Computations[Name]>>,
  { readonly result: unknown }
>['result']

/** How long a computation may take, and who waits for it. */
export interface ComputationTerms {
  /** From when it has a thread. */
  readonly timeoutMs: number
  /** Aborted once nobody waits any more. */
  readonly givenUp: AbortSignal
  /** Left out: nobody who could be told from others. */
  readonly principal?: string
  /** What a computation tells while it is under way. */
  readonly onProgress?: (progress: unknown) => void
}

/** Threads for what would hold up the event loop. A computation that takes too long, or that nobody waits for, is killed. */
export interface ComputationPool {
  /**
   * @throws Refusal `unavailable` at once, where too many others wait or the principal has enough under way.
   * @returns what was worked out; or rejects with the Refusal of the computation itself, or one that is `unavailable` where it
   * took too long or too much memory, never had its turn, nobody waits for it any more, or the service stops.
   */
  run<Name extends ComputationName>(
    name: Name,
    input: Input<Name>,
    terms: ComputationTerms,
  ): Promise<Output<Name>>
  /** Kills what is under way, and takes no more. */
  close(): Promise<void>
}

/** What a pool may take on. */
export interface PoolLimits {
  /** How many computations run together. */
  readonly threads: number
  /** How many wait for their turn, and for how long. */
  readonly mostWaiting: number
  readonly waitMs: number
  /** How many of one principal may run or wait. */
  readonly mostOfPrincipal: number
}

const LARGEST_HEAP_MEGABYTES = 512
const IDLE_MS = 60_000

export function openComputationPool(limits: PoolLimits): ComputationPool {
  const { threads, mostWaiting, waitMs, mostOfPrincipal } = limits
  const pool = new Piscina({
    filename: new URL('./worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP_MEGABYTES },
  })
  // A thread that dies without a computation, such as one that cannot start: whoever waits for it is told in time.
  pool.on('error', () => undefined)
  const turns = createTurns(threads)
  const closing = new AbortController()
  const underWayOf = new Map<string, number>()

  function begin(principal: string | undefined): void {
    if (closing.signal.aborted) throw stopping()
    if (turns.waiting() >= mostWaiting) throw busy('Too many computations are waiting.')
    if (principal === undefined) return
    const underWay = underWayOf.get(principal) ?? 0
    if (underWay >= mostOfPrincipal) throw busy(`You have ${underWay} computations under way.`)
    underWayOf.set(principal, underWay + 1)
  }

  function end(principal: string | undefined): void {
    if (principal === undefined) return
    const underWay = (underWayOf.get(principal) ?? 0) - 1
    if (underWay > 0) underWayOf.set(principal, underWay)
    else underWayOf.delete(principal)
  }

  async function compute<Name extends ComputationName>(
    name: Name,
    input: Input<Name>,
    { timeoutMs, givenUp, principal, onProgress }: ComputationTerms,
  ): Promise<Output<Name>> {
    const { port1: receiver, port2: progress } = new MessageChannel()
    const limit = new AbortController()
    let timer = setTimeout(() => limit.abort(neverBegun(waitMs)), waitMs)
    receiver.on('message', (told: computations.WorkerMessage) => {
      if (told.kind === 'progress') return onProgress?.(told.progress)
      clearTimeout(timer)
      timer = setTimeout(() => limit.abort(tookTooLong(timeoutMs)), timeoutMs)
    })
    const signal = AbortSignal.any([limit.signal, givenUp, closing.signal])
    let hasTurn = false
    try {
      await turns.take(signal)
      hasTurn = true
      const outcome: Awaited<ReturnType<Computations[Name]>> = await pool.run(
        { input, progress },
        { name, signal, transferList: [progress] },
      )
      if ('refused' in outcome) throw new Refusal(...outcome.refused)
      return outcome.result as Output<Name>
    } catch (error) {
      if (error instanceof Refusal) throw error
      if (limit.signal.aborted) throw limit.signal.reason
      if (givenUp.aborted) throw new Refusal('unavailable', 'The request was given up before it was done.')
      if (closing.signal.aborted) throw stopping()
      throw isOutOfMemory(error) ? tookTooMuch() : error
    } finally {
      if (hasTurn) turns.give()
      clearTimeout(timer)
      receiver.close()
      end(principal)
    }
  }

  return {
    run(name, input, terms) {
      begin(terms.principal)
      return compute(name, input, terms)
    },
    async close() {
      closing.abort()
      await pool.destroy()
    },
  }
}

/** As many turns as there are threads, given in the order in which they are asked for. */
interface Turns {
  /** Resolves when it is one's turn, or rejects once the signal is aborted. */
  take(signal: AbortSignal): Promise<void>
  /** One's turn is over. */
  give(): void
  waiting(): number
}

/**
 * The queue is here and not Piscina's: that one stands still when a thread is killed, as nothing starts another until the next
 * computation is asked for.
 */
function createTurns(threads: number): Turns {
  let free = threads
  const waiting = new Set<() => void>()
  return {
    waiting: () => waiting.size,
    async take(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free -= 1
        return
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const leave = () => {
        waiting.delete(resolve)
        reject(signal.reason)
      }
      waiting.add(resolve)
      signal.addEventListener('abort', leave, { once: true })
      await promise.finally(() => signal.removeEventListener('abort', leave))
    },
    give() {
      const [next] = waiting
      if (next === undefined) free += 1
      else {
        waiting.delete(next)
        next()
      }
    },
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function busy(reason: string): Refusal {
  return new Refusal('unavailable', `${reason} Ask again later.`, [], { retryAfterSeconds: 1 })
}

function neverBegun(waitMs: number): Refusal {
  return busy(`The computation had not begun after ${waitMs / 1_000} s, as others take their time.`)
}

function tookTooLong(timeoutMs: number): Refusal {
  const detail = `The computation took longer than ${timeoutMs / 1_000} s and was stopped. Ask for less.`
  return new Refusal('unavailable', detail)
}

function tookTooMuch(): Refusal {
  return new Refusal('unavailable', 'The computation needed too much memory and was stopped. Ask for less.')
}

function stopping(): Refusal {
  return new Refusal('unavailable', 'The service is stopping. Ask again later.')
}
