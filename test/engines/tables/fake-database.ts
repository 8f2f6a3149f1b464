import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import type { Column, Dataset, TableColumn } from '../../../src/core/dataset/dataset.ts'
import type { Dialect } from '../../../src/engines/dialect.ts'
import { duckDbDialect } from '../../../src/engines/duckdb/dialect.ts'
import { duckDbDigest } from '../../../src/engines/duckdb/ingestion/statements.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import type { PrintedStatement } from '../../../src/engines/printing/printer.ts'
import { printAggregate, printIndexCounting, printTextCounting } from '../../../src/engines/sql-printer.ts'
import { readAggregate } from '../../../src/engines/sql-result.ts'
import { printInspection, readInspection } from '../../../src/engines/tables/inspection.ts'
import { printRead, printRelation } from '../../../src/engines/tables/relation.ts'
import type { TableDialect } from '../../../src/engines/tables/table-dialect.ts'
import {
  describeTables,
  requireColumns,
  type StoredRows,
  type TableDataset,
  type TableEngine,
  type TableName,
} from '../../../src/engines/tables/table-engine.ts'
import { collectIndexCounts, collectTextCounts } from '../../../src/engines/value-counts.ts'

/** A way in which a database fails. */
export type Fault = 'EngineUnavailable' | 'EngineFailure' | 'EngineTimeout'

/** A database in memory, whose tables a test creates, and which fails as the test demands. */
export interface FakeDatabase {
  readonly engine: TableEngine
  /** The calls that a test cannot see otherwise, in order. */
  readonly calls: string[]
  run(sql: string): Promise<readonly DuckDBValue[][]>
  /** Makes every statement fail until the next call. */
  fail(fault: Fault | undefined): void
  /** What checks of the connection find, which begin at times that a test does not know. Statements do not depend on it. */
  isReachable: boolean
  /** A rule that the connection breaks for every table. */
  rule: string | undefined
  /** Number of rows in each batch that is read. */
  batchRows: number
}

/** Encodes numbers, booleans, texts and identifiers, which suffice for tests of everything around an engine. */
const dialect: TableDialect = {
  ...duckDbDialect,
  ...duckDbDigest,
  // As in other tables, texts are bound and other values are literals.
  value: (value, type, bind) =>
    typeof value === 'string' ? duckDbDialect.value(value, type, bind) : String(value),
  encode: (column, { type, sql }) => {
    const isNumber = /int|decimal|double/.test(type)
    const isText = type === 'varchar'
    switch (column.type) {
      case 'integer':
      case 'number': {
        if (!isNumber) return undefined
        const index = `floor(${sql} / (${column.stepNano} / 1e9) + 0.5)`
        const clamped = `CAST(least(greatest(${index}, ${column.lowerIndex}), ${column.upperIndex}) AS BIGINT)`
        return { stored: `CASE WHEN ${sql} IS NOT NULL THEN ${clamped} END`, isTotal: true }
      }
      case 'boolean':
        return type === 'boolean' ? { stored: sql, isTotal: true } : undefined
      case 'category': {
        if (!isText) return undefined
        const categories = column.categories.map((category, i) => `WHEN ${textOf(category)} THEN ${i}`)
        return { stored: `CAST(CASE ${sql} ${categories.join(' ')} END AS INTEGER)` }
      }
      case 'string':
        return isText ? { stored: sql, isTotal: true } : undefined
      case 'identifier':
        return isText || isNumber ? { stored: `nullif(CAST(${sql} AS VARCHAR), '')` } : undefined
      case 'date':
      case 'timestamp':
        return undefined
    }
  },
  comparisons: () => ({}),
  literal: (value) => (typeof value === 'string' ? textOf(value) : String(value)),
}

function textOf(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Creates a database without tables. */
export async function createFakeDatabase(): Promise<FakeDatabase> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const tables = new Map<string, TableDataset>()
  const calls: string[] = []
  let fault: Fault | undefined
  const keyOf = ({ id, version }: Pick<Dataset, 'id' | 'version'>) => `${id} ${version}`
  const run = async (sql: string, parameters: PrintedStatement['parameters'] = []) =>
    (await connection.runAndReadAll(sql, [...parameters])).getRows()
  const reach = (signal?: AbortSignal) => {
    signal?.throwIfAborted()
    if (fault !== undefined) throw new EngineFailure(fault)
  }

  const describe = async ({ schema, name }: TableName) => {
    const rows = await run(
      'SELECT column_name, data_type, is_nullable FROM information_schema.columns ' +
        `WHERE table_schema = ${textOf(schema)} AND table_name = ${textOf(name)} ORDER BY ordinal_position`,
    )
    const columns = rows.map(
      ([column, type, nullable]): TableColumn => ({
        name: String(column),
        // As databases spell them.
        type: String(type).toLowerCase(),
        notNull: nullable === 'NO',
      }),
    )
    return columns.length === 0 ? undefined : columns
  }

  const query = async <Answer>(
    dataset: Dataset,
    print: (printing: Dialect) => PrintedStatement,
    read: (rows: readonly DuckDBValue[][]) => Answer,
  ): Promise<Answer> => {
    const table = tables.get(keyOf(dataset))
    if (table === undefined) throw new EngineFailure('EngineUnavailable')
    reach()
    requireColumns(table.columns, (await describeTables({ describe }, table.table)) ?? [])
    const { sql, parameters } = print({
      ...dialect,
      relation: (_, bind) => printRelation(dialect, table, bind),
    })
    return read((await connection.runAndReadAll(sql, [...parameters])).getRows())
  }

  const engine: TableEngine = {
    aggregate: (dataset, aggregate) => {
      const { cells } = printAggregate(aggregate, dataset, duckDbDialect)
      const print = (printing: Dialect) => printAggregate(aggregate, dataset, printing)
      return query(dataset, print, (rows) => readAggregate(aggregate, cells, rows))
    },
    countIndexes: (dataset, counting) =>
      query(
        dataset,
        (printing) => printIndexCounting(counting, dataset, printing, 1_000_000),
        (rows) => {
          const collector = collectIndexCounts()
          for (const [index, count] of rows) collector.add([Number(index), Number(count)])
          return collector.finish()
        },
      ),
    countIndexesInCells: () => Promise.reject(new EngineFailure()),
    countTexts: (dataset, counting) =>
      query(
        dataset,
        (printing) => printTextCounting(counting, dataset, printing, 1_000_000),
        (rows) => {
          const collector = collectTextCounts()
          for (const [text, count] of rows) collector.add([String(text), Number(count)])
          return collector.finish()
        },
      ),
    healthy: async () => true,
    // The database outlives the service.
    close: async () => {},
    describe: async (table) => {
      reach()
      return describe(table)
    },
    refusal: async () => database.rule,
    relations: async () => [],
    fits: (column: Column, source) => dialect.encode(column, { ...source, sql: 'x' }) !== undefined,
    inspect: async (table, signal) => {
      calls.push('inspect')
      reach(signal)
      const results: (readonly unknown[])[] = []
      for (const { sql, parameters } of Object.values(printInspection(dialect, table)))
        results.push(...(await run(sql, parameters)))
      return readInspection(table, results.flat())
    },
    async *read(table, signal) {
      calls.push('read')
      reach(signal)
      const { sql, parameters } = printRead(dialect, table)
      const rows = (await run(sql, parameters)) as StoredRows
      for (let i = 0; i < rows.length; i += database.batchRows) {
        reach(signal)
        yield rows.slice(i, i + database.batchRows)
      }
    },
    open: (table) => {
      calls.push(`open ${keyOf(table.dataset)}`)
      tables.set(keyOf(table.dataset), table)
    },
    closeDataset: async (dataset) => {
      calls.push(`close ${keyOf(dataset)}`)
      tables.delete(keyOf(dataset))
    },
    reachable: async () => database.isReachable,
  }
  const database: FakeDatabase = {
    ...{ engine, calls, run, isReachable: true, rule: undefined, batchRows: 1_000 },
    fail: (next) => {
      fault = next
    },
  }
  return database
}
