import type { DuckDBConnection } from '@duckdb/node-api'

/** Progress of an ingestion, reported while it runs. It depends on data: only the dataset's custodian may see it. */
export interface IngestionProgress {
  /** `check`: the source's form is checked; `read`: its values are converted; `store`: the rows of queries are written. */
  readonly phase: 'check' | 'read' | 'store'
  /** Part of the phase that is done, from 0 to 1. It never decreases within a phase. */
  readonly fraction: number
}

/** Receiver of an ingestion's progress. It must not throw. */
export type OnProgress = (progress: IngestionProgress) => void

/** Control that a caller has over an ingestion. */
export interface IngestionControl {
  /** Stops the ingestion and removes what it has written. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

/** Time between two interrupts of a statement, and between two reports of its progress. */
const POLL_MS = 50

/**
 * Connection settings that let DuckDB count a statement's progress without printing it. They belong to one connection,
 * and must be set before the instance's configuration is locked.
 */
export const PROGRESS_SETTINGS = ['SET enable_progress_bar = true', 'SET enable_progress_bar_print = false']

/**
 * Runs a statement and interrupts it when a signal aborts. DuckDB forgets an interrupt that arrives between two parts of
 * a statement, so that it is repeated until the statement has stopped.
 *
 * @param phase phase whose progress the statement's progress is, if it is reported
 * @throws the signal's reason once it has aborted.
 */
export async function runControlled<Result>(
  connection: DuckDBConnection,
  { signal, onProgress }: IngestionControl,
  run: () => Promise<Result>,
  phase?: IngestionProgress['phase'],
): Promise<Result> {
  signal?.throwIfAborted()
  let fraction = 0
  const report = () => {
    const reached = connection.progress.percentage / 100
    if (phase === undefined || onProgress === undefined || !(reached > fraction)) return
    fraction = Math.min(1, reached)
    onProgress({ phase, fraction })
  }
  const poll = setInterval(() => (signal?.aborted ? connection.interrupt() : report()), POLL_MS)
  const interrupt = () => connection.interrupt()
  signal?.addEventListener('abort', interrupt)
  try {
    return await run()
  } finally {
    clearInterval(poll)
    signal?.removeEventListener('abort', interrupt)
  }
}
