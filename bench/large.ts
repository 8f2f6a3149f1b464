import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Column, Dataset } from '../src/core/dataset/dataset.ts'
import type { GroupKey, Predicate } from '../src/core/planner/language/aggregate.ts'
import { openDuckDbEngine } from '../src/engines/duckdb/engine.ts'
import { ingest } from '../src/engines/duckdb/ingestion/ingest.ts'
import { quoteLiteral } from '../src/engines/duckdb/instance.ts'
import { type BoundingFigure, compare, type Work } from './bounding.ts'

/** A large table in Sotto and in DuckDB's own file: seconds of ingestion once, and queries over the rounds. */
export interface LargeFigure {
  readonly rows: number
  readonly sottoSeconds: number
  readonly duckDbSeconds: number
  readonly queries: readonly BoundingFigure[]
}

/** Goal for the median ratio of each query. */
export const LARGE_GOAL = 1.2

const ROWS = 100_000_000
const THREADS = 2
const MEMORY_LIMIT = '1GB'
const REGIONS = 40

const facts = { nullable: false, invalidValue: { kind: 'refuse' } } as const
const index = { stepNano: 1_000_000_000n, lowerIndex: 0n } as const
const columns: readonly Column[] = [
  { ...facts, ...index, name: 'age', type: 'integer', upperIndex: 120n },
  { ...facts, ...index, name: 'cost', type: 'integer', upperIndex: 1_000_000n },
  {
    ...facts,
    name: 'region',
    type: 'category',
    categories: Array.from({ length: REGIONS }, (_, i) => `region ${i}`),
  },
  { ...facts, name: 'smoker', type: 'boolean' },
]

/** Pseudo-random columns from the number of a row. */
const SELECTED = `((i * 7919) % 100003 % 100)::INTEGER AS age,
  ((i * 104729) % 99991)::INTEGER AS cost,
  'region ' || ((i * 6007) % 10007 % ${REGIONS}) AS region,
  (i * 31) % 7 < 2 AS smoker`

const adults: Predicate = { kind: 'index-between', column: 'age', lower: 18n }
const region: GroupKey = { kind: 'category', column: 'region', size: REGIONS, nullCell: false }
const cost = { kind: 'affine-sum', column: 'cost', factor: 1n, offset: 0n } as const
const each = { groupBy: [], bounding: { kind: 'one-row-each' } } as const

const WORK: readonly Work[] = [
  {
    what: 'count of adults',
    aggregate: { ...each, where: adults, statistics: [{ kind: 'count' }] },
    sql: 'SELECT count(*) FROM rows WHERE age >= 18',
  },
  {
    what: 'sum of costs of adults',
    aggregate: { ...each, where: adults, statistics: [cost] },
    sql: 'SELECT sum(cost), count(cost) FROM rows WHERE age >= 18',
  },
  {
    what: 'groupBy region: count of adults',
    aggregate: { ...each, where: adults, groupBy: [region], statistics: [{ kind: 'count' }] },
    sql: 'SELECT enum_code(region), count(*) FROM rows WHERE age >= 18 GROUP BY region',
  },
  {
    what: 'groupBy region: sum of costs of adults',
    aggregate: { ...each, where: adults, groupBy: [region], statistics: [cost] },
    sql: 'SELECT enum_code(region), sum(cost), count(cost) FROM rows WHERE age >= 18 GROUP BY region',
  },
]

/**
 * Ingests a Parquet file of 100 million rows with four columns, and measures queries over it in turns with DuckDB over
 * a table of its own, in which regions are an ENUM: same rows, threads and memory. Needs about 5 GB of disk space.
 * @throws Error if the results differ.
 */
export async function largeBenchmark(rows = ROWS): Promise<LargeFigure> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-large-'))
  try {
    const sourcePath = path.join(folder, 'source.parquet')
    const [sottoFile, duckDbFile] = [path.join(folder, 'sotto.duckdb'), path.join(folder, 'duckdb.duckdb')]
    await inDuckDb(':memory:', folder, [
      `COPY (SELECT ${SELECTED} FROM range(${rows}) t(i)) TO ${quoteLiteral(sourcePath)} (FORMAT parquet)`,
    ])
    const duckDbSeconds = await seconds(() => writeTable(duckDbFile, sourcePath, folder))
    const sottoSeconds = await seconds(() =>
      ingest({
        ...{ sourcePath, format: 'parquet', columns, privacyUnit: { kind: 'row' }, targetPath: sottoFile },
        limits: { threads: THREADS, memoryLimit: MEMORY_LIMIT },
      }),
    )
    await rm(sourcePath)
    return { rows, sottoSeconds, duckDbSeconds, queries: await compareAll(sottoFile, duckDbFile, folder) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeTable(file: string, sourcePath: string, folder: string): Promise<void> {
  const names = Array.from({ length: REGIONS }, (_, i) => quoteLiteral(`region ${i}`)).join(', ')
  await inDuckDb(file, folder, [
    `CREATE TYPE regions AS ENUM (${names})`,
    `CREATE TABLE rows AS SELECT * REPLACE (region::regions AS region) FROM read_parquet(${quoteLiteral(sourcePath)})`,
    'CHECKPOINT',
  ])
}

async function inDuckDb(file: string, folder: string, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file, options(folder))
  const connection = await instance.connect()
  for (const sql of statements) await connection.run(sql)
  connection.disconnectSync()
  instance.closeSync()
}

function options(folder: string) {
  return {
    threads: String(THREADS),
    memory_limit: MEMORY_LIMIT,
    temp_directory: path.join(folder, 'temporary-raw'),
  }
}

async function compareAll(
  sottoFile: string,
  duckDbFile: string,
  folder: string,
): Promise<readonly BoundingFigure[]> {
  const engine = openDuckDbEngine({
    files: () => sottoFile,
    connectionsPerDataset: 1,
    threads: THREADS,
    memoryLimit: MEMORY_LIMIT,
    queryTimeoutMs: 600_000,
    temporaryDirectory: path.join(folder, 'temporary'),
  })
  const instance = await DuckDBInstance.create(duckDbFile, { ...options(folder), access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  try {
    await engine.open(dataset)
    const figures: BoundingFigure[] = []
    for (const work of WORK) {
      const raw = async () => (await connection.runAndReadAll(work.sql)).getRows()
      figures.push(await compare(work, () => engine.aggregate(dataset, work.aggregate), raw))
    }
    return figures
  } finally {
    connection.disconnectSync()
    instance.closeSync()
    await engine.close()
  }
}

const dataset: Dataset = {
  id: 'large',
  title: 'Made-up rows',
  version: '1',
  source: { kind: 'file', path: 'large.parquet', format: 'parquet' },
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

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return (performance.now() - startMs) / 1000
}
