import type { Dataset } from '../catalog/dataset.ts'
import type { Aggregate, ValueCounting } from '../planner/aggregate.ts'

/** Computes aggregates over the rows of registered datasets. */
export interface Engine {
  /**
   * The exact integers of an aggregate: one array per statistic, one entry per cell (cells without rows hold 0).
   * @throws EngineFailure, which says nothing about data, for whatever goes wrong, a time or memory limit included.
   */
  aggregate(dataset: Dataset, aggregate: Aggregate): Promise<readonly (readonly bigint[])[]>
  /**
   * How many rows have each value of a numeric column, the values (grid indexes) increasing.
   * @throws EngineFailure as {@link Engine.aggregate} does.
   */
  countIndexes(dataset: Dataset, counting: ValueCounting): Promise<IndexCounts>
  /**
   * How many rows have each text of a free-text column, in no particular order.
   * @throws EngineFailure as {@link Engine.aggregate} does.
   */
  countTexts(dataset: Dataset, counting: ValueCounting): Promise<TextCounts>
  /** Whether every dataset that was opened can still be asked. */
  healthy(): Promise<boolean>
  close(): Promise<void>
}

/** Two arrays of one length, of exact integers within 2^53: a value that occurs, and in how many rows it does. */
export interface IndexCounts {
  readonly indexes: Float64Array
  readonly counts: Float64Array
}

/** Two arrays of one length: a text that occurs, and in how many rows (an exact integer) it does. */
export interface TextCounts {
  readonly texts: readonly string[]
  readonly counts: Float64Array
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
