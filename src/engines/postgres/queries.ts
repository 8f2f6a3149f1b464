import type { Dataset } from '../../catalog/dataset.ts'
import { MOST_TEXTS, MOST_VALUES } from '../../catalog/value-limits.ts'
import type { Dialect } from '../dialect.ts'
import type { Engine } from '../engine.ts'
import { printAggregate, printCellCounting, printIndexCounting, printTextCounting } from '../sql-printer.ts'
import { readAggregate } from '../sql-result.ts'
import { collectCellCounts, collectIndexCounts, collectTextCounts } from '../value-counts.ts'
import type { Session } from './transactions.ts'

/**
 * Runs queries of an open dataset.
 * @param query receives the dialect whose relation is the dataset's table
 * @throws EngineFailure
 */
export type UseDataset = <Answer>(
  dataset: Dataset,
  query: (session: Session, dialect: Dialect) => Promise<Answer>,
) => Promise<Answer>

type Queries = Pick<Engine, 'aggregate' | 'countIndexes' | 'countIndexesInCells' | 'countTexts'>

/** Prints queries, runs them, and reads their results. */
export function createQueries(use: UseDataset): Queries {
  return {
    aggregate: (dataset, aggregate) =>
      use(dataset, async (session, dialect) => {
        const printed = printAggregate(aggregate, dataset, dialect)
        return readAggregate(aggregate, printed.cells, await session.rows(printed, printed.cells))
      }),
    countIndexes: (dataset, counting) =>
      use(dataset, async (session, dialect) => {
        const collector = collectIndexCounts()
        const printed = printIndexCounting(counting, dataset, dialect, MOST_VALUES + 1)
        await session.each(printed, ([index, count]) => collector.add(numberOf(index), numberOf(count)))
        return collector.finish()
      }),
    countIndexesInCells: (dataset, counting) =>
      use(dataset, async (session, dialect) => {
        const printed = printCellCounting(counting, dataset, dialect, MOST_VALUES + 1)
        const collector = collectCellCounts(printed.cells)
        await session.each(printed, ([cell, index, count]) =>
          collector.add(numberOf(cell), numberOf(index), numberOf(count)),
        )
        return collector.finish()
      }),
    countTexts: (dataset, counting) =>
      use(dataset, async (session, dialect) => {
        const collector = collectTextCounts()
        const printed = printTextCounting(counting, dataset, dialect, MOST_TEXTS + 1)
        await session.each(printed, ([text = null, count]) => collector.add(text, numberOf(count)))
        return collector.finish()
      }),
  }
}

function numberOf(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text)
}
