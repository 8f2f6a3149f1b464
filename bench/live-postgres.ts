import { loadavg } from 'node:os'
import { Client } from 'pg'
import type { Column, Dataset, KeyedPrivacyUnit } from '../src/core/dataset/dataset.ts'
import type { Aggregate, Bounding } from '../src/core/planner/language/aggregate.ts'
import { openPostgresTables } from '../src/engines/postgres/engine.ts'
import { startPostgresServer } from '../test/servers/postgres-server.ts'
import { AGGREGATES, FLAG, lineitem, measure, type QueryName, STATUS } from './lineitem.ts'

/*
 * Queries over a PostgreSQL table that is read in place, beside SQL written by hand that computes the same integers: first
 * with a privacy unit of one row, then with people of 30 rows on average, of which 20 count. The table has the columns and
 * ranges of TPC-H's lineitem, made up by the server. Run: `node bench/live-postgres.ts [rows]`.
 */

const ROWS = Number(process.argv[2] ?? 6_000_000)
const ROUNDS = 5

const CREATE = `CREATE TABLE lineitem AS SELECT
  (1 + random() * 199999)::int4 AS l_partkey,
  (1 + floor(random() * 50))::numeric(15,2) AS l_quantity,
  (900 + random() * 104000)::numeric(15,2) AS l_extendedprice,
  (random() * 0.1)::numeric(15,2) AS l_discount,
  (ARRAY['A', 'N', 'R'])[1 + floor(random() * 3)::int]::char(1) AS l_returnflag,
  (ARRAY['F', 'O'])[1 + floor(random() * 2)::int]::char(1) AS l_linestatus,
  DATE '1992-01-02' + (random() * 2526)::int AS l_shipdate
  FROM generate_series(1, ${ROWS})`

const identifier: Column = {
  ...{ name: 'l_partkey', type: 'identifier', nullable: false },
  invalidValue: { kind: 'refuse' },
}
const MAX_ROWS = 20
const KEY = '0123456789abcdef'.repeat(4)
const unit = { kind: 'person', column: 'l_partkey', maxRows: MAX_ROWS } as const
const ofPeople: Dataset = {
  ...{ ...lineitem, id: 'people', columns: [identifier, ...lineitem.columns] },
  privacyUnit: unit,
}

const clamped = (column: string, upper: number) => `least(greatest((${column} * 100)::int8, 0), ${upper})`
const [quantity, price, discount] = [
  clamped('l_quantity', 5_000),
  clamped('l_extendedprice', 11_000_000),
  clamped('l_discount', 10),
]
/** An expert's checks for the values that the declaration excludes, cheap ones first. */
const CHECKS = `l_quantity <> 'NaN' AND l_extendedprice <> 'NaN' AND l_discount <> 'NaN'
  AND l_linestatus IN ('F', 'O') AND l_returnflag IN ('A', 'N', 'R')`

/** Each row in stored form, with its place among the rows of its person. */
const rankedRows = (
  checks: string,
) => `(SELECT l_shipdate, quantity, price, discount, flag, status, row_number() OVER (
    PARTITION BY l_partkey ORDER BY md5(concat(
      '${KEY}row', length(l_partkey::text), ':', l_partkey, quantity, ',', price, ',', discount, ',',
      flag, ',', status, ',', l_shipdate - DATE '1970-01-01', ','))::uuid) AS place
  FROM (SELECT l_partkey, least(greatest(l_shipdate, '1992-01-01'), '1998-12-31') AS l_shipdate, ${quantity} AS quantity,
    ${price} AS price, ${discount} AS discount, ${FLAG} AS flag, ${STATUS} AS status
    FROM lineitem WHERE ${checks}) AS stored) AS ranked WHERE place <= ${MAX_ROWS}`

/** SQL that computes the same integers: for rows, with a place for checks, and for people, with a place for ranked rows. */
interface ByHand {
  readonly ofRows: (checks: string) => string
  readonly ofPeople: (rows: string) => string
}

const BY_HAND: Readonly<Record<QueryName, ByHand>> = {
  'count of a year': {
    ofRows: (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' AND ${checks}`,
    ofPeople: (rows) => `SELECT count(*) FROM ${rows} AND l_shipdate BETWEEN '1994-01-01' AND '1994-12-31'`,
  },
  'sum of prices': {
    ofRows: (checks) => `SELECT sum(${price}) FROM lineitem WHERE ${checks}`,
    ofPeople: (rows) => `SELECT sum(price) FROM ${rows}`,
  },
  'sums by flag and status': {
    ofRows: (checks) =>
      `SELECT sum(${quantity}), sum(${price}) FROM lineitem WHERE ${checks} GROUP BY ${FLAG}, ${STATUS} ORDER BY ${FLAG}, ${STATUS}`,
    ofPeople: (rows) =>
      `SELECT sum(quantity), sum(price) FROM ${rows} GROUP BY flag, status ORDER BY flag, status`,
  },
  'histogram of quantities': {
    ofRows: (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_quantity >= 0.005 AND ${checks} GROUP BY (${quantity} - 1) / 100 ORDER BY (${quantity} - 1) / 100`,
    ofPeople: (rows) =>
      `SELECT count(*) FROM ${rows} AND quantity > 0 GROUP BY (quantity - 1) / 100 ORDER BY (quantity - 1) / 100`,
  },
  'sum of products': {
    ofRows: (checks) => `SELECT sum(${quantity} * ${discount}) FROM lineitem WHERE ${checks}`,
    ofPeople: (rows) => `SELECT sum(quantity * discount) FROM ${rows}`,
  },
}

const server = await startPostgresServer({ settings: { shared_buffers: '1GB' } })
try {
  const client = new Client(server.url('postgres'))
  await client.connect()
  await client.query(CREATE)
  for (const { name } of ofPeople.columns)
    await client.query(`ALTER TABLE lineitem ALTER ${name} SET NOT NULL`)
  await client.query('VACUUM ANALYZE lineitem')
  const engine = openPostgresTables({
    ...{ name: 'bench', engine: 'postgres', host: '127.0.0.1', port: server.port, database: 'postgres' },
    ...{ user: 'postgres', schema: 'public', allowWritableRole: true },
    limits: { connections: 1, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
  })
  const found = (await engine.describe({ schema: 'public', name: 'lineitem' })) ?? []
  const open = (dataset: Dataset, keyed: KeyedPrivacyUnit) => {
    const sources = dataset.columns.map(({ name }) => {
      const source = found.find((each) => each.name === name)
      if (source === undefined) throw new Error('the table lacks a column')
      return source
    })
    engine.open({ dataset, table: { schema: 'public', name: 'lineitem' }, columns: sources, unit: keyed })
  }
  open(lineitem, { kind: 'row' })
  open(ofPeople, { ...unit, key: KEY })
  /** Prints the times of a query in place and of statements that must compute the same integers. */
  const compare = async (name: string, dataset: Dataset, aggregate: Aggregate, texts: readonly string[]) => {
    const inPlace = async () => (await engine.aggregate(dataset, aggregate)).map((cells) => cells.map(String))
    const byHand = texts.map((text) => async () => {
      const { rows } = await client.query({ text, rowMode: 'array' })
      return (rows[0] ?? []).map((_: unknown, i: number) => rows.map((row) => String(row[i])))
    })
    const measured = await measure([inPlace, ...byHand], ROUNDS, 1)
    if (new Set(measured.map(({ answer }) => JSON.stringify(answer))).size > 1)
      throw new Error(`the integers of ${name} differ`)
    const [live = Number.NaN, ...others] = measured.map(({ medianMs }) => medianMs)
    const figures = others.map((ms) => `by hand ${ms.toFixed(0)} ms, ratio ${(live / ms).toFixed(2)}`)
    console.log(`${name.padEnd(34)} live ${live.toFixed(0)} ms, ${figures.join('; without checks: ')}`)
  }
  const names = Object.keys(AGGREGATES) as QueryName[]
  for (const name of names) {
    const texts = [CHECKS, 'TRUE'].map((checks) => BY_HAND[name].ofRows(checks))
    await compare(name, lineitem, { ...AGGREGATES[name], bounding: { kind: 'one-row-each' } }, texts)
  }
  for (const name of names) {
    const texts = [CHECKS, 'TRUE'].map((checks) => BY_HAND[name].ofPeople(rankedRows(checks)))
    const bounding: Bounding = { kind: 'rows', rows: MAX_ROWS }
    await compare(`${name} of people`, ofPeople, { ...AGGREGATES[name], bounding }, texts)
  }
  console.log(
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  )
  await engine.close()
  await client.end()
} finally {
  await server.remove()
}
