import { randomUUID } from 'node:crypto'
import type { IngestionProgress } from '../../engines/duckdb/ingestion/progress.ts'
import { createLimiter, LimiterFull, LimiterTimeout } from '../../platform/concurrency/limiter.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Workspace } from '../catalog/workspace.ts'

/** Purpose of an ingestion. */
export interface IngestionPurpose {
  /** Id of the dataset. It need not be registered yet. */
  readonly dataset: string
  readonly kind: 'registration' | 'version'
  /** True if nothing will be published. */
  readonly dryRun: boolean
  /** Name of the custodian who asked for it. */
  readonly principal: string
}

/** Progress of an ingestion. It depends on data: only custodians of the dataset may see it. */
export interface ReportedProgress {
  /** `wait`: other ingestions run; `copy`: the source is copied; for the others see {@link IngestionProgress}. */
  readonly phase: 'wait' | 'copy' | IngestionProgress['phase']
  /** Part of the phase that is done, from 0 to 1, where it is known. */
  readonly fraction?: number
}

/** An ingestion that waits or runs. */
export interface ListedIngestion extends IngestionPurpose, ReportedProgress {
  readonly id: string
  /** Time of the request in UTC. */
  readonly startedAt: string
}

/** An ingestion to run. */
export interface IngestionTerms {
  readonly purpose: IngestionPurpose
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
  /** Receives the progress that {@link Ingestions.list} shows. */
  readonly onProgress: (progress: ReportedProgress) => void
  /**
   * Ends the time in which the ingestion can be stopped. Called just before the publication.
   * @throws the reason of the signal if it is aborted already.
   */
  beginPublication(): void
}

/** Runs the ingestions of one process: a few at a time, each in a workspace of its own, within a time limit. */
export interface Ingestions {
  /**
   * Runs a task once it has a place, and removes its workspace afterwards.
   * @throws Refusal `unavailable` if too many ingestions wait, the client has left or the service stops;
   * `ingestion-too-long` after the time limit; `dataset-changed` if the dataset has changed meanwhile;
   * `ingestion-stopped` if a custodian stopped it.
   */
  run<Result>(terms: IngestionTerms, task: (ingestion: RunningIngestion) => Promise<Result>): Promise<Result>
  /** Ingestions that wait or run and can still be stopped, newest first. */
  list(): readonly ListedIngestion[]
  /**
   * Stops an ingestion, so that nothing of it is published.
   * @returns false if none with this id can be stopped
   */
  stop(id: string): boolean
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
  const underWay = new Map<string, UnderWay>()

  const runInPlace = async <Result>(
    stoppable: AbortSignal,
    { onProgress, settle }: { readonly onProgress: RunningIngestion['onProgress']; settle(): void },
    task: (ingestion: RunningIngestion) => Promise<Result>,
  ): Promise<Result> => {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(tooLong(timeLimitMs)), timeLimitMs)
    const signal = AbortSignal.any([stoppable, limit.signal])
    const beginPublication = () => {
      signal.throwIfAborted()
      settle()
    }
    try {
      signal.throwIfAborted()
      onProgress({ phase: 'copy' })
      const workspace = await catalog.workspace(timeLimitMs)
      try {
        return await task({ workspace, signal, onProgress, beginPublication })
      } finally {
        await workspace.remove()
      }
    } catch (error) {
      // An interrupted step fails with an error of its own.
      signal.throwIfAborted()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async run({ purpose, givenUp, isOvertaken }, task) {
      const id = randomUUID().replaceAll('-', '')
      const stopping = new AbortController()
      const facts = { id, ...purpose, startedAt: new Date().toISOString() }
      const ingestion: UnderWay = { facts, progress: { phase: 'wait' }, isOvertaken, stopping }
      const leaving = signalOf(givenUp, disconnected)
      const signal = AbortSignal.any([leaving, closing.signal, stopping.signal])
      underWay.set(id, ingestion)
      try {
        const place = await limiter.enter({ signal }).catch((error: unknown) => {
          throw isBusy(error) ? busy() : error
        })
        const onProgress = (progress: ReportedProgress) => {
          ingestion.progress = progress
        }
        try {
          return await runInPlace(signal, { onProgress, settle: () => underWay.delete(id) }, task)
        } finally {
          place.leave()
        }
      } finally {
        underWay.delete(id)
      }
    },
    list: () => [...underWay.values()].map(({ facts, progress }) => ({ ...facts, ...progress })).reverse(),
    stop(id) {
      const ingestion = underWay.get(id)
      ingestion?.stopping.abort(stoppedByCustodian())
      return ingestion !== undefined
    },
    stopOvertaken() {
      for (const { stopping, isOvertaken } of underWay.values())
        if (isOvertaken()) stopping.abort(changedMeanwhile())
    },
    async close() {
      closing.abort(serviceStops())
      await limiter.idle()
    },
  }
}

interface UnderWay {
  readonly facts: Omit<ListedIngestion, keyof ReportedProgress>
  progress: ReportedProgress
  readonly isOvertaken: IngestionTerms['isOvertaken']
  /** Aborted, with a refusal, by a custodian or by a change of the dataset. */
  readonly stopping: AbortController
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

function serviceStops(): Refusal {
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

function stoppedByCustodian(): Refusal {
  return new Refusal('ingestion-stopped', 'A custodian stopped the ingestion. Nothing was published.')
}

/** Refusal of an ingestion whose dataset was changed by another request. */
export function changedMeanwhile(): Refusal {
  return new Refusal(
    'dataset-changed',
    'Another request changed the dataset while its source was ingested. Nothing was published.',
  )
}
