import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Column, FileFormat, Source } from '../src/core/dataset/dataset.ts'
import { joinTree } from '../src/core/dataset/joins.ts'
import { ingest } from '../src/engines/duckdb/ingestion/ingest.ts'
import { quoteLiteral } from '../src/engines/duckdb/instance.ts'
import { must } from '../src/privacy/must.ts'

/*
 * Ingestion of order lines with a chain of two references to customers and two public lookups, beside DuckDB's own join and
 * copy. Prints seconds, seconds of the processor, and the peak of memory of the whole process.
 * Run: `node bench/ingest-joined.ts csv|parquet [lines] [ingest|copy]`.
 */

const [FORMAT = 'csv', LINES = '1000000', ONLY = ''] = process.argv.slice(2)
const lines = Number(LINES)
const folder = await mkdtemp(path.join(tmpdir(), 'sotto-ingest-joined-'))
const format: FileFormat = FORMAT === 'parquet' ? 'parquet' : 'csv'
const fileOf = (name: string) => path.join(folder, `${name}.${format}`)
const SELECTS = {
  lines: `SELECT i % ${Math.ceil(lines / 4)} AS "order", hash(i) % 1000 AS product, hash(i + 1) % 600 AS cost, hash(i + 2) % 9 AS pieces FROM range(${lines}) AS r(i)`,
  orders: `SELECT i AS code, hash(i) % ${Math.ceil(lines / 20)} AS customer, hash(i + 5) % 50 AS shop FROM range(${Math.ceil(lines / 4)}) AS r(i)`,
  customers: `SELECT i AS id, 1930 + i % 80 AS born FROM range(${Math.ceil(lines / 20)}) AS r(i)`,
  products: 'SELECT i AS code, i % 90 AS weight FROM range(990) AS r(i)',
  shops: 'SELECT i AS code, i % 300 AS area FROM range(50) AS r(i)',
}
const names = Object.keys(SELECTS) as (keyof typeof SELECTS)[]

const facts = { nullable: true, invalidValue: { kind: 'null' } } as const
const index = (name: string, upperIndex: bigint): Column => ({
  ...{ ...facts, name, type: 'integer', stepNano: 1_000_000_000n, lowerIndex: 0n, upperIndex },
})
const columns: readonly Column[] = [
  { name: 'customers.id', type: 'identifier', nullable: false, invalidValue: { kind: 'refuse' } },
  index('lines.cost', 500n),
  index('lines.pieces', 10n),
  index('customers.born', 2_020n),
  index('products.weight', 100n),
  index('shops.area', 1_000n),
]
const unit = { kind: 'person', column: 'customers.id', maxRows: 40 } as const
const source: Source = {
  kind: 'joined',
  tables: Object.fromEntries(names.map((name) => [name, { kind: 'file', path: fileOf(name), format }])),
  joins: [
    { from: 'lines.order', to: 'orders.code', public: false },
    { from: 'orders.customer', to: 'customers.id', public: false },
    { from: 'lines.product', to: 'products.code', public: true },
    { from: 'orders.shop', to: 'shops.code', public: true },
  ],
}
const joins = must(
  joinTree({ source, privacyUnit: unit, columns: [] }, () => undefined),
  'the joins',
)

async function withDuckDb(target: string, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(target, {
    ...{ threads: '2', memory_limit: '500MB', temp_directory: `${folder}/temporary` },
  })
  const connection = await instance.connect()
  for (const sql of statements) await connection.run(sql)
  connection.disconnectSync()
  instance.closeSync()
}

const KEY = '0123456789abcdef'.repeat(4)
const WORK = {
  ingest: () =>
    ingest({
      tables: Object.fromEntries(names.map((name) => [name, { sourcePath: fileOf(name), format }])),
      ...{ joins, columns, privacyUnit: { ...unit, key: KEY }, targetPath: path.join(folder, 'ingested') },
    }),
  copy: () => {
    const read = (name: string) => `read_${format}(${quoteLiteral(fileOf(name))}) AS ${name}`
    return withDuckDb(path.join(folder, 'copied'), [
      `CREATE TABLE joined AS SELECT customers.id, cost, pieces, born, weight, area FROM ${read('lines')}
        JOIN ${read('orders')} ON lines."order" = orders.code JOIN ${read('customers')} ON orders.customer = customers.id
        LEFT JOIN ${read('products')} ON lines.product = products.code LEFT JOIN ${read('shops')} ON orders.shop = shops.code`,
      'CHECKPOINT',
    ])
  },
}

try {
  await withDuckDb(
    ':memory:',
    names.map((name) => `COPY (${SELECTS[name]}) TO ${quoteLiteral(fileOf(name))} (FORMAT ${format})`),
  )
  for (const [name, work] of Object.entries(WORK)) {
    if (ONLY !== '' && ONLY !== name) continue
    const [startMs, before] = [performance.now(), process.cpuUsage()]
    await work()
    const { user, system } = process.cpuUsage(before)
    const [seconds, cpu] = [(performance.now() - startMs) / 1000, (user + system) / 1e6]
    const peak = process.resourceUsage().maxRSS / 1024
    console.log(`${name}: ${seconds.toFixed(1)} s, processor ${cpu.toFixed(1)} s, peak ${peak.toFixed(0)} MB`)
  }
} finally {
  await rm(folder, { recursive: true })
}
