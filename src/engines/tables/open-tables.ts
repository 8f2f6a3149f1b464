import { type DatasetVersion, versionKey } from '../../core/dataset/dataset.ts'
import type { Dialect } from '../dialect.ts'
import { EngineFailure } from '../engine.ts'
import type { PrintedStatement } from '../printing/printer.ts'
import { type Collect, createCounting, printReading } from '../readings.ts'
import { readAggregate } from '../sql-result.ts'
import { collectRows } from '../value-counts.ts'
import { printRelation, printSelectedRows } from './relation.ts'
import type { TableDialect } from './table-dialect.ts'
import type { TableDataset, TableEngine } from './table-engine.ts'

/** Runs a statement and passes on each row as it arrives. Integers are texts or numbers. */
export type ReadRows = (statement: PrintedStatement, use: (row: readonly unknown[]) => void) => Promise<void>

/** A database as the queries of its tables need it. */
export interface TableDatabase {
  readonly dialect: TableDialect
  /** Returns a table with the facts about its columns that statements rely on; all of them if absent. */
  trusted?(table: TableDataset): TableDataset
  /**
   * Runs work over a table, as it was given, whose columns are those of its registration.
   * @param signal cancels the work
   * @throws EngineFailure
   */
  use<Answer>(
    table: TableDataset,
    signal: AbortSignal,
    work: (read: ReadRows) => Promise<Answer>,
  ): Promise<Answer>
  /** Largest number of characters of a statement. */
  readonly longestStatement?: number
}

/** The tables of a database that are open for queries. None is open at first. */
export type OpenTables = Required<
  Pick<
    TableEngine,
    | 'aggregate'
    | 'countIndexes'
    | 'countIndexesInCells'
    | 'countTexts'
    | 'accepts'
    | 'fits'
    | 'open'
    | 'closeDataset'
  >
> & {
  /** Closes every table and cancels its queries. */
  closeAll(): void
}

/** A table with the dialect whose relation is the table. */
interface OpenTable {
  readonly table: TableDataset
  readonly dialect: Dialect
  readonly closing: AbortController
}

/** Prints queries over open tables, runs them, and reads their results. */
export function createOpenTables({ dialect, trusted, use, longestStatement }: TableDatabase): OpenTables {
  const opened = new Map<string, OpenTable>()

  const collect: Collect = async (dataset, reading, collectorOf) => {
    const open = opened.get(versionKey(dataset))
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    return use(open.table, open.closing.signal, async (read) => {
      const { cells, ...statement } = printReading(reading, dataset, open.dialect)
      const collector = collectorOf(cells)
      await read(statement, collector.add)
      return collector.finish()
    })
  }

  const close = (key: string): void => {
    opened.get(key)?.closing.abort(new EngineFailure('EngineUnavailable'))
    opened.delete(key)
  }

  return {
    aggregate: (dataset, aggregate) =>
      collect(dataset, { method: 'aggregate', aggregate }, (cells) =>
        collectRows(cells, (rows) => readAggregate(aggregate, cells, rows)),
      ),
    ...createCounting(collect),
    accepts: (dataset, reading) => {
      const open = opened.get(versionKey(dataset))
      if (open === undefined || longestStatement === undefined) return true
      return printReading(reading, dataset, open.dialect).sql.length <= longestStatement
    },
    fits: (column, source) => dialect.encode(column, { ...source, sql: 'source' }) !== undefined,
    open: (given) => {
      const key = versionKey(given.dataset)
      if (opened.has(key)) return
      const closing = new AbortController()
      opened.set(key, { table: given, dialect: dialectOver(dialect, trusted?.(given) ?? given), closing })
    },
    closeDataset: async (dataset: DatasetVersion) => close(versionKey(dataset)),
    closeAll: () => {
      for (const key of [...opened.keys()]) close(key)
    },
  }
}

/**
 * Returns the dialect whose relation is a table.
 * @throws RangeError for a table whose columns do not fit.
 */
function dialectOver(dialect: TableDialect, table: TableDataset): Dialect {
  // Columns that do not fit are noticed here, not at the first query.
  printRelation(dialect, table, () => 1)
  return {
    ...dialect,
    relation: (_, bind, needs) => printRelation(dialect, table, bind, needs),
    selectRows: (_, conditions) => printSelectedRows(dialect, table, conditions),
  }
}
