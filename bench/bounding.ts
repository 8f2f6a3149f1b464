import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import type { Column, Dataset } from '../src/core/dataset/dataset.ts'
import type { Aggregate, GroupKey, Predicate } from '../src/core/planner/language/aggregate.ts'
import { openDuckDbEngine } from '../src/engines/duckdb/engine.ts'
import { ingest } from '../src/engines/duckdb/ingestion/ingest.ts'
import { quoteLiteral } from '../src/engines/duckdb/instance.ts'
import type { Spread } from './ledger.ts'
import { median } from './median.ts'

/** An aggregate with bounded contributions beside DuckDB's own SQL for it: medians over the rounds. */
export interface BoundingFigure {
  readonly what: string
  readonly sottoMs: number
  readonly duckDbMs: number
  /** Sotto's time divided by DuckDB's in the same round. */
  readonly ratio: Spread
  /** The same for processor time, which depends less on what else the machine does. */
  readonly cpuRatio: Spread
}

/** Goal for the median ratio. */
export const BOUNDING_GOAL = 1.3

const ROWS = 10_400_000
const PEOPLE = 1_560_000
const MAX_ROWS = 20
const ROUNDS = 5
const THREADS = 2
const MEMORY_LIMIT = '1GB'
const KEY = '0123456789abcdef'.repeat(4)
const REGIONS = 17

const facts = { nullable: false, invalidValue: { kind: 'refuse' } } as const
const index = { stepNano: 1_000_000_000n, lowerIndex: 0n } as const
const columns: readonly Column[] = [
  { ...facts, name: 'patient', type: 'identifier' },
  { ...facts, ...index, name: 'age', type: 'integer', upperIndex: 120n },
  { ...facts, ...index, name: 'cost', type: 'integer', upperIndex: 1_000_000n },
  {
    ...facts,
    name: 'region',
    type: 'category',
    categories: Array.from({ length: REGIONS }, (_, i) => `region ${i}`),
  },
]

/** Random columns from the number of a row. The number of rows of a person is skewed; no person has none. */
const SELECTED = `'patient-' || floor(${PEOPLE} * pow((hash(i) % 1000000007) / 1000000007, 1.5))::INTEGER AS patient,
  (hash(i + 7) % 100)::INTEGER AS age,
  (hash(i * 3) % 100000)::INTEGER AS cost,
  'region ' || (hash(i * 5) % ${REGIONS}) AS region`

const region: GroupKey = { kind: 'category', column: 'region', size: REGIONS, nullCell: false }
const adults: Predicate = { kind: 'index-between', column: 'age', lower: 18n }
const cost = { kind: 'affine-sum', column: 'cost', factor: 1n, offset: 0n } as const
const everything = { kind: 'rows', rows: MAX_ROWS } as const
const threeRows = { kind: 'rows', rows: 3 } as const
const twoRegions = { kind: 'groups', groups: 2, rowsPerGroup: 2 } as const

/** An aggregate and the SQL to compare it with. */
export interface Work {
  readonly what: string
  readonly aggregate: Aggregate
  /** The SQL that a user of DuckDB would write. The columns of its result are those of the engine's. */
  readonly sql: string
}

interface BoundedWork extends Work {
  /** Source to read: a table of people, or the same rows where each is a person. */
  readonly source: 'people' | 'rows'
}

const FIRST_THREE = `SELECT * FROM rows WHERE age >= 18
  QUALIFY row_number() OVER (PARTITION BY sotto_person ORDER BY sotto_rank) <= 3`

const WORK: readonly BoundedWork[] = [
  {
    what: 'count, all 20 rows each',
    source: 'people',
    aggregate: { where: adults, groupBy: [], statistics: [{ kind: 'count' }], bounding: everything },
    sql: 'SELECT count(*) FROM rows WHERE age >= 18',
  },
  {
    what: 'count, 3 rows each',
    source: 'people',
    aggregate: { where: adults, groupBy: [], statistics: [{ kind: 'count' }], bounding: threeRows },
    sql: `SELECT count(*) FROM (${FIRST_THREE})`,
  },
  {
    what: 'sum, 1 row each',
    source: 'people',
    aggregate: { where: adults, groupBy: [], statistics: [cost], bounding: { kind: 'rows', rows: 1 } },
    sql: `SELECT sum(cost), count(cost) FROM (SELECT * FROM rows WHERE age >= 18
      QUALIFY row_number() OVER (PARTITION BY sotto_person ORDER BY sotto_rank) <= 1)`,
  },
  {
    what: 'sum, 3 rows each',
    source: 'people',
    aggregate: { where: adults, groupBy: [], statistics: [cost], bounding: threeRows },
    sql: `SELECT sum(cost), count(cost) FROM (${FIRST_THREE})`,
  },
  {
    what: 'groupBy region: count and sum, 3 rows each',
    source: 'people',
    aggregate: {
      where: adults,
      groupBy: [region],
      statistics: [{ kind: 'count' }, cost],
      bounding: threeRows,
    },
    sql: `SELECT region, count(*), sum(cost), count(cost) FROM (${FIRST_THREE}) GROUP BY region`,
  },
  {
    what: 'groupBy region: count and sum, 2 rows in each of 2 regions',
    source: 'people',
    aggregate: {
      where: adults,
      groupBy: [region],
      statistics: [{ kind: 'count' }, cost],
      bounding: twoRegions,
    },
    sql: `WITH placed AS (
      SELECT *, min(sotto_rank) OVER (PARTITION BY sotto_person, region) AS first FROM rows WHERE age >= 18
      QUALIFY row_number() OVER (PARTITION BY sotto_person, region ORDER BY sotto_rank) <= 2
    ), kept AS (
      SELECT * FROM placed QUALIFY dense_rank() OVER (PARTITION BY sotto_person ORDER BY first) <= 2
    ) SELECT region, count(*), sum(cost), count(cost) FROM kept GROUP BY region`,
  },
  {
    what: 'people',
    source: 'people',
    aggregate: { where: adults, groupBy: [], statistics: [{ kind: 'count-people' }], bounding: everything },
    sql: 'SELECT count(DISTINCT sotto_person) FROM rows WHERE age >= 18',
  },
  {
    what: 'groupBy region: people and rows, all 20 rows each',
    source: 'people',
    aggregate: {
      where: adults,
      groupBy: [region],
      statistics: [{ kind: 'count-people' }, { kind: 'count' }],
      bounding: everything,
    },
    sql: 'SELECT region, count(DISTINCT sotto_person), count(*) FROM rows WHERE age >= 18 GROUP BY region',
  },
  {
    what: 'groupBy region: people, in 2 regions each',
    source: 'people',
    aggregate: {
      where: adults,
      groupBy: [region],
      statistics: [{ kind: 'count-people' }],
      bounding: twoRegions,
    },
    sql: `WITH present AS (
      SELECT sotto_person, region, min(sotto_rank) AS first FROM rows WHERE age >= 18 GROUP BY sotto_person, region
      QUALIFY row_number() OVER (PARTITION BY sotto_person ORDER BY min(sotto_rank)) <= 2
    ) SELECT region, count(*) FROM present GROUP BY region`,
  },
  {
    what: 'sum of totals per person, clamped, all 20 rows each',
    source: 'people',
    aggregate: {
      where: adults,
      groupBy: [],
      statistics: [
        {
          kind: 'affine-sum',
          perPerson: { kind: 'sum', column: 'cost', lower: 0n, upper: 500_000n },
          factor: 1n,
          offset: 0n,
        },
      ],
      bounding: everything,
    },
    sql: `SELECT sum(total), count(total) FROM (
      SELECT greatest(0, least(500000, sum(cost))) AS total FROM rows WHERE age >= 18 GROUP BY sotto_person)`,
  },
  {
    what: 'one row per person: groupBy region, count and sum',
    source: 'rows',
    aggregate: {
      where: adults,
      groupBy: [region],
      statistics: [{ kind: 'count' }, cost],
      bounding: { kind: 'one-row-each' },
    },
    sql: 'SELECT region, count(*), sum(cost), count(cost) FROM rows WHERE age >= 18 GROUP BY region',
  },
]

/**
 * Measures aggregates over 10 million rows of 1.5 million people, in turns with the SQL that a user of DuckDB would
 * write for the same bounds, over the same file, with the same threads and memory.
 * @throws Error if the results differ.
 */
export async function boundingBenchmark(rows = ROWS): Promise<readonly BoundingFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-bounding-'))
  try {
    const files = { people: path.join(folder, 'people.duckdb'), rows: path.join(folder, 'rows.duckdb') }
    await writeTables(folder, files, rows)
    const figures: BoundingFigure[] = []
    for (const source of ['people', 'rows'] as const) {
      const work = WORK.filter((each) => each.source === source)
      figures.push(...(await compareAll(work, files[source], folder)))
    }
    return figures
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeTables(
  folder: string,
  files: Readonly<Record<BoundedWork['source'], string>>,
  rows: number,
): Promise<void> {
  const sourcePath = path.join(folder, 'source.parquet')
  const instance = await DuckDBInstance.create(':memory:', { threads: String(THREADS), memory_limit: '2GB' })
  const connection = await instance.connect()
  await connection.run(
    `COPY (SELECT ${SELECTED} FROM range(${rows}) t(i)) TO ${quoteLiteral(sourcePath)} (FORMAT parquet)`,
  )
  connection.disconnectSync()
  instance.closeSync()
  const ingestion = {
    sourcePath,
    format: 'parquet',
    limits: { threads: THREADS, memoryLimit: '2GB' },
  } as const
  const people = { kind: 'person', column: 'patient', maxRows: MAX_ROWS, key: KEY } as const
  await ingest({ ...ingestion, columns, privacyUnit: people, targetPath: files.people })
  const declared = columns.filter(({ type }) => type !== 'identifier')
  await ingest({ ...ingestion, columns: declared, privacyUnit: { kind: 'row' }, targetPath: files.rows })
  await rm(sourcePath)
}

async function compareAll(
  work: readonly BoundedWork[],
  file: string,
  folder: string,
): Promise<readonly BoundingFigure[]> {
  const engine = openDuckDbEngine({
    files: () => file,
    connectionsPerDataset: 1,
    threads: THREADS,
    memoryLimit: MEMORY_LIMIT,
    queryTimeoutMs: 600_000,
    temporaryDirectory: path.join(folder, 'temporary'),
    maxTemporaryDirectorySize: '8GB',
  })
  const instance = await DuckDBInstance.create(file, {
    access_mode: 'READ_ONLY',
    threads: String(THREADS),
    memory_limit: MEMORY_LIMIT,
    temp_directory: path.join(folder, 'temporary-raw'),
  })
  const connection = await instance.connect()
  try {
    const figures: BoundingFigure[] = []
    for (const each of work) {
      const dataset = datasetOf(each.source)
      await engine.open(dataset)
      figures.push(
        await compare(
          each,
          () => engine.aggregate(dataset, each.aggregate),
          () => readAll(connection, each.sql),
        ),
      )
    }
    return figures
  } finally {
    connection.disconnectSync()
    instance.closeSync()
    await engine.close()
  }
}

/** Measures an aggregate in turns with its SQL. @throws Error if the results differ. */
export async function compare(
  { what, aggregate }: Work,
  runSotto: () => Promise<readonly (readonly bigint[])[]>,
  runDuckDb: () => Promise<readonly (readonly unknown[])[]>,
): Promise<BoundingFigure> {
  requireEqual(what, aggregate, await runSotto(), await runDuckDb())
  const [sotto, duckDb]: [Duration[], Duration[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first of the two changes from round to round.
    if (round % 2 === 0) sotto.push(await timed(runSotto))
    duckDb.push(await timed(runDuckDb))
    if (round % 2 === 1) sotto.push(await timed(runSotto))
  }
  return {
    what,
    sottoMs: median(sotto.map(({ ms }) => ms)),
    duckDbMs: median(duckDb.map(({ ms }) => ms)),
    ratio: spread(sotto.map(({ ms }, round) => ms / (duckDb[round]?.ms ?? Number.NaN))),
    cpuRatio: spread(sotto.map(({ cpuMs }, round) => cpuMs / (duckDb[round]?.cpuMs ?? Number.NaN))),
  }
}

/** @throws Error unless DuckDB's rows hold the engine's integers, in the order of the cells. */
function requireEqual(
  what: string,
  { groupBy, statistics }: Aggregate,
  integers: readonly (readonly bigint[])[],
  rows: readonly (readonly unknown[])[],
): void {
  // A sum has a second column, the number of rows, which the affine part of these sums does not need.
  const widths = statistics.map(({ kind }) => (kind === 'affine-sum' ? 2 : 1))
  const cells = new Map(rows.map((row) => [groupBy.length === 0 ? 0 : Number(row[0]), row] as const))
  const expected = statistics.map((_, place) => {
    const column = widths.slice(0, place).reduce((sum, width) => sum + width, groupBy.length)
    return (integers[place] ?? []).map((_, cell) => BigInt(String(cells.get(cell)?.[column] ?? 0)))
  })
  if (!isDeepStrictEqual(integers, expected)) throw new Error(`${what}: the results differ`)
}

async function readAll(connection: DuckDBConnection, sql: string): Promise<readonly (readonly unknown[])[]> {
  return (await connection.runAndReadAll(sql)).getRows()
}

interface Duration {
  readonly ms: number
  readonly cpuMs: number
}

async function timed(work: () => Promise<unknown>): Promise<Duration> {
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(startCpu)
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1_000 }
}

function datasetOf(source: BoundedWork['source']): Dataset {
  const people = { kind: 'person', column: 'patient', maxRows: MAX_ROWS } as const
  return {
    id: source,
    title: source,
    version: '1',
    source: { kind: 'file', path: 'source.parquet', format: 'parquet' },
    columns,
    privacyUnit: source === 'people' ? people : { kind: 'row' },
    neighbours: 'add-remove',
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
}

function spread(ratios: readonly number[]): Spread {
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) }
}
