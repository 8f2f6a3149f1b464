import { Client } from 'pg'
import type { Column, Dataset } from '../src/catalog/dataset.ts'
import { openPostgresTables } from '../src/engines/postgres/engine.ts'
import type { Aggregate } from '../src/planner/aggregate.ts'
import { startPostgresServer } from '../test/postgres-server.ts'

/*
 * Queries over a PostgreSQL table that is read in place, beside SQL written by hand that computes the same integers. The
 * table has the columns and ranges of TPC-H's lineitem, made up by the server. Run: `node bench/live-postgres.ts [rows]`.
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
const dataset: Dataset = {
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
const bounding = { kind: 'one-row-each' } as const

/** Names of queries, each with its aggregate and SQL that computes the same integers, with a place for checks. */
const QUERIES: readonly (readonly [string, Aggregate, (checks: string) => string])[] = [
  [
    'count of a year',
    {
      ...{ bounding, groupBy: [], statistics: [{ kind: 'count' }] },
      where: {
        kind: 'index-between',
        column: 'l_shipdate',
        lower: dayOf('1994-01-01'),
        upper: dayOf('1994-12-31'),
      },
    },
    (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' AND ${checks}`,
  ],
  [
    'sum of prices',
    { bounding, groupBy: [], statistics: [sumOf('l_extendedprice')] },
    (checks) => `SELECT sum(${price}) FROM lineitem WHERE ${checks}`,
  ],
  [
    'sums by flag and status',
    {
      ...{ bounding, statistics: [sumOf('l_quantity'), sumOf('l_extendedprice')] },
      groupBy: [
        { kind: 'category', column: 'l_returnflag', size: 3, nullCell: false },
        { kind: 'category', column: 'l_linestatus', size: 2, nullCell: false },
      ],
    },
    (checks) =>
      `SELECT sum(${quantity}), sum(${price}) FROM lineitem WHERE ${checks} GROUP BY ${FLAG}, ${STATUS} ORDER BY ${FLAG}, ${STATUS}`,
  ],
  [
    'histogram of quantities',
    {
      ...{ bounding, statistics: [{ kind: 'count' }] },
      groupBy: [
        {
          ...{ kind: 'bins', column: 'l_quantity', nullCell: false },
          edges: Array.from({ length: 51 }, (_, bin) => BigInt(bin * 100 + 1)),
        },
      ],
    },
    (checks) =>
      `SELECT count(*) FROM lineitem WHERE l_quantity >= 0.005 AND ${checks} GROUP BY (${quantity} - 1) / 100 ORDER BY (${quantity} - 1) / 100`,
  ],
  [
    'sum of products',
    {
      ...{ bounding, groupBy: [] },
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
  ],
]

const server = await startPostgresServer({ settings: { shared_buffers: '1GB' } })
try {
  const client = new Client(server.url('postgres'))
  await client.connect()
  await client.query(CREATE)
  for (const { name } of columns) await client.query(`ALTER TABLE lineitem ALTER ${name} SET NOT NULL`)
  await client.query('VACUUM ANALYZE lineitem')
  const engine = openPostgresTables({
    ...{ name: 'bench', engine: 'postgres', host: '127.0.0.1', port: server.port, database: 'postgres' },
    ...{ user: 'postgres', schema: 'public', allowWritableRole: true },
    limits: { connections: 1, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
  })
  const found = (await engine.describe({ name: 'lineitem' })) ?? []
  const sources = columns.map(({ name }) => {
    const source = found.find((each) => each.name === name)
    if (source === undefined) throw new Error('the table lacks a column')
    return source
  })
  engine.open({ dataset, table: { name: 'lineitem' }, columns: sources, unit: { kind: 'row' } })
  for (const [name, aggregate, sqlWith] of QUERIES) {
    const byHand = (checks: string) => async () => {
      const { rows } = await client.query({ text: sqlWith(checks), rowMode: 'array' })
      return (rows[0] ?? []).map((_: unknown, i: number) => rows.map((row) => String(row[i])))
    }
    const inPlace = async () => (await engine.aggregate(dataset, aggregate)).map((cells) => cells.map(String))
    const [live, checked, unchecked] = await measure([inPlace, byHand(CHECKS), byHand('TRUE')])
    if (live === undefined || checked === undefined || unchecked === undefined) throw new Error('no figures')
    if (new Set([live, checked, unchecked].map(({ answer }) => JSON.stringify(answer))).size > 1)
      throw new Error(`the integers of ${name} differ`)
    const ms = [live, checked, unchecked].map((each) => each.ms.toFixed(0))
    console.log(
      `${name.padEnd(26)} live ${ms[0]} ms, by hand ${ms[1]} ms, ratio ${(live.ms / checked.ms).toFixed(2)}; ` +
        `by hand without checks ${ms[2]} ms, ratio ${(live.ms / unchecked.ms).toFixed(2)}`,
    )
  }
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
