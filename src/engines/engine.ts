import type { Dataset } from '../core/dataset/dataset.ts'
import type { Aggregate, CellCounting, ValueCounting } from '../core/planner/language/aggregate.ts'
import type { CellIntegers, IndexCounts, Reading, TextCounts } from '../core/planner/language/reading.ts'

/** Computes aggregates over the rows of registered datasets. */
export interface Engine {
  /**
   * Computes the exact integers of an aggregate: one array per statistic, one entry per cell. Cells without rows hold
   * 0.
   * @throws EngineFailure for any failure, including a time or memory limit; it says nothing about data.
   */
  aggregate(dataset: Dataset, aggregate: Aggregate): Promise<CellIntegers>
  /**
   * Returns the name of the scan that computes an aggregate, if others can share it. Aggregates with one name that are
   * asked for in one turn of the event loop are computed by one statement. The name depends on public facts and the
   * aggregate alone. Absent for an engine that shares no scans.
   */
  scanOf?(dataset: Dataset, aggregate: Aggregate): string | undefined
  /**
   * Returns false if a reading cannot be sent to the database, because its statement would be too long. The result depends
   * on the reading and on public facts alone. Absent for an engine that has no such limit.
   */
  accepts?(dataset: Dataset, reading: Reading): boolean
  /**
   * Counts the rows or people with each value (grid index) of a numeric column, or the people with each value per
   * person, in the order of the values.
   * @throws EngineFailure as {@link Engine.aggregate} does.
   */
  countIndexes(dataset: Dataset, counting: ValueCounting): Promise<IndexCounts>
  /**
   * Counts the rows with each value (grid index) of a column in each cell of a table: one set of counts per cell, each
   * in the order of the values.
   * @throws EngineFailure as {@link Engine.aggregate} does.
   */
  countIndexesInCells(dataset: Dataset, counting: CellCounting): Promise<readonly IndexCounts[]>
  /**
   * Counts the rows or people with each text of a free-text column, in no particular order.
   * @throws EngineFailure as {@link Engine.aggregate} does.
   */
  countTexts(dataset: Dataset, counting: ValueCounting): Promise<TextCounts>
  /**
   * False while the database of a dataset is known to be unreachable, so that a query would be charged in vain. Absent for an
   * engine that reaches no database.
   */
  isReachable?(dataset: Dataset): boolean
  /** True if every open dataset can be queried. */
  healthy(): Promise<boolean>
  /** Finishes the accepted work and closes every dataset. */
  close(): Promise<void>
}

/**
 * An aggregate that could not be computed. The message is constant, because the database's own message may quote data.
 * Its name is `EngineUnavailable` if no statement was run: the dataset is not open, no connection could be opened, or the
 * database accepts no more statements, so that every request fails alike; and if the dataset was closed while a statement
 * ran. It is `EngineInterrupted` if the database or one of its processes ended while a statement ran, which a statement may
 * have caused; one such failure stands for all of the same outage. It is `TableChanged` if the columns of a table in a database are no longer those of the registration. Other
 * failures may depend on the data.
 */
export class EngineFailure extends Error {
  constructor(
    name:
      | 'EngineFailure'
      | 'EngineTimeout'
      | 'EngineUnavailable'
      | 'EngineInterrupted'
      | 'TableChanged' = 'EngineFailure',
  ) {
    super('the aggregate could not be computed')
    this.name = name
  }
}
