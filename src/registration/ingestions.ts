import type { Catalog } from '../catalog/catalog.ts'
import type { Workspace } from '../catalog/workspace.ts'
import { createLimiter, LimiterFull, LimiterTimeout } from '../concurrency/limiter.ts'
import { Refusal } from '../privacy/refusal.ts'

/** An ingestion to run. */
export interface IngestionTerms {
  /** Aborted once the client has disconnected. */
  readonly givenUp: AbortSignal | undefined
  /** True once the dataset has changed so that the result can no longer be published. */
  readonly isOvertaken: () => boolean
}

/** An ingestion under way. */
export interface RunningIngestion {
  readonly workspace: Workspace
  /** Aborted, with a refusal as its reason, when the ingestion must stop for any reason. */
  readonly signal: AbortSignal
}

/** Runs the ingestions of one process: a few at a time, each in a workspace of its own, within a time limit. */
export interface Ingestions {
  /**
   * Runs a task once it has a place, and removes its workspace afterwards.
   * @throws Refusal `unavailable` if too many ingestions wait, the client has left or the service stops;
   * `ingestion-too-long` after the time limit; `dataset-changed` if the dataset has changed meanwhile.
   */
  run<Result>(terms: IngestionTerms, task: (ingestion: RunningIngestion) => Promise<Result>): Promise<Result>
  /** Stops the ingestions whose dataset has changed. Called after every change of the catalog. */
  stopOvertaken(): void
  /** Stops all ingestions, refuses new ones, and resolves once none runs. */
  close(): Promise<void>
}

/** Options of {@link createIngestions}. */
export interface IngestionOptions {
  readonly catalog: Pick<Catalog, 'workspace'>
  /** Time limit for an ingestion, and for the wait before it. */
  readonly timeLimitMs: number
}

/** The number of ingestions that run at a time. Each may use the whole memory limit of an ingestion. */
const MAX_RUNNING = 2
/** The number of ingestions that wait for a place. */
const MAX_WAITING = 20

/** Creates the ingestions of one process. */
export function createIngestions({ catalog, timeLimitMs }: IngestionOptions): Ingestions {
  const limiter = createLimiter({
    concurrency: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    maxWaitMs: timeLimitMs,
  })
  const closing = new AbortController()
  const underWay = new Map<AbortController, IngestionTerms['isOvertaken']>()

  const runInPlace = async <Result>(
    leaving: AbortSignal,
    isOvertaken: IngestionTerms['isOvertaken'],
    task: (ingestion: RunningIngestion) => Promise<Result>,
  ): Promise<Result> => {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(tooLong(timeLimitMs)), timeLimitMs)
    const overtaken = new AbortController()
    underWay.set(overtaken, isOvertaken)
    const signal = AbortSignal.any([leaving, limit.signal, closing.signal, overtaken.signal])
    try {
      signal.throwIfAborted()
      const workspace = await catalog.workspace(timeLimitMs)
      try {
        return await task({ workspace, signal })
      } finally {
        await workspace.remove()
      }
    } catch (error) {
      // An interrupted step fails with an error of its own.
      signal.throwIfAborted()
      throw error
    } finally {
      clearTimeout(timer)
      underWay.delete(overtaken)
    }
  }

  return {
    async run({ givenUp, isOvertaken }, task) {
      const leaving = signalOf(givenUp, disconnected)
      const signal = AbortSignal.any([leaving, closing.signal])
      const place = await limiter.enter({ signal }).catch((error: unknown) => {
        throw isBusy(error) ? busy() : error
      })
      try {
        return await runInPlace(leaving, isOvertaken, task)
      } finally {
        place.leave()
      }
    },
    stopOvertaken() {
      for (const [overtaken, isOvertaken] of underWay) if (isOvertaken()) overtaken.abort(changedMeanwhile())
    },
    async close() {
      closing.abort(stopping())
      await limiter.idle()
    },
  }
}

/** Returns a signal that follows another one with a reason of its own. */
function signalOf(signal: AbortSignal | undefined, reason: () => Refusal): AbortSignal {
  const controller = new AbortController()
  if (signal?.aborted) controller.abort(reason())
  else signal?.addEventListener('abort', () => controller.abort(reason()), { once: true })
  return controller.signal
}

function isBusy(error: unknown): boolean {
  return error instanceof LimiterFull || error instanceof LimiterTimeout
}

function busy(): Refusal {
  return new Refusal('unavailable', 'Too many ingestions are waiting. Retry later.', [], {
    retryAfterSeconds: 60,
  })
}

function disconnected(): Refusal {
  return new Refusal('unavailable', 'The client disconnected. The ingestion was stopped.')
}

function stopping(): Refusal {
  return new Refusal('unavailable', 'The service is stopping. The ingestion was stopped.', [], {
    retryAfterSeconds: 60,
  })
}

function tooLong(timeLimitMs: number): Refusal {
  return new Refusal(
    'ingestion-too-long',
    `The source was not ingested within ${timeLimitMs / 1_000} s, the limit of this service. Nothing was registered.`,
    [{ field: 'source', rule: `must be ingested within ${timeLimitMs / 1_000} s` }],
  )
}

/** Refusal of an ingestion whose dataset was changed by another request. */
export function changedMeanwhile(): Refusal {
  return new Refusal(
    'dataset-changed',
    'Another request changed the dataset while its source was ingested. Nothing was published.',
  )
}
