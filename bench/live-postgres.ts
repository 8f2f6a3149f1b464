import { loadavg } from 'node:os'
import { Client } from 'pg'
import type { Column, Dataset } from '../src/catalog/dataset.ts'
import type { KeyedPrivacyUnit } from '../src/catalog/person-key.ts'
import { openPostgresTables } from '../src/engines/postgres/engine.ts'
import type { Aggregate, Bounding } from '../src/planner/aggregate.ts'
import { startPostgresServer } from '../test/postgres-server.ts'

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

const CENT = 10_000_000n
const facts = { nullable: false, invalidValue: { kind: 'refuse' } } as const
const cents = (name: string, upperIndex: bigint): Column => ({
  ...{ ...facts, name, upperIndex },
  ...{ type: 'number', stepNano: CENT, lowerIndex: 0n },
})
const category = (name: string, categories: readonly string[]): Column => ({
  ...facts,
  name,
  type: 'category',
  categories,
})
const dayOf = (date: string) => BigInt(Date.parse(date) / 86_400_000)
const columns: readonly Column[] = [
  cents('l_quantity', 5_000n),
  cents('l_extendedprice', 11_000_000n),
  cents('l_discount', 10n),
  category('l_returnflag', ['A', 'N', 'R']),
  category('l_linestatus', ['F', 'O']),
  {
    ...{ ...facts, name: 'l_shipdate', type: 'date', dateFormat: 'YYYY-MM-DD', stepNano: 1_000_000_000n },
    ...{ lowerIndex: dayOf('1992-01-01'), upperIndex: dayOf('1998-12-31') },
  },
]
const ofRows: Dataset = {
  ...{
    id: 'lineitem',
    title: 'lineitem',
    version: '1',
    columns,
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
  },
  ...{
    source: { kind: 'file', path: 'none.csv', format: 'csv' },
    synthetic: true,
    accounting: 'basic',
    sharing: false,
  },
  ...{ timing: 'off', failureLimit: 3, queryLimits: {} },
}

const identifier: Column = {
  ...{ name: 'l_partkey', type: 'identifier', nullable: false },
  invalidValue: { kind: 'refuse' },
}
const MAX_ROWS = 20
const KEY = '0123456789abcdef'.repeat(4)
const unit = { kind: 'person', column: 'l_partkey', maxRows: MAX_ROWS } as const
const ofPeople: Dataset = { ...ofRows, id: 'people', columns: [identifier, ...columns], privacyUnit: unit }

const clamped = (column: string, upper: number) => `least(greatest((${column} * 100)::int8, 0), ${upper})`
const [quantity, price, discount] = [
  clamped('l_quantity', 5_000),
  clamped('l_extendedprice', 11_000_000),
  clamped('l_discount', 10),
]
const FLAG = "CASE l_returnflag WHEN 'A' THEN 0 WHEN 'N' THEN 1 WHEN 'R' THEN 2 END"
const STATUS = "CASE l_linestatus WHEN 'F' THEN 0 WHEN 'O' THEN 1 END"
/** An expert's checks for the values that the declaration excludes, cheap ones first. */
const CHECKS = `l_quantity <> 'NaN' AND l_extendedprice <> 'NaN' AND l_discount <> 'NaN'
  AND l_linestatus IN ('F', 'O') AND l_returnflag IN ('A', 'N', 'R')`
const sumOf = (column: string) => ({ kind: 'affine-sum', column, factor: 1n, offset: 0n }) as const

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

/**
 * Queries: their names and aggregates, and SQL that computes the same integers: for rows, with a place for checks, and for
 * people, with a place for ranked rows.
 */
const QUERIES: readonly (readonly [
  name: string,
  aggregate: Omit<Aggregate, 'bounding'>,
  ofRows: (checks: string) => string,
  ofPeople: (rows: string) => string,
])[] = [
  [
    'count of a year',
    {
      ...{ groupBy: [], statistics: [{ kind: 'count' }] },
      where: {
        kind: 'index-between',
        column: 'l_shipdate',
        lower: dayOf('1994-01-01'),
        upper: dayOf('1994-12-31'),
      },
    },
    (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' AND ${checks}`,
    (rows) => `SELECT count(*) FROM ${rows} AND l_shipdate BETWEEN '1994-01-01' AND '1994-12-31'`,
  ],
  [
    'sum of prices',
    { groupBy: [], statistics: [sumOf('l_extendedprice')] },
    (checks) => `SELECT sum(${price}) FROM lineitem WHERE ${checks}`,
    (rows) => `SELECT sum(price) FROM ${rows}`,
  ],
  [
    'sums by flag and status',
    {
      statistics: [sumOf('l_quantity'), sumOf('l_extendedprice')],
      groupBy: [
        { kind: 'category', column: 'l_returnflag', size: 3, nullCell: false },
        { kind: 'category', column: 'l_linestatus', size: 2, nullCell: false },
      ],
    },
    (checks) =>
      `SELECT sum(${quantity}), sum(${price}) FROM lineitem WHERE ${checks} GROUP BY ${FLAG}, ${STATUS} ORDER BY ${FLAG}, ${STATUS}`,
    (rows) => `SELECT sum(quantity), sum(price) FROM ${rows} GROUP BY flag, status ORDER BY flag, status`,
  ],
  [
    'histogram of quantities',
    {
      statistics: [{ kind: 'count' }],
      groupBy: [
        {
          ...{ kind: 'bins', column: 'l_quantity', nullCell: false },
          edges: Array.from({ length: 51 }, (_, bin) => BigInt(bin * 100 + 1)),
        },
      ],
    },
    (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_quantity >= 0.005 AND ${checks} GROUP BY (${quantity} - 1) / 100 ORDER BY (${quantity} - 1) / 100`,
    (rows) =>
      `SELECT count(*) FROM ${rows} AND quantity > 0 GROUP BY (quantity - 1) / 100 ORDER BY (quantity - 1) / 100`,
  ],
  [
    'sum of products',
    {
      ...{ groupBy: [] },
      statistics: [
        {
          kind: 'affine-product-sum',
          terms: [
            { column: 'l_quantity', factor: 1n, offset: 0n },
            { column: 'l_discount', factor: 1n, offset: 0n },
          ],
        },
      ],
    },
    (checks) => `SELECT sum(${quantity} * ${discount}) FROM lineitem WHERE ${checks}`,
    (rows) => `SELECT sum(quantity * discount) FROM ${rows}`,
  ],
]

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
  const found = (await engine.describe({ name: 'lineitem' })) ?? []
  const open = (dataset: Dataset, keyed: KeyedPrivacyUnit) => {
    const sources = dataset.columns.map(({ name }) => {
      const source = found.find((each) => each.name === name)
      if (source === undefined) throw new Error('the table lacks a column')
      return source
    })
    engine.open({ dataset, table: { name: 'lineitem' }, columns: sources, unit: keyed })
  }
  open(ofRows, { kind: 'row' })
  open(ofPeople, { ...unit, key: KEY })
  /** Prints the times of a query in place and of statements that must compute the same integers. */
  const compare = async (name: string, dataset: Dataset, aggregate: Aggregate, texts: readonly string[]) => {
    const inPlace = async () => (await engine.aggregate(dataset, aggregate)).map((cells) => cells.map(String))
    const byHand = texts.map((text) => async () => {
      const { rows } = await client.query({ text, rowMode: 'array' })
      return (rows[0] ?? []).map((_: unknown, i: number) => rows.map((row) => String(row[i])))
    })
    const measured = await measure([inPlace, ...byHand])
    if (new Set(measured.map(({ answer }) => JSON.stringify(answer))).size > 1)
      throw new Error(`the integers of ${name} differ`)
    const [live = Number.NaN, ...others] = measured.map(({ ms }) => ms)
    const figures = others.map((ms) => `by hand ${ms.toFixed(0)} ms, ratio ${(live / ms).toFixed(2)}`)
    console.log(`${name.padEnd(34)} live ${live.toFixed(0)} ms, ${figures.join('; without checks: ')}`)
  }
  for (const [name, aggregate, sqlWith] of QUERIES) {
    const texts = [sqlWith(CHECKS), sqlWith('TRUE')]
    await compare(name, ofRows, { ...aggregate, bounding: { kind: 'one-row-each' } }, texts)
  }
  for (const [name, aggregate, , sqlWith] of QUERIES) {
    const texts = [sqlWith(rankedRows(CHECKS)), sqlWith(rankedRows('TRUE'))]
    const bounding: Bounding = { kind: 'rows', rows: MAX_ROWS }
    await compare(`${name} of people`, ofPeople, { ...aggregate, bounding }, texts)
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

/** The median time of each of several works that take turns, after a turn that is not measured, and its last answer. */
async function measure<Answer>(
  works: readonly (() => Promise<Answer>)[],
): Promise<readonly { readonly ms: number; readonly answer: Answer }[]> {
  const measured = []
  for (const work of works) measured.push({ work, answer: await work(), times: [] as number[] })
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const each of measured) {
      const start = performance.now()
      each.answer = await each.work()
      each.times.push(performance.now() - start)
    }
  }
  return measured.map(({ answer, times }) => ({
    ms: times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN,
    answer,
  }))
}
