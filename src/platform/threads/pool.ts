import { MessageChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Refusal } from '../../privacy/refusal.ts'
import { createLimiter, LimiterFull } from '../concurrency/limiter.ts'
import type { Call, Outcome, WorkerMessage } from './computation.ts'

/** The module that a thread loads: each export is a computation. */
export type Computations = Readonly<Record<string, (call: Call<never>) => Promise<Outcome<unknown>>>>

type Input<Computation> = Computation extends (call: Call<infer Given>) => unknown ? Given : never
type Output<Computation> = Computation extends (call: never) => Promise<Outcome<infer Result>>
  ? Result
  : never

/** The terms of one computation. */
export interface ComputationTerms {
  /** Time limit, counted from when the computation begins in its thread. */
  readonly timeoutMs: number
  /** Aborted once the client has disconnected. */
  readonly givenUp: AbortSignal
  /**
   * The principal whose computations are counted and take turns with others'; absent for requests without a key, which
   * take turns together.
   */
  readonly principal?: string
  /** Receives the progress reports of the computation. */
  readonly onProgress?: (progress: unknown) => void
}

/** Threads for computations that would block the event loop. A thread is killed when its computation must stop. */
export interface ComputationPool<Entry> {
  /**
   * Runs a computation in a thread.
   * @throws Refusal of the computation itself; or `unavailable` if too many computations wait, the principal has too many
   * under way, the computation waited too long for a thread, took too long or needed too much memory, the client has
   * disconnected, or the service stops.
   */
  run<Name extends keyof Entry & string>(
    name: Name,
    input: Input<Entry[Name]>,
    terms: ComputationTerms,
  ): Promise<Output<Entry[Name]>>
  /** Stops every computation, and accepts no more. */
  close(): Promise<void>
}

/** The limits of a pool. */
export interface PoolLimits {
  /** The number of computations that run at the same time. */
  readonly threads: number
  /** The number of computations that wait for a thread. */
  readonly maxWaiting: number
  /** Time limit for the wait. */
  readonly waitMs: number
  /** The number of computations that one principal has running or waiting. */
  readonly maxPerPrincipal: number
}

const MAX_HEAP_MEGABYTES = 512
/** Time after which a thread without work ends. */
const IDLE_MS = 60_000

/** Time within which a thread must start. */
const START_MS = 60_000

/** Owner of the requests without a key. No principal has this name. */
const KEYLESS = ''

/**
 * Opens a pool without threads; they start when they are needed. See decision 19.
 * @param entry the module that each thread loads, whose exports are computations
 */
export function openComputationPool<Entry extends Computations>(
  entry: URL,
  limits: PoolLimits,
): ComputationPool<Entry> {
  const { threads, maxWaiting, waitMs, maxPerPrincipal } = limits
  const pool = new Piscina({
    filename: entry.href,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MEGABYTES },
  })
  // A thread that fails outside of a computation, such as one that cannot start. The time limit of the wait applies.
  pool.on('error', () => undefined)
  // Piscina's own queue is not used: after a thread was killed, it stands still until another computation is added.
  const limiter = createLimiter({ concurrency: threads, maxWaiting })
  const principals = countPrincipals(maxPerPrincipal)
  const closing = new AbortController()

  async function compute<Name extends keyof Entry & string>(
    name: Name,
    input: Input<Entry[Name]>,
    { timeoutMs, givenUp, principal = KEYLESS, onProgress }: ComputationTerms,
  ): Promise<Output<Entry[Name]>> {
    const { port1: receiver, port2: progress } = new MessageChannel()
    const limit = new AbortController()
    let timer = setTimeout(() => limit.abort(waitedTooLong(waitMs)), waitMs)
    receiver.on('message', (message: WorkerMessage) => {
      if (message.kind === 'progress') return onProgress?.(message.progress)
      if (message.kind === 'damaged') return limit.abort(new Refusal(...message.refused))
      clearTimeout(timer)
      timer = setTimeout(() => limit.abort(tookTooLong(timeoutMs)), timeoutMs)
    })
    const signal = AbortSignal.any([limit.signal, givenUp, closing.signal])
    try {
      const outcome: Outcome<Output<Entry[Name]>> = await limiter.run(
        () => {
          // A thread that is ended while it starts lets the next one begin anew: on a slow machine none would ever run.
          clearTimeout(timer)
          timer = setTimeout(() => limit.abort(waitedTooLong(START_MS)), START_MS)
          return pool.run({ input, progress }, { name, signal, transferList: [progress] })
        },
        { owner: principal, signal },
      )
      if ('refused' in outcome) throw new Refusal(...outcome.refused)
      return outcome.result
    } catch (error) {
      if (error instanceof Refusal) throw error
      if (error instanceof LimiterFull) throw busy('Too many computations are waiting.')
      if (limit.signal.aborted) throw limit.signal.reason
      if (givenUp.aborted)
        throw new Refusal('unavailable', 'The client disconnected before the computation was done.')
      if (closing.signal.aborted) throw stopping()
      if (!isOutOfMemory(error)) throw error
      const detail = 'The computation needed too much memory and was stopped. Send a smaller request.'
      throw new Refusal('unavailable', detail)
    } finally {
      clearTimeout(timer)
      receiver.close()
    }
  }

  return {
    async run(name, input, terms) {
      if (closing.signal.aborted) throw stopping()
      principals.add(terms.principal)
      try {
        return await compute(name, input, terms)
      } finally {
        principals.remove(terms.principal)
      }
    },
    async close() {
      closing.abort()
      await pool.destroy()
    },
  }
}

/** Counts the computations of each principal. Computations without a principal are not counted. */
function countPrincipals(maxPerPrincipal: number) {
  const counts = new Map<string, number>()
  return {
    /** @throws Refusal `unavailable` if the principal has `maxPerPrincipal` already. */
    add(principal: string | undefined): void {
      if (principal === undefined) return
      const count = counts.get(principal) ?? 0
      if (count >= maxPerPrincipal) throw busy(`You have ${count} computations under way.`)
      counts.set(principal, count + 1)
    },
    remove(principal: string | undefined): void {
      if (principal === undefined) return
      const count = (counts.get(principal) ?? 0) - 1
      if (count > 0) counts.set(principal, count)
      else counts.delete(principal)
    },
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function busy(reason: string): Refusal {
  return new Refusal('unavailable', `${reason} Retry later.`, [], { retryAfterSeconds: 1 })
}

function waitedTooLong(waitMs: number): Refusal {
  return busy(
    `The computation did not start within ${waitMs / 1_000} s, because other computations are running.`,
  )
}

function tookTooLong(timeoutMs: number): Refusal {
  const detail = `The computation took longer than ${timeoutMs / 1_000} s and was stopped. Send a smaller request.`
  return new Refusal('unavailable', detail)
}

function stopping(): Refusal {
  return new Refusal('unavailable', 'The service is stopping. Retry later.')
}
