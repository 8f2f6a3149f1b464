import { loadavg } from 'node:os'
import type { TrinoConnection } from '../src/engines/tables/connection.ts'
import { openTrinoClient } from '../src/engines/trino/connection.ts'
import { describeTable } from '../src/engines/trino/describe.ts'
import { openTrinoEngine } from '../src/engines/trino/engine.ts'
import { startTrinoCluster } from '../test/servers/trino-server.ts'
import { AGGREGATES, FLAG, lineitem, measure, type QueryName, STATUS } from './lineitem.ts'

/*
 * Queries over an Iceberg table that Trino reads in place, beside SQL written by hand that computes the same integers and
 * leaves out the same rows: those with NULL, or with a category that is not declared. The table is TPC-H's lineitem, which
 * Trino's connector `tpch` generates. A cluster of two nodes is started. Run: `node bench/live-trino.ts [scale [rounds]]`.
 */

const SCALE = process.argv[2] ?? '1'
const ROUNDS = Number(process.argv[3] ?? 7)
const WARM_UPS = 2

const TABLE = 'iceberg.bench.lineitem'
const CREATE = [
  'CREATE SCHEMA iceberg.bench',
  `CREATE TABLE ${TABLE} (
    l_quantity DECIMAL(15, 2) NOT NULL, l_extendedprice DECIMAL(15, 2) NOT NULL, l_discount DECIMAL(15, 2) NOT NULL,
    l_returnflag VARCHAR NOT NULL, l_linestatus VARCHAR NOT NULL, l_shipdate DATE NOT NULL)`,
  `INSERT INTO ${TABLE} SELECT CAST(quantity AS DECIMAL(15, 2)), CAST(extendedprice AS DECIMAL(15, 2)),
    CAST(discount AS DECIMAL(15, 2)), returnflag, linestatus, shipdate FROM tpch.sf${SCALE}.lineitem`,
]

const clamped = (column: string, upper: number) =>
  `least(greatest(CAST(${column} * 100 AS BIGINT), 0), ${upper})`
const [quantity, price, discount] = [
  clamped('l_quantity', 5_000),
  clamped('l_extendedprice', 11_000_000),
  clamped('l_discount', 10),
]
const isPresent = lineitem.columns.map(({ name }) => `${name} IS NOT NULL`).join(' AND ')
const ROWS = `FROM ${TABLE} WHERE l_returnflag IN ('A', 'N', 'R') AND l_linestatus IN ('F', 'O') AND ${isPresent}`

/** SQL that computes the same integers as each query. */
const BY_HAND: Readonly<Record<QueryName, string>> = {
  'count of a year': `SELECT count(*) ${ROWS} AND l_shipdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31'`,
  'sum of prices': `SELECT sum(${price}) ${ROWS}`,
  'sums by flag and status': `SELECT sum(${quantity}), sum(${price}) ${ROWS} GROUP BY ${FLAG} * 2 + ${STATUS}`,
  'histogram of quantities': `SELECT count(*) ${ROWS} AND l_quantity >= 0.005 GROUP BY (${quantity} - 1) / 100`,
  'sum of products': `SELECT sum(${quantity} * ${discount}) ${ROWS}`,
}

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
  engine.open({ dataset: lineitem, table, columns: sources, unit: { kind: 'row' } })
  const [comparison] = await measure([() => describeTable(run, table)], ROUNDS, WARM_UPS)
  console.log(`comparison of the columns: ${comparison?.shortestMs.toFixed(0)} ms, beside each live query`)
  for (const [name, sql] of Object.entries(BY_HAND)) {
    const aggregate = { ...AGGREGATES[name as QueryName], bounding: { kind: 'one-row-each' } } as const
    const inPlace = async () =>
      (await engine.aggregate(lineitem, aggregate)).map((cells) => cells.map(String))
    const byHand = async () => {
      const rows: (readonly unknown[])[] = []
      for await (const page of run(sql)) rows.push(...page)
      return (rows[0] ?? []).map((_, i) => rows.map((row) => String(row[i])))
    }
    const [live, raw] = await measure([inPlace, byHand], ROUNDS, WARM_UPS)
    if (live === undefined || raw === undefined) throw new Error('no figures')
    if (JSON.stringify(sorted(live.answer)) !== JSON.stringify(sorted(raw.answer)))
      throw new Error(`the integers of ${name} differ`)
    console.log(
      `${name.padEnd(24)} live ${live.shortestMs.toFixed(0)} ms, by hand ${raw.shortestMs.toFixed(0)} ms, ratio ` +
        `${(live.shortestMs / raw.shortestMs).toFixed(2)}; medians ${live.medianMs.toFixed(0)} and ` +
        `${raw.medianMs.toFixed(0)} ms, ratio ${(live.medianMs / raw.medianMs).toFixed(2)}`,
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

/** The rows of an answer without their order, and without cells that no row is in, which SQL by hand does not have. */
function sorted(columns: readonly (readonly string[])[]): readonly string[] {
  const rows = (columns[0] ?? []).map((_, i) => columns.map((column) => column[i] ?? '').join(' '))
  return rows.filter((row) => !/^0( 0)*$/.test(row)).sort()
}
