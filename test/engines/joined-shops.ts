import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Column, Dataset, Source } from '../../src/core/dataset/dataset.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import {
  describeTables,
  type TableDataset,
  type TableEngine,
  tablesOf,
} from '../../src/engines/tables/table-engine.ts'
import { column, datasetOf } from './fixture.ts'

/*
 * Order lines, their orders, the customers of these, and public products, joined in a database. The reference joins them by
 * the definitions, and loads the result as one table.
 */

/** References that are often missing, and sometimes lead nowhere. Text is compared character by character: 01 is not 1. */
const reference = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 6 }).map(String) },
  fc.constantFrom(null, ' ', '01', '99', 'a', 'A'),
)
const number = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 6 }).map(String) },
  fc.constantFrom(null, '99'),
)
const shops = fc.record({
  lines: fc.array(fc.tuple(number, reference, fc.constantFrom('0', '3', '20')), {
    minLength: 15,
    maxLength: 40,
  }),
  orders: fc.uniqueArray(fc.tuple(number, reference, fc.constantFrom('shop', 'web', null)), {
    minLength: 5,
    maxLength: 8,
    selector: ([code]) => code ?? {},
  }),
  // Customers may be listed twice.
  customers: fc.array(fc.tuple(reference, fc.constantFrom('7', '70')), { minLength: 5, maxLength: 10 }),
  products: fc.integer({ min: 1, max: 6 }),
  dangling: fc.constantFrom('null' as const, 'drop' as const),
})
type Shop = typeof shops extends fc.Arbitrary<infer Drawn> ? Drawn : never

/** The digest that orders the rows of a person, whose identifier comes first. */
function digest(texts: readonly (string | null)[]) {
  const canonical = texts.map((text) => (text === null ? 'n,' : `${text.length}:${text}`))
  return createHash('md5')
    .update(`${KEY}row${canonical.join('')}`)
    .digest('hex')
}

/** The row of a customer that stands for all: that of the lowest digest. */
function rowOf(customers: Shop['customers'], id: string | null | undefined) {
  return customers
    .flatMap((row) => (row[0] === null || row[0].trim() === '' || row[0] !== id ? [] : [row]))
    .map((row) => ({ row, digest: digest([row[0] ?? '', row[0] ?? '', row[1]]) }))
    .sort((a, b) => (a.digest < b.digest ? -1 : 1))[0]?.row
}

/** The pairs of two orders and two lines of each customer, named in a line as its product, by the definitions. */
function pairsOf({ lines, orders, customers }: Shop) {
  const kept = <Row>(rows: readonly Row[], id: string, valuesOf: (row: Row) => readonly (string | null)[]) =>
    rows
      .map((row) => ({ row, digest: digest([id, ...valuesOf(row)]) }))
      .sort((a, b) => (a.digest < b.digest ? -1 : 1))
      .slice(0, 2)
      .map(({ row }) => row)
  return [...new Set(customers.map(([id]) => id))].flatMap((each) => {
    const owner = rowOf(customers, each)
    const id = owner?.[0] ?? ''
    if (owner === undefined) return []
    const age = owner[1]
    const own = orders.filter(([, customer]) => customer === id)
    const others = lines.filter(([, product]) => product === id)
    const [ones, twos] = [
      kept(own, id, ([, , channel]) => [id, channel, age]),
      kept(others, id, ([, , pieces]) => [pieces]),
    ]
    return ones.flatMap(([, , channel]) => twos.map(([, , pieces]) => [id, pieces, channel, age, null]))
  })
}

/** The joined rows by the definitions. */
function joinedRows({ lines, orders, customers, products, dangling }: Shop) {
  return lines.flatMap(([order, product, pieces]) => {
    const of = orders.find(([code]) => code !== null && code === order)
    const owner = rowOf(customers, of?.[1])
    const isFound = Array.from({ length: products }, (_, code) => String(code)).includes(product ?? '')
    if (of === undefined || owner === undefined || (!isFound && dangling === 'drop')) return []
    return [[owner[0], pieces, of[2], owner[1], isFound ? `product ${product}` : null]]
  })
}

const columns: readonly Column[] = [
  column.identifier('customers.id'),
  column.integer('lines.pieces', 0n, 20n),
  column.category('orders.channel', ['shop', 'web']),
  { ...column.integer('customers.age', 0n, 99n), constantPerPerson: true } as Column,
  column.string('products.name'),
]
const KEY = 'ab'.repeat(32)
const unit = { kind: 'person', column: 'customers.id', maxRows: 3 } as const
const joinsOf = (dangling: 'null' | 'drop') =>
  [
    { from: 'orders.customer', to: 'customers.id', public: false },
    { from: 'lines.product', to: 'products.code', public: true, dangling },
    { from: 'lines.order', to: 'orders.code', public: false },
  ] as const
/** Declares a dataset over tables of a database. */
export async function tableOf(
  engine: TableEngine,
  source: Source,
  id: string,
  declared = columns,
  privacyUnit: Dataset['privacyUnit'] = unit,
): Promise<TableDataset> {
  const dataset: Dataset = { ...datasetOf(declared, id), source, privacyUnit }
  const table = tablesOf(dataset)
  const found = (await describeTables(engine, table)) ?? []
  const ends = source.kind === 'joined' ? source.joins.flatMap(({ from, to }) => [from, to]) : []
  const located = [...declared.map(({ name }) => name), ...ends].map(
    (name) => found.find((each) => each.name === name) ?? expect.unreachable(name),
  )
  const keyed = privacyUnit.kind === 'row' ? privacyUnit : { ...privacyUnit, key: KEY }
  return { dataset, table, columns: located, unit: keyed }
}

/** A live table in the schema `public`. */
export const liveTable = (name: string) =>
  ({ kind: 'table', connection: 'w', table: `public.${name}`, mode: 'live' }) as const

/** A table of counts and a sum, with people and a bound of rows. */
export const question: Aggregate = {
  groupBy: [{ kind: 'category', column: 'orders.channel', size: 2, nullCell: true }],
  statistics: [
    { kind: 'count' },
    { kind: 'count', where: { kind: 'is-null', column: 'products.name' } },
    {
      kind: 'count-people',
      where: { kind: 'index-between', column: 'customers.age', lower: 50n, upper: 99n },
    },
    { kind: 'affine-sum', column: 'lines.pieces', factor: 1n, offset: 0n },
  ],
  bounding: { kind: 'rows', rows: 2 },
}

/** The database of a suite. */
export interface Shops {
  readonly engine: TableEngine
  /** Replaces the rows of a table. */
  insert(name: string, rows: readonly (readonly (string | null)[])[]): Promise<void>
}

/** Loads a shop as tables, and returns them joined. */
export async function loadShop(shops: Shops, shop: Shop): Promise<TableDataset> {
  await insertShop(shops, shop)
  const tables = Object.fromEntries(
    ['customers', 'lines', 'orders', 'products'].map((each) => [each, liveTable(each)]),
  )
  return tableOf(shops.engine, { kind: 'joined', tables, joins: [...joinsOf(shop.dangling)] }, 'joined')
}

/** Loads a shop as tables, and returns its orders and lines as two facts of customers. */
async function loadFacts(shops: Shops, shop: Shop): Promise<TableDataset> {
  await insertShop(shops, shop)
  const tables = Object.fromEntries(['customers', 'lines', 'orders'].map((each) => [each, liveTable(each)]))
  const joins = [
    { from: 'customers.id', to: 'lines.product', public: false, maxRows: { orders: 2, lines: 2 } },
    { from: 'orders.customer', to: 'customers.id', public: false },
  ]
  return tableOf(shops.engine, { kind: 'joined', tables, joins }, 'facts', columns.slice(0, 4))
}

async function insertShop({ insert }: Shops, shop: Shop): Promise<void> {
  const products = Array.from({ length: shop.products }, (_, code) => [String(code), `product ${code}`])
  const { lines, orders, customers } = shop
  const inserted = Object.entries({ lines, orders, customers, products })
  await Promise.all(inserted.map(([name, rows]) => insert(name, rows)))
}

/** Reads the rows of a table, sorted. */
async function rowsOf(engine: TableEngine, table: TableDataset): Promise<readonly string[]> {
  const read: string[] = []
  for await (const rows of engine.read(table)) read.push(...rows.map((row) => JSON.stringify(row)))
  return read.sort()
}

/** The shop without a person in all tables. */
function without(shop: Shop, person: string): Shop {
  const orders = shop.orders.filter(([, customer]) => customer === person).map(([code]) => code)
  return {
    ...shop,
    lines: shop.lines.filter(([order]) => order === null || !orders.includes(order)),
    orders: shop.orders.filter(([, customer]) => customer !== person),
    customers: shop.customers.filter(([id]) => id !== person),
  }
}

/** Tests joins in a database whose tables lines, orders, customers, products and flat exist. */
export function testJoins(shopsOf: () => Shops, numRuns: number): void {
  it('have the rows and the integers of the joined rows in one table', async () => {
    const { engine, insert } = shopsOf()
    await fc.assert(
      fc.asyncProperty(shops, fc.constantFrom('0', '1', 'a'), async (shop, person) => {
        await insert('flat', joinedRows(shop))
        const [joined, flat] = [
          await loadShop(shopsOf(), shop),
          await tableOf(engine, liveTable('flat'), 'flat'),
        ]
        const rows = await rowsOf(engine, joined)
        expect(rows).toEqual(await rowsOf(engine, flat))
        const { joined: counts, ...inspected } = await engine.inspect(joined)
        expect(inspected).toEqual(await engine.inspect(flat))
        expect(counts?.rowsRead).toBe(shop.lines.length)
        const people = shop.customers.flatMap(([id]) => ((id ?? '').trim() === '' ? [] : [id]))
        expect(counts?.people).toBe(new Set(people).size)
        for (const table of [joined, flat]) engine.open(table)
        try {
          expect(await engine.aggregate(joined.dataset, question)).toEqual(
            await engine.aggregate(flat.dataset, question),
          )
        } finally {
          for (const table of [joined, flat]) await engine.closeDataset(table.dataset)
        }
        // Without a person in all tables, exactly that person's rows are missing.
        const others = await rowsOf(engine, await loadShop(shopsOf(), without(shop, person)))
        expect(others).toEqual(rows.filter((row) => JSON.parse(row)[0] !== person))
      }),
      { numRuns },
    )
  })

  it('of two facts are the pairs of the rows that their people keep', async () => {
    const { engine, insert } = shopsOf()
    const counts: number[] = []
    await fc.assert(
      fc.asyncProperty(shops, fc.constantFrom('0', '1', 'a'), async (shop, person) => {
        // Customer 1 has more rows of either fact than are kept.
        const busy: Shop = {
          ...shop,
          lines: [
            ...shop.lines,
            ...(['0', '3', '20'] as const).map((pieces) => ['1', '1', pieces] as [string, string, '0']),
          ],
          orders: shop.orders.map(([code, customer, channel], i) => [code, i < 3 ? '1' : customer, channel]),
          customers: [...shop.customers, ['1', '7']],
        }
        await insert('flat', pairsOf(busy))
        const joined = await loadFacts(shopsOf(), busy)
        const flat = await tableOf(engine, liveTable('flat'), 'flat', columns.slice(0, 4))
        const rows = await rowsOf(engine, joined)
        counts.push(rows.length)
        expect(rows).toEqual(await rowsOf(engine, flat))
        const { joined: inspected, ...others } = await engine.inspect(joined)
        expect(others).toEqual(await engine.inspect(flat))
        const [, facts] = inspected?.joins ?? []
        expect(facts).toMatchObject({ repeated: 0, combined: rows.length })
        for (const table of [joined, flat]) engine.open(table)
        const asked = {
          ...question,
          statistics: question.statistics.filter(
            (each) => !('where' in each) || each.where?.kind !== 'is-null',
          ),
        }
        try {
          expect(await engine.aggregate(joined.dataset, asked)).toEqual(
            await engine.aggregate(flat.dataset, asked),
          )
        } finally {
          for (const table of [joined, flat]) await engine.closeDataset(table.dataset)
        }
        const left = without(busy, person)
        const ofOthers = { ...left, lines: busy.lines.filter(([, product]) => product !== person) }
        expect(await rowsOf(engine, await loadFacts(shopsOf(), ofOthers))).toEqual(
          rows.filter((row) => JSON.parse(row)[0] !== person),
        )
      }),
      { numRuns },
    )
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(4)
  })
}
