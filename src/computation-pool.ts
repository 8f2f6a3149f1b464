import { MessageChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type * as computations from './computation-worker.ts'
import { Refusal } from './privacy/refusal.ts'

type Computations = typeof computations

/** What is worked out off the event loop. */
export type ComputationName = keyof Computations

type Input<Name extends ComputationName> = Parameters<Computations[Name]>[0]['input']
type Output<Name extends ComputationName> = Extract<
  Awaited<ReturnType<Computations[Name]>>,
  { readonly result: unknown }
>['result']

/** How long a computation may take, and whether anybody waits for it. */
export interface ComputationTerms {
  readonly timeoutMs: number
  /** Aborted once nobody waits any more. */
  readonly givenUp: AbortSignal
  /** What a computation tells while it is under way. */
  readonly onProgress?: (progress: unknown) => void
}

/** Threads for what would hold up the event loop. A computation that takes too long, or that nobody waits for, is killed. */
export interface ComputationPool {
  /**
   * @throws Refusal of the computation itself; `unavailable` where too many others wait, it took too long, or nobody
   * waits for it any more.
   */
  run<Name extends ComputationName>(
    name: Name,
    input: Input<Name>,
    terms: ComputationTerms,
  ): Promise<Output<Name>>
  /** Kills what is under way. */
  close(): Promise<void>
}

const LARGEST_HEAP_MEGABYTES = 512
const IDLE_MS = 60_000

/** How many computations may run together, and wait for their turn. */
export interface PoolSize {
  readonly threads: number
  readonly mostWaiting: number
}

export function openComputationPool({ threads, mostWaiting }: PoolSize): ComputationPool {
  const pool = new Piscina({
    filename: new URL('./computation-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: threads,
    maxQueue: mostWaiting,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP_MEGABYTES },
  })
  return {
    async run(name, input, { timeoutMs, givenUp, onProgress }) {
      if (pool.queueSize >= mostWaiting) throw busy()
      const timeout = AbortSignal.timeout(timeoutMs)
      const { port1: receiver, port2: progress } = new MessageChannel()
      if (onProgress !== undefined) receiver.on('message', onProgress)
      try {
        const outcome: Awaited<ReturnType<Computations[typeof name]>> = await pool.run(
          { input, progress },
          { name, signal: AbortSignal.any([timeout, givenUp]), transferList: [progress] },
        )
        if ('refused' in outcome) throw new Refusal(...outcome.refused)
        return outcome.result as Output<typeof name>
      } catch (error) {
        if (timeout.aborted) throw tookTooLong(timeoutMs)
        if (givenUp.aborted) throw new Refusal('unavailable', 'The request was given up before it was done.')
        throw error
      } finally {
        receiver.close()
      }
    },
    close: () => pool.destroy(),
  }
}

function busy(): Refusal {
  const detail = 'Too many computations are waiting. Ask again later.'
  return new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
}

function tookTooLong(timeoutMs: number): Refusal {
  const detail = `The computation took longer than ${timeoutMs / 1000} s and was stopped. Ask for less.`
  return new Refusal('unavailable', detail)
}
