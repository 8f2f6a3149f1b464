import { loadavg } from 'node:os'
import type { Column, Dataset } from '../src/catalog/dataset.ts'
import type { TrinoConnection } from '../src/engines/tables/connection.ts'
import { openTrinoClient } from '../src/engines/trino/client.ts'
import { openTrinoEngine } from '../src/engines/trino/engine.ts'
import { describeTable } from '../src/engines/trino/statements.ts'
import type { Aggregate } from '../src/planner/aggregate.ts'
import { startTrinoCluster } from '../test/trino-server.ts'

/*
 * Queries over an Iceberg table that Trino reads in place, beside SQL written by hand that computes the same integers and
 * leaves out the same rows: those with a category that is not declared. The table is TPC-H's lineitem, which Trino's
 * connector `tpch` generates. A cluster of two nodes is started. Run: `node bench/live-trino.ts [scale]`.
 */

const SCALE = process.argv[2] ?? '1'
const ROUNDS = 7

const TABLE = 'iceberg.bench.lineitem'
const CREATE = [
  'CREATE SCHEMA iceberg.bench',
  `CREATE TABLE ${TABLE} (
    quantity DECIMAL(15, 2) NOT NULL, extendedprice DECIMAL(15, 2) NOT NULL, discount DECIMAL(15, 2) NOT NULL,
    returnflag VARCHAR NOT NULL, linestatus VARCHAR NOT NULL, shipdate DATE NOT NULL)`,
  `INSERT INTO ${TABLE} SELECT CAST(quantity AS DECIMAL(15, 2)), CAST(extendedprice AS DECIMAL(15, 2)),
    CAST(discount AS DECIMAL(15, 2)), returnflag, linestatus, shipdate FROM tpch.sf${SCALE}.lineitem`,
]

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
  cents('quantity', 5_000n),
  cents('extendedprice', 11_000_000n),
  cents('discount', 10n),
  category('returnflag', ['A', 'N', 'R']),
  category('linestatus', ['F', 'O']),
  {
    ...{ ...facts, name: 'shipdate', type: 'date', dateFormat: 'YYYY-MM-DD', stepNano: 1_000_000_000n },
    ...{ lowerIndex: dayOf('1992-01-01'), upperIndex: dayOf('1998-12-31') },
  },
]
const dataset: Dataset = {
  ...{ id: 'lineitem', title: 'lineitem', version: '1', columns },
  ...{ privacyUnit: { kind: 'row' }, neighbours: 'add-remove', synthetic: true, accounting: 'basic' },
  source: { kind: 'file', path: 'none.csv', format: 'csv' },
  ...{ sharing: false, timing: 'off', failureLimit: 3, queryLimits: {} },
}

const clamped = (column: string, upper: number) =>
  `least(greatest(CAST(${column} * 100 AS BIGINT), 0), ${upper})`
const [quantity, price, discount] = [
  clamped('quantity', 5_000),
  clamped('extendedprice', 11_000_000),
  clamped('discount', 10),
]
const FLAG = "CASE returnflag WHEN 'A' THEN 0 WHEN 'N' THEN 1 WHEN 'R' THEN 2 END"
const STATUS = "CASE linestatus WHEN 'F' THEN 0 WHEN 'O' THEN 1 END"
const ROWS = `FROM ${TABLE} WHERE returnflag IN ('A', 'N', 'R') AND linestatus IN ('F', 'O')`
const sumOf = (column: string) => ({ kind: 'affine-sum', column, factor: 1n, offset: 0n }) as const
const bounding = { kind: 'one-row-each' } as const

/** Names of queries, each with its aggregate and the SQL that computes the same integers. */
const QUERIES: readonly (readonly [string, Aggregate, string])[] = [
  [
    'count of a year',
    {
      ...{ bounding, groupBy: [], statistics: [{ kind: 'count' }] },
      where: {
        kind: 'index-between',
        column: 'shipdate',
        lower: dayOf('1994-01-01'),
        upper: dayOf('1994-12-31'),
      },
    },
    `SELECT count(*) ${ROWS} AND shipdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31'`,
  ],
  [
    'sum of prices',
    { bounding, groupBy: [], statistics: [sumOf('extendedprice')] },
    `SELECT sum(${price}) ${ROWS}`,
  ],
  [
    'sums by flag and status',
    {
      ...{ bounding, statistics: [sumOf('quantity'), sumOf('extendedprice')] },
      groupBy: [
        { kind: 'category', column: 'returnflag', size: 3, nullCell: false },
        { kind: 'category', column: 'linestatus', size: 2, nullCell: false },
      ],
    },
    `SELECT coalesce(q, 0), coalesce(p, 0) FROM UNNEST(sequence(0, 5)) AS cells(cell) LEFT JOIN (
       SELECT ${FLAG} * 2 + ${STATUS} AS cell, sum(${quantity}) AS q, sum(${price}) AS p ${ROWS} GROUP BY 1
     ) USING (cell) ORDER BY cell`,
  ],
  [
    'histogram of quantities',
    {
      ...{ bounding, statistics: [{ kind: 'count' }] },
      groupBy: [
        {
          ...{ kind: 'bins', column: 'quantity', nullCell: false },
          edges: Array.from({ length: 51 }, (_, bin) => BigInt(bin * 100 + 1)),
        },
      ],
    },
    `SELECT count(*) ${ROWS} AND ${quantity} > 0 GROUP BY (${quantity} - 1) / 100 ORDER BY (${quantity} - 1) / 100`,
  ],
  [
    'sum of products',
    {
      ...{ bounding, groupBy: [] },
      statistics: [
        {
          kind: 'affine-product-sum',
          terms: [
            { column: 'quantity', factor: 1n, offset: 0n },
            { column: 'discount', factor: 1n, offset: 0n },
          ],
        },
      ],
    },
    `SELECT sum(${quantity} * ${discount}) ${ROWS}`,
  ],
]

const cluster = await startTrinoCluster()
try {
  for (const sql of CREATE) await cluster.query(sql)
  const { hostname, port } = new URL(cluster.url)
  const connection: TrinoConnection = {
    ...{ name: 'bench', engine: 'trino', host: hostname, port: Number(port), user: 'bench' },
    ...{ catalog: 'iceberg', schema: 'bench' },
    limits: { connections: 1, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 },
  }
  const client = openTrinoClient(connection)
  /** Runs a statement with the same client as the engine, whose cost is that of the protocol. */
  const run = (sql: string) => client.run(sql, { signal: new AbortController().signal, timeoutMs: 600_000 })
  const engine = openTrinoEngine(connection)
  const table = { schema: 'bench', name: 'lineitem' }
  const sources = (await engine.describe(table)) ?? []
  engine.open({ dataset, table, columns: sources, unit: { kind: 'row' } })
  const check = await measure([() => describeTable(run, table)])
  console.log(`comparison of the columns: ${check[0]?.ms.toFixed(0)} ms, in each live query`)
  for (const [name, aggregate, sql] of QUERIES) {
    const [live, raw] = await measure([
      async () => (await engine.aggregate(dataset, aggregate)).map((cells) => cells.map(String)),
      async () => {
        const rows: (readonly unknown[])[] = []
        for await (const page of run(sql)) rows.push(...page)
        return rows[0]?.map((_, i) => rows.map((row) => String(row[i])))
      },
    ])
    if (live === undefined || raw === undefined || JSON.stringify(live.answer) !== JSON.stringify(raw.answer))
      throw new Error(`the integers of ${name} differ`)
    const alone = live.ms - (check[0]?.ms ?? 0)
    console.log(
      `${name.padEnd(24)} live ${live.ms.toFixed(0)} ms, without the comparison ${alone.toFixed(0)} ms, by hand ` +
        `${raw.ms.toFixed(0)} ms, ratios ${(live.ms / raw.ms).toFixed(2)} and ${(alone / raw.ms).toFixed(2)}`,
    )
  }
  console.log(
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  )
  await engine.close()
  client.close()
} finally {
  await cluster.remove()
}

/** The shortest time of each work in several rounds, which take turns after two that are not measured, and its answer. */
async function measure<Answer>(
  works: readonly (() => Promise<Answer>)[],
): Promise<readonly { readonly ms: number; readonly answer: Answer }[]> {
  const best: { ms: number; answer: Answer }[] = []
  for (let round = -2; round < ROUNDS; round += 1) {
    for (const [i, work] of works.entries()) {
      const start = performance.now()
      const answer = await work()
      const ms = performance.now() - start
      best[i] = { ms: round < 0 ? Number.POSITIVE_INFINITY : Math.min(ms, best[i]?.ms ?? ms), answer }
    }
  }
  return best
}
