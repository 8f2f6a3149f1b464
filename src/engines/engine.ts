import type { Dataset } from '../catalog/dataset.ts'
import type { Aggregate } from '../planner/aggregate.ts'

/** Computes aggregates over the rows of registered datasets. */
export interface Engine {
  /**
   * The exact integers of an aggregate: one array per statistic, one entry per cell (cells without rows hold 0).
   * @throws EngineFailure, which says nothing about data, for whatever goes wrong, a time or memory limit included.
   */
  aggregate(dataset: Dataset, aggregate: Aggregate): Promise<readonly (readonly bigint[])[]>
  /** Whether every dataset that was opened can still be asked. */
  healthy(): Promise<boolean>
  close(): Promise<void>
}

/**
 * An aggregate could not be computed. The message is constant: what the database said may quote data, and is dropped.
 */
export class EngineFailure extends Error {
  constructor(name: 'EngineFailure' | 'EngineTimeout' = 'EngineFailure') {
    super('the aggregate could not be computed')
    this.name = name
  }
}
