import type { Dataset } from '../core/dataset/dataset.ts'
import { MOST_TEXTS, MOST_VALUES } from '../core/dataset/value-limits.ts'
import type { Reading } from '../core/planner/language/reading.ts'
import type { Dialect } from './dialect.ts'
import type { Engine } from './engine.ts'
import type { PrintedStatement } from './printing/printer.ts'
import { printAggregate, printCellCounting, printIndexCounting, printTextCounting } from './sql-printer.ts'
import { type Collector, collectCellCounts, collectIndexCounts, collectTextCounts } from './value-counts.ts'

/** Prints the statement of a reading. The number of cells is that of its result, where it has cells. */
export function printReading(
  reading: Reading,
  dataset: Dataset,
  dialect: Dialect,
): PrintedStatement & { readonly cells: number } {
  switch (reading.method) {
    case 'aggregate':
      return printAggregate(reading.aggregate, dataset, dialect)
    case 'countIndexes':
      return { ...printIndexCounting(reading.counting, dataset, dialect, MOST_VALUES + 1), cells: 1 }
    case 'countIndexesInCells':
      return printCellCounting(reading.counting, dataset, dialect, MOST_VALUES + 1)
    case 'countTexts':
      return { ...printTextCounting(reading.counting, dataset, dialect, MOST_TEXTS + 1), cells: 1 }
  }
}

/**
 * Runs the statement of a reading and collects its rows.
 * @param collectorOf returns the collector for a result of this number of cells
 */
export type Collect = <Collected>(
  dataset: Dataset,
  reading: Reading,
  collectorOf: (cells: number) => Collector<Collected>,
) => Promise<Collected>

/** Creates the part of an engine that counts values. */
export function createCounting(
  collect: Collect,
): Pick<Engine, 'countIndexes' | 'countIndexesInCells' | 'countTexts'> {
  return {
    countIndexes: (dataset, counting) =>
      collect(dataset, { method: 'countIndexes', counting }, collectIndexCounts),
    countIndexesInCells: (dataset, counting) =>
      collect(dataset, { method: 'countIndexesInCells', counting }, collectCellCounts),
    countTexts: (dataset, counting) =>
      collect(dataset, { method: 'countTexts', counting }, collectTextCounts),
  }
}
