import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import { type JoinTree, joinTree } from '../../../../src/core/dataset/joins.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { cases } from '../../../cases.ts'
import { folderForAll } from '../../../folders.ts'
import { column, storedRows } from '../../fixture.ts'

/*
 * Order lines, their orders, the customers of these, and public products. The reference joins them by the definitions, and
 * ingests the result as one file.
 */

const folder = folderForAll()
const KEY = '5a'.repeat(32)

const columns: readonly Column[] = [
  column.identifier('customers.id'),
  column.integer('lines.pieces', 0n, 20n),
  column.category('orders.channel', ['shop', 'web']),
  { ...column.integer('customers.age', 0n, 99n), constantPerPerson: true } as Column,
  column.string('products.name'),
]

interface Shop {
  readonly lines: readonly { readonly order: string; readonly product: string; readonly pieces: number }[]
  readonly orders: readonly { readonly customer: string; readonly channel: string }[]
  readonly customers: readonly { readonly id: string; readonly age: string }[]
  readonly products: number
}

/** References that are often missing, and sometimes lead nowhere. Text is compared character by character: 01 is not 1. */
const reference = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 6 }).map(String) },
  fc.constantFrom('', ' ', '01', '99', 'ß'),
)
const shops: fc.Arbitrary<Shop> = fc.record({
  lines: fc.array(
    fc.record({ order: reference, product: reference, pieces: fc.integer({ min: 0, max: 20 }) }),
    { minLength: 15, maxLength: 40 },
  ),
  orders: fc.array(fc.record({ customer: reference, channel: fc.constantFrom('shop', 'web', '') }), {
    minLength: 5,
    maxLength: 8,
  }),
  // Customers may be listed twice.
  customers: fc.array(fc.record({ id: reference, age: fc.integer({ min: 0, max: 99 }).map(String) }), {
    minLength: 5,
    maxLength: 8,
  }),
  products: fc.integer({ min: 1, max: 6 }),
})

function treeOf(dangling: 'null' | 'drop'): JoinTree {
  const file = { kind: 'file', path: 'x.csv', format: 'csv' } as const
  const source = {
    kind: 'joined',
    tables: { customers: file, lines: file, orders: file, products: file },
    joins: [
      { from: 'orders.customer', to: 'customers.id', public: false },
      { from: 'lines.product', to: 'products.code', public: true, dangling },
      { from: 'lines.order', to: 'orders.code', public: false },
    ],
  } as const
  const privacyUnit = { kind: 'person', column: 'customers.id', maxRows: 3 } as const
  const tree = joinTree({ source, privacyUnit, columns: [] }, (field, rule) =>
    expect.unreachable(`${field}: ${rule}`),
  )
  return tree ?? expect.unreachable('no tree')
}

let files = 0
async function csv(header: string, rows: readonly (readonly unknown[])[]) {
  const sourcePath = join(folder.path, `file${files++}.csv`)
  const quoted = rows.map((row) => row.map((value) => (value === '' ? '' : `"${value}"`)).join(','))
  await writeFile(sourcePath, `${[header, ...quoted].join('\n')}\n`)
  return { sourcePath, format: 'csv' } as const
}

async function ingested(source: Parameters<typeof ingest>[0] extends infer _ ? object : never) {
  const targetPath = join(folder.path, `rows${files++}.duckdb`)
  const unit = { kind: 'person', column: 'customers.id', maxRows: 3, key: KEY } as const
  const terms = { columns, privacyUnit: unit, targetPath, limits: { threads: 1 } }
  const counts = await ingest({ ...terms, ...source } as Parameters<typeof ingest>[0])
  const stored = [...columns.slice(1), column.integer('sotto_rank', 1n, 3n)]
  const rows = await storedRows(targetPath, [...stored, column.integer('sotto_person', 0n, 99n)])
  return { counts, rows: rows.map((row) => JSON.stringify(row, textOfBigInt)).sort() }
}

const textOfBigInt = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

const ingestJoined = async ({ lines, orders, customers, products }: Shop, dangling: 'null' | 'drop') =>
  ingested({
    joins: treeOf(dangling),
    tables: {
      lines: await csv(
        'pieces,order,product',
        lines.map((line) => [line.pieces, line.order, line.product]),
      ),
      orders: await csv(
        'code,customer,channel',
        orders.map((each, code) => [code, each.customer, each.channel]),
      ),
      customers: await csv(
        'age,id',
        customers.map(({ age, id }) => [age, id]),
      ),
      products: await csv(
        'code,name',
        Array.from({ length: products }, (_, code) => [code, `product ${code}`]),
      ),
    },
  })

/** The joined rows by the definitions: people once, and no line without an order of one of them. */
function joinedRows({ lines, orders, customers, products }: Shop, dangling: 'null' | 'drop') {
  return lines.flatMap(({ order, product, pieces }) => {
    const of = orders.find((_, code) => String(code) === order)
    const owner = customers.find(({ id }) => id.trim() !== '' && id === of?.customer)
    const name = Array.from({ length: products }, (_, code) => code).includes(Number(product || 'x'))
    const found = name && String(Number(product)) === product
    if (of === undefined || owner === undefined || (!found && dangling === 'drop')) return []
    return [[owner.id, pieces, of.channel, owner.age, found ? `product ${product}` : '']]
  })
}

test('joined files have the rows of their join in one file', async () => {
  await fc.assert(
    fc.asyncProperty(shops, fc.constantFrom('null' as const, 'drop' as const), async (shop, dangling) => {
      const once = {
        ...shop,
        customers: shop.customers.filter(
          ({ id }, i) => shop.customers.findIndex((other) => other.id === id) === i,
        ),
      }
      const expected = joinedRows(once, dangling)
      const joined = await ingestJoined(once, dangling)
      const flat = await ingested(await csv(columns.map(({ name }) => `"${name}"`).join(','), expected))
      expect(joined.rows).toEqual(flat.rows)
      expect(joined.counts.rowsRead).toBe(once.lines.length)
      expect(joined.counts.people).toBe(once.customers.filter(({ id }) => id.trim() !== '').length)
      expect(joined.counts.rowsBeyondMaxRows).toBe(flat.counts.rowsBeyondMaxRows)
    }),
    { numRuns: cases(15) },
  )
})

test('the shops have rows that are dropped, rows without a product, and people beyond their bound', () => {
  const drawn = fc.sample(shops, { numRuns: 50, seed: 7 })
  const rows = drawn.flatMap((shop) => joinedRows(shop, 'null'))
  const lines = drawn.reduce((sum, shop) => sum + shop.lines.length, 0)
  expect(rows.length).toBeGreaterThan(0.2 * lines)
  expect(rows.length).toBeLessThan(0.8 * lines)
  expect(rows.filter(([, , , , name]) => name === '').length).toBeGreaterThan(0.1 * rows.length)
  const people = drawn.flatMap((shop) =>
    shop.customers.map(({ id }) => joinedRows(shop, 'null').filter(([owner]) => owner === id).length),
  )
  expect(people.filter((number) => number > 3).length).toBeGreaterThan(20)
})

test('without a person in all tables, exactly that person’s rows are missing', async () => {
  await fc.assert(
    fc.asyncProperty(shops, fc.constantFrom('0', '1', '2'), async (shop, person) => {
      const of = new Set(
        shop.orders.flatMap(({ customer }, code) => (customer === person ? [String(code)] : [])),
      )
      const without = {
        ...shop,
        // The codes of orders are their places, so that an order stays without its customer.
        orders: shop.orders.map((each) => (each.customer === person ? { ...each, customer: '' } : each)),
        lines: shop.lines.filter(({ order }) => !of.has(order)),
        customers: shop.customers.filter(({ id }) => id !== person),
      }
      const [all, others] = [await ingestJoined(shop, 'null'), await ingestJoined(without, 'null')]
      const anonymous = (rows: readonly string[]) =>
        rows.map((row) => row.replace(/"sotto_person":"?\d+"?/, ''))
      const left = anonymous(all.rows)
      for (const row of anonymous(others.rows)) {
        const place = left.indexOf(row)
        expect(place).toBeGreaterThanOrEqual(0)
        left.splice(place, 1)
      }
      // What is missing are rows of one person, of whom at most three are kept.
      expect(left.length).toBeLessThanOrEqual(3)
      if (shop.lines.some(({ order }) => of.has(order)) && shop.customers.some(({ id }) => id === person))
        expect(left.length).toBeGreaterThan(0)
    }),
    { numRuns: cases(15) },
  )
})
