import { join } from 'node:path'
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import type {
  Column,
  Dataset,
  DateColumn,
  DateFormat,
  InvalidValueRule,
  NumericColumn,
  StringColumn,
  TimestampColumn,
} from '../../src/core/dataset/dataset.ts'
import { parseDate, parseInstant } from '../../src/core/dataset/iso-time.ts'
import {
  type DuckDbEngine,
  type DuckDbEngineOptions,
  openDuckDbEngine,
} from '../../src/engines/duckdb/engine.ts'
import type { StoredRow, StoredValue } from './reference-engine.ts'

const ONE = 1_000_000_000n

interface Facts {
  readonly nullable?: boolean
  readonly invalidValue?: InvalidValueRule
}

interface TemporalFacts extends Facts {
  /** Days of a date, seconds of a timestamp. */
  readonly step?: bigint
  readonly dateFormat?: DateFormat
  readonly timeZone?: string
}

const facts = (name: string, { nullable = true, invalidValue = { kind: 'null' } }: Facts) => ({
  name,
  nullable,
  invalidValue,
})

/** Columns for tests. By default nullable, with NULL for invalid values. */
export const column = {
  integer: (name: string, lowerIndex: bigint, upperIndex: bigint, given: Facts = {}): NumericColumn => ({
    ...facts(name, given),
    type: 'integer',
    stepNano: ONE,
    lowerIndex,
    upperIndex,
  }),
  number: (
    name: string,
    stepNano: bigint,
    lowerIndex: bigint,
    upperIndex: bigint,
    given: Facts = {},
  ): Column => ({
    ...facts(name, given),
    type: 'number',
    stepNano,
    lowerIndex,
    upperIndex,
  }),
  /** Dates on a grid of days between two ISO 8601 dates. */
  date: (name: string, lower: string, upper: string, given: TemporalFacts = {}): DateColumn => {
    const { step = 1n, dateFormat = 'YYYY-MM-DD' } = given
    const index = (text: string) => (parseDate(text) ?? 0n) / step
    return {
      ...facts(name, given),
      type: 'date',
      dateFormat,
      stepNano: step * ONE,
      lowerIndex: index(lower),
      upperIndex: index(upper),
    }
  },
  /** Instants on a grid of seconds between two ISO 8601 instants. */
  timestamp: (name: string, lower: string, upper: string, given: TemporalFacts = {}): TimestampColumn => {
    const { step = 1n, dateFormat = 'YYYY-MM-DD', timeZone = 'UTC' } = given
    const index = (text: string) => (parseInstant(text) ?? 0n) / ONE / step
    return {
      ...facts(name, given),
      type: 'timestamp',
      dateFormat,
      timeZone,
      stepNano: step * ONE,
      lowerIndex: index(lower),
      upperIndex: index(upper),
    }
  },
  boolean: (name: string, given: Facts = {}): Column => ({ ...facts(name, given), type: 'boolean' }),
  category: (name: string, categories: readonly string[], given: Facts = {}): Column => ({
    ...facts(name, given),
    type: 'category',
    categories,
  }),
  string: (name: string, given: Facts = {}): StringColumn => ({ ...facts(name, given), type: 'string' }),
  identifier: (
    name: string,
    rule: Extract<InvalidValueRule['kind'], 'drop-row' | 'refuse'> = 'refuse',
  ): Column => ({ type: 'identifier', name, nullable: rule === 'drop-row', invalidValue: { kind: rule } }),
}

/** A dataset of these columns. */
export function datasetOf(columns: readonly Column[], id = 'test', version = '1'): Dataset {
  return {
    id,
    title: id,
    version,
    source: { kind: 'file', path: 'test.csv', format: 'csv' },
    columns,
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
}

/** Opens an engine over the files `<id>.duckdb` of a folder, with one connection and one thread unless options differ. */
export function openTestEngine(folder: string, options: Partial<DuckDbEngineOptions> = {}): DuckDbEngine {
  return openDuckDbEngine({
    files: ({ id }) => join(folder, `${id}.duckdb`),
    connectionsPerDataset: 1,
    threads: 1,
    memoryLimit: '512MB',
    queryTimeoutMs: 600_000,
    temporaryDirectory: join(folder, 'temporary'),
    ...options,
  })
}

/** The instance of {@link withDuckDb}. The start of one takes longer than most statements of tests. */
let shared: Promise<DuckDBInstance> | undefined
let attached = 0

/** Runs statements in a separate DuckDB, over a file or none, and returns the rows of the last one. */
export async function withDuckDb(
  path: string,
  ...statements: readonly string[]
): Promise<readonly DuckDBValue[][]> {
  shared ??= DuckDBInstance.create(':memory:')
  const connection = await (await shared).connect()
  attached += 1
  const database = `attached_${attached}`
  try {
    await connection.run(`ATTACH '${path}' AS ${database}`)
    await connection.run(`USE ${database}`)
    let rows: readonly DuckDBValue[][] = []
    for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRows()
    return rows
  } finally {
    await connection.run('USE memory')
    await connection.run(`DETACH DATABASE IF EXISTS ${database}`)
    connection.disconnectSync()
  }
}

/** The stored rows of an ingested file, in the order of the source. */
export async function storedRows(path: string, columns: readonly Column[]): Promise<readonly StoredRow[]> {
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const rows = await withDuckDb(path, `SELECT ${names} FROM rows ORDER BY rowid`)
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name }, i) => [name, (row[i] ?? null) as StoredValue])),
  )
}
