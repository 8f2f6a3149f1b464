import { loadavg } from 'node:os'
import { Client } from 'pg'
import type { Column, Dataset, Source } from '../src/core/dataset/dataset.ts'
import type { Aggregate } from '../src/core/planner/language/aggregate.ts'
import { openPostgresTables } from '../src/engines/postgres/engine.ts'
import { describeTables, type TableEngine, tablesOf } from '../src/engines/tables/table-engine.ts'
import { openTrinoEngine } from '../src/engines/trino/engine.ts'
import { startPostgresServer } from '../test/servers/postgres-server.ts'
import { startTrinoCluster } from '../test/servers/trino-server.ts'
import { measure } from './lineitem.ts'

/*
 * Queries over three tables that are joined in place, beside SQL written by hand that computes the same integers with the same
 * bounding of people. Run: `node bench/live-joins.ts postgres|trino [visits]`.
 */

const [NAME = 'postgres', VISITS = '1000000'] = process.argv.slice(2)
const ROUNDS = 5
const MAX_ROWS = 8
const KEY = '0123456789abcdef'.repeat(4)
const PATIENTS = Math.floor(Number(VISITS) / 4)
const facts = { nullable: false, invalidValue: { kind: 'refuse' } } as const
const index = (name: string, upperIndex: bigint, more: object = {}): Column => ({
  ...{ ...facts, name, type: 'integer', stepNano: 1_000_000_000n, lowerIndex: 0n, upperIndex },
  ...more,
})
const table = (name: string) =>
  ({ kind: 'table', connection: 'bench', table: `bench.${name}`, mode: 'live' }) as const
const source: Source = {
  kind: 'joined',
  tables: { visits: table('visits'), patients: table('patients'), hospitals: table('hospitals') },
  joins: [
    { from: 'visits.patient', to: 'patients.id', public: false },
    { from: 'visits.hospital', to: 'hospitals.code', public: true },
  ],
}
const unit = { kind: 'person', column: 'patients.id', maxRows: MAX_ROWS } as const
const dataset: Dataset = {
  ...{ id: 'visits', title: 'Visits', version: '1', source },
  columns: [
    { ...facts, name: 'patients.id', type: 'identifier' },
    index('visits.cost', 500n),
    index('patients.born', 2_020n, { constantPerPerson: true }),
    index('hospitals.beds', 1_000n, { nullable: true }),
  ],
  ...{ privacyUnit: unit, neighbours: 'add-remove', synthetic: true, accounting: 'basic' },
  ...{ sharing: false, timing: 'off', failureLimit: 3, queryLimits: {} },
}

const isTrino = NAME === 'trino'
const series = (last: number) =>
  isTrino
    ? `UNNEST(sequence(1, ${Math.ceil(last / 10_000)})) AS s(a) CROSS JOIN UNNEST(sequence(1, 10000)) AS t(b)`
    : `generate_series(1, ${last}) AS s(i)`
const i = isTrino ? '((a - 1) * 10000 + b)' : 'i'
const CREATE = [
  `CREATE TABLE bench.patients AS SELECT CAST(${i} AS INTEGER) AS id, CAST(1930 + ${i} % 80 AS INTEGER) AS born FROM ${series(PATIENTS)}`,
  `CREATE TABLE bench.hospitals AS SELECT CAST(${i} AS INTEGER) AS code, CAST(${i} % 1000 AS INTEGER) AS beds FROM ${series(isTrino ? 10_000 : 900)}`,
  `CREATE TABLE bench.visits AS SELECT CAST(1 + floor(random() * ${PATIENTS}) AS INTEGER) AS patient,
    CAST(1 + floor(random() * 1000) AS INTEGER) AS hospital, CAST(floor(random() * 600) AS INTEGER) AS cost FROM ${series(Number(VISITS))}`,
]

/** Each joined row in stored form, with its digest, as an expert would write it. */
const digest = (text: string) => (isTrino ? `md5(to_utf8(${text}))` : `md5(${text})::uuid`)
const JOINED = `SELECT person, cost, born, beds, ${digest(
  `concat('${KEY}', 'row', CAST(length(CAST(person AS VARCHAR)) AS VARCHAR), ':', CAST(person AS VARCHAR), CAST(cost AS VARCHAR), ',',
    CAST(born AS VARCHAR), ',', coalesce(CAST(beds AS VARCHAR), 'n'), ',')`,
)} AS digest FROM (SELECT p.id AS person, least(greatest(v.cost, 0), 500) AS cost, least(greatest(p.born, 0), 2020) AS born,
    CASE WHEN h.beds IS NOT NULL THEN least(greatest(h.beds, 0), 1000) END AS beds
  FROM bench.visits v JOIN bench.patients p ON p.id = v.patient LEFT JOIN bench.hospitals h ON h.code = v.hospital) AS joined`
const RANKED = `(SELECT *, row_number() OVER (PARTITION BY person ORDER BY digest) AS place FROM (${JOINED}) AS digested) AS ranked
  WHERE place <= ${MAX_ROWS}`

const sum = { kind: 'affine-sum', column: 'visits.cost', factor: 1n, offset: 0n } as const
const large = { kind: 'index-between', column: 'hospitals.beds', lower: 400n, upper: 1_000n } as const
const born = { kind: 'index-between', column: 'patients.born', lower: 1_950n, upper: 1_979n } as const
const rows = (count: number) => ({ kind: 'rows', rows: count }) as const
const QUERIES: readonly (readonly [name: string, aggregate: Aggregate, byHand: string])[] = [
  [
    'sum of up to 8 visits each',
    { groupBy: [], statistics: [sum], bounding: rows(8) },
    `SELECT sum(cost) FROM ${RANKED}`,
  ],
  [
    'sum of up to 3 visits each',
    { groupBy: [], statistics: [sum], bounding: rows(3) },
    `SELECT sum(cost) FROM ${RANKED} AND place <= 3`,
  ],
  [
    'the same of some people',
    { groupBy: [], statistics: [sum], where: born, bounding: rows(3) },
    `SELECT sum(cost) FROM ${RANKED} AND place <= 3 AND born BETWEEN 1950 AND 1979`,
  ],
  [
    'sum of up to 3 visits to large hospitals',
    { groupBy: [], statistics: [sum], where: large, bounding: rows(3) },
    `SELECT sum(cost) FROM (SELECT cost, row_number() OVER (PARTITION BY person ORDER BY place) AS kept
      FROM ${RANKED} AND beds >= 400) AS large WHERE kept <= 3`,
  ],
]

interface Database {
  readonly engine: TableEngine
  run(sql: string): Promise<readonly (readonly unknown[])[]>
  close(): Promise<void>
}

async function startPostgres(): Promise<Database> {
  const server = await startPostgresServer({ settings: { shared_buffers: '512MB' } })
  const client = new Client(server.url('postgres'))
  await client.connect()
  const run = async (text: string) => (await client.query({ text, rowMode: 'array' })).rows
  await run('CREATE SCHEMA bench')
  for (const sql of CREATE) await run(sql)
  await run('ALTER TABLE bench.patients ADD PRIMARY KEY (id), ALTER born SET NOT NULL')
  await run('ALTER TABLE bench.hospitals ADD PRIMARY KEY (code), ALTER beds SET NOT NULL')
  await run('ALTER TABLE bench.visits ALTER cost SET NOT NULL')
  await client.query('VACUUM ANALYZE')
  const engine = openPostgresTables({
    ...{ name: 'bench', engine: 'postgres', host: '127.0.0.1', port: server.port, database: 'postgres' },
    ...{ user: 'postgres', schema: 'bench', allowWritableRole: true },
    limits: { connections: 1, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
  })
  return { engine, run, close: () => client.end().then(() => server.remove()) }
}

async function startTrino(): Promise<Database> {
  const cluster = await startTrinoCluster()
  const run = (sql: string) => cluster.query(sql.replaceAll('bench.', 'iceberg.bench.'))
  await cluster.query('CREATE SCHEMA iceberg.bench')
  for (const sql of CREATE) await run(sql)
  const { hostname, port } = new URL(cluster.url)
  const engine = openTrinoEngine({
    ...{ name: 'bench', engine: 'trino', host: hostname, port: Number(port), user: 'bench' },
    ...{ catalog: 'iceberg', schema: 'bench' },
    limits: { connections: 1, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
  })
  return { engine, run, close: () => cluster.remove() }
}

const database = isTrino ? await startTrino() : await startPostgres()
try {
  const { engine, run } = database
  const named = tablesOf(dataset)
  const found = (await describeTables(engine, named)) ?? []
  const ends = source.joins.flatMap(({ from, to }) => [from, to])
  const columns = [...dataset.columns.map(({ name }) => name), ...ends].map((name) => {
    const column = found.find((each) => each.name === name)
    if (column === undefined) throw new Error(`there is no column ${name}`)
    return column
  })
  engine.open({ dataset, table: named, columns, unit: { ...unit, key: KEY } })
  for (const [name, aggregate, sql] of QUERIES) {
    const inPlace = async () => (await engine.aggregate(dataset, aggregate)).map((cells) => cells.map(String))
    const byHand = async () => {
      const answer = await run(sql)
      return (answer[0] ?? []).map((_, i) => answer.map((row) => String(row[i])))
    }
    const measured = await measure([inPlace, byHand], ROUNDS, 1)
    const [live = Number.NaN, hand = Number.NaN] = measured.map(({ medianMs }) => medianMs)
    const isSame = new Set(measured.map(({ answer }) => JSON.stringify(answer))).size === 1
    console.log(
      `${name.padEnd(42)} live ${live.toFixed(0)} ms, by hand ${hand.toFixed(0)} ms, ratio ${(live / hand).toFixed(2)}${isSame ? '' : ' DIFFERENT'}`,
    )
  }
  console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`)
  await engine.close()
} finally {
  await database.close()
}
