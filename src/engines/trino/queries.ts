import { setImmediate } from 'node:timers/promises'
import type { Dataset } from '../../catalog/dataset.ts'
import { MOST_TEXTS, MOST_VALUES } from '../../catalog/value-limits.ts'
import type { Dialect } from '../dialect.ts'
import type { Engine, Reading } from '../engine.ts'
import type { PrintedStatement } from '../printing/printer.ts'
import { printAggregate, printCellCounting, printIndexCounting, printTextCounting } from '../sql-printer.ts'
import { readAggregate } from '../sql-result.ts'
import { type Collector, collectCellCounts, collectIndexCounts, collectTextCounts } from '../value-counts.ts'
import { LONGEST_STATEMENT, type TrinoRows } from './client.ts'
import type { RunStatement } from './sessions.ts'

/** The SQL of an open dataset, and statements that read it. */
export interface OpenRelation {
  /** The dialect whose relation is the dataset's table. */
  readonly dialect: Dialect
  readonly run: RunStatement
}

/**
 * Runs queries of a dataset.
 * @throws EngineFailure
 */
export type UseDataset = <Answer>(
  dataset: Dataset,
  query: (open: OpenRelation) => Promise<Answer>,
) => Promise<Answer>

/** The methods of an engine that read data. */
export type Queries = Pick<Engine, 'aggregate' | 'countIndexes' | 'countIndexesInCells' | 'countTexts'>

/** Prints queries, runs them, and reads their results. */
export function createQueries(use: UseDataset): Queries {
  return {
    aggregate: (dataset, aggregate) =>
      use(dataset, async (open) => {
        const { sql, cells } = printAggregate(aggregate, dataset, open.dialect)
        const rows: (readonly unknown[])[] = []
        for await (const page of pagesOf(open, { sql })) {
          if (rows.length + page.length > cells) throw new RangeError('the result has more rows than cells')
          for (const row of page) rows.push(row)
        }
        return readAggregate(aggregate, cells, rows)
      }),
    countIndexes: (dataset, counting) =>
      use(dataset, (open) => {
        const printed = printIndexCounting(counting, dataset, open.dialect, MOST_VALUES + 1)
        return collect(pagesOf(open, printed), collectIndexCounts(), isIndexRow)
      }),
    countIndexesInCells: (dataset, counting) =>
      use(dataset, (open) => {
        const printed = printCellCounting(counting, dataset, open.dialect, MOST_VALUES + 1)
        return collect(pagesOf(open, printed), collectCellCounts(printed.cells), isCellRow)
      }),
    countTexts: (dataset, counting) =>
      use(dataset, (open) => {
        const printed = printTextCounting(counting, dataset, open.dialect, MOST_TEXTS + 1)
        return collect(pagesOf(open, printed), collectTextCounts(), isTextRow)
      }),
  }
}

/**
 * Returns true if the statement of a reading is short enough for Trino.
 * @param dialect the dialect whose relation is the dataset's table
 */
export function isShortEnough(dialect: Dialect, dataset: Dataset, reading: Reading): boolean {
  return printReading(reading, dataset, dialect).sql.length <= LONGEST_STATEMENT
}

function printReading(reading: Reading, dataset: Dataset, dialect: Dialect): PrintedStatement {
  switch (reading.method) {
    case 'aggregate':
      return printAggregate(reading.aggregate, dataset, dialect)
    case 'countIndexes':
      return printIndexCounting(reading.counting, dataset, dialect, MOST_VALUES + 1)
    case 'countIndexesInCells':
      return printCellCounting(reading.counting, dataset, dialect, MOST_VALUES + 1)
    case 'countTexts':
      return printTextCounting(reading.counting, dataset, dialect, MOST_TEXTS + 1)
  }
}

/** Runs a statement. Between pages it yields to other work of the process. */
async function* pagesOf(
  { run }: OpenRelation,
  { sql }: Pick<PrintedStatement, 'sql'>,
): AsyncGenerator<TrinoRows, void, void> {
  for await (const page of run(sql)) {
    yield page
    await setImmediate()
  }
}

/** @throws RangeError for a row that the result cannot have. */
async function collect<Row extends readonly unknown[], Counts>(
  pages: AsyncIterable<TrinoRows>,
  collector: Collector<Row, Counts>,
  isRow: (row: readonly unknown[]) => row is Row,
): Promise<Counts> {
  for await (const page of pages)
    for (const row of page) {
      if (!isRow(row)) throw new RangeError('a result has another number or type of columns')
      collector.add(...row)
    }
  return collector.finish()
}

type NumberOrNull = number | null

function isIndexRow(row: readonly unknown[]): row is [NumberOrNull, NumberOrNull] {
  return row.length === 2 && row.every(isNumberOrNull)
}

function isCellRow(row: readonly unknown[]): row is [NumberOrNull, NumberOrNull, NumberOrNull] {
  return row.length === 3 && row.every(isNumberOrNull)
}

function isTextRow(row: readonly unknown[]): row is [string | null, NumberOrNull] {
  const [text, count] = row
  return row.length === 2 && (text === null || typeof text === 'string') && isNumberOrNull(count)
}

function isNumberOrNull(value: unknown): value is NumberOrNull {
  return value === null || typeof value === 'number'
}
