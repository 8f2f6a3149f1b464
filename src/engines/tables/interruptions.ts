import { EngineFailure } from '../engine.ts'

/**
 * Returns the failure of a statement that a database or one of its processes has interrupted.
 * @param dataset id of the dataset that is queried; undefined for work that no analyst asked for
 * @param begunMs instant of `performance.now` at which the work began
 */
export type Interrupted = (dataset: string | undefined, begunMs: number) => EngineFailure

/**
 * Creates the failures of one database. An interruption may depend on data: a query could have brought down a process of
 * the database. So it counts, as `EngineInterrupted`, but once for each dataset and outage: work that was under way when one
 * was counted was interrupted by the same outage, and fails as `EngineUnavailable`. See decision 62.
 */
export function createInterruptions(): Interrupted {
  const countedMs = new Map<string | undefined, number>()
  return (dataset, begunMs) => {
    if (begunMs <= (countedMs.get(dataset) ?? Number.NEGATIVE_INFINITY))
      return new EngineFailure('EngineUnavailable')
    countedMs.set(dataset, performance.now())
    return new EngineFailure('EngineInterrupted')
  }
}
