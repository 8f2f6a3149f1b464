import { expect, test } from 'vitest'
import type { JoinedSource } from '../../../src/core/dataset/dataset.ts'
import { joinTree, withConstants } from '../../../src/core/dataset/joins.ts'

type Declaration = Parameters<typeof joinTree>[0]
type Join = JoinedSource['joins'][number]

const file = (path: string) => ({ kind: 'file', path, format: 'csv' }) as const
const owner = (from: string, to: string, facts: Partial<Join> = {}): Join => ({
  from,
  to,
  public: false,
  ...facts,
})
const lookup = (from: string, to: string, facts: Partial<Join> = {}): Join => ({
  from,
  to,
  public: true,
  ...facts,
})
const boolean = (name: string) => ({ name, type: 'boolean', nullable: false }) as const
const identifier = (name: string) => ({ name, type: 'identifier', nullable: false }) as const

/** Order lines of customers: lines, orders, customers; products and regions are public. */
const shop = (
  changes: Partial<Declaration> = {},
  joins: readonly Join[] = JOINS,
  more: readonly string[] = [],
): Declaration => ({
  source: {
    kind: 'joined',
    tables: Object.fromEntries(
      ['lines', 'orders', 'customers', 'products', 'regions', ...more].map((name) => [
        name,
        file(`${name}.csv`),
      ]),
    ),
    joins,
  },
  columns: [
    identifier('customers.id'),
    boolean('lines.gift'),
    boolean('orders.express'),
    boolean('customers.adult'),
    boolean('products.fresh'),
    boolean('regions.island'),
  ],
  privacyUnit: { kind: 'person', column: 'customers.id', maxRows: 5 },
  ...changes,
})
const JOINS = [
  lookup('customers.region', 'regions.code'),
  owner('lines.order', 'orders.id'),
  lookup('lines.product', 'products.id', { dangling: 'drop' }),
  owner('orders.customer', 'customers.id'),
]

function brokenBy(declaration: Declaration): readonly string[] {
  const fields: string[] = []
  joinTree(declaration, (field, rule) => fields.push(`${field}: ${rule}`))
  return fields
}

test('joins are arranged from the rows to the people', () => {
  const tree = joinTree(shop(), (field, rule) => expect.unreachable(`${field}: ${rule}`))
  expect(tree).toMatchObject({ root: 'lines', people: 'customers' })
  expect(tree?.joins.map(({ to, dangling }) => `${to.table} ${dangling}`)).toEqual([
    'orders drop',
    'products drop',
    'customers drop',
    'regions null',
  ])
})

test('columns of people, and of what is looked up for them, have one value per person', () => {
  const constant = withConstants(shop()).flatMap((column) =>
    'constantPerPerson' in column && column.constantPerPerson ? [column.name] : [],
  )
  expect(constant).toEqual(['customers.adult', 'regions.island'])
})

const RETURNS = [
  ...JOINS,
  owner('customers.id', 'returns.customer', { maxRows: { lines: 3, returns: 2 } }),
  lookup('returns.reason', 'reasons.code'),
]
const withReturns = (joins: readonly Join[] = RETURNS, changes: Partial<Declaration> = {}): Declaration =>
  shop(
    { columns: [...shop().columns, boolean('returns.late'), boolean('reasons.fault')], ...changes },
    joins,
    ['returns', 'reasons'],
  )

test('two facts of a person are two sides, and only the person is constant', () => {
  const tree = joinTree(withReturns(), (field, rule) => expect.unreachable(`${field}: ${rule}`))
  expect(
    tree?.facts?.sides.map(({ root, people, joins, maxRows }) => [root, people, joins.length, maxRows]),
  ).toEqual([
    ['lines', 'customers', 4, 3],
    ['returns', 'returns', 1, 2],
  ])
  const constant = withConstants(withReturns()).flatMap((column) =>
    'constantPerPerson' in column && column.constantPerPerson ? [column.name] : [],
  )
  expect(constant).toEqual(['customers.adult', 'regions.island'])
})

test.each<[string, Declaration, string]>([
  [
    'facts of another person',
    withReturns(
      RETURNS.with(4, owner('orders.gift', 'returns.customer', { maxRows: { lines: 3, returns: 2 } })),
    ),
    'source.joins.4.from: must be customers.id, the column of the privacy unit',
  ],
  [
    'facts behind facts',
    withReturns(RETURNS.with(5, owner('returns.reason', 'reasons.code'))),
    'source.joins.5: must start from customers',
  ],
  [
    'facts without a bound',
    withReturns(RETURNS.with(4, owner('customers.id', 'returns.customer', { maxRows: { lines: 3 } }))),
    'source.joins.4.maxRows.returns: must be the largest number of rows of a person',
  ],
  [
    'a bound of another table',
    withReturns(
      RETURNS.with(
        4,
        owner('customers.id', 'returns.customer', { maxRows: { lines: 3, returns: 2, orders: 1 } }),
      ),
    ),
    'source.joins.4.maxRows.orders: must be absent: the facts are lines and returns',
  ],
  [
    'three facts',
    withReturns(
      RETURNS.with(5, owner('customers.id', 'reasons.code', { maxRows: { lines: 3, reasons: 2 } })),
    ),
    'source.joins.5.maxRows: must be in one join at most',
  ],
  [
    'public facts',
    withReturns(
      RETURNS.with(4, lookup('customers.id', 'returns.customer', { maxRows: { lines: 3, returns: 2 } })),
    ),
    'source.joins.4.maxRows: must be absent for a public table',
  ],
  [
    'a row of one fact alone',
    withReturns(
      RETURNS.with(
        4,
        owner('customers.id', 'returns.customer', { maxRows: { lines: 3, returns: 2 }, dangling: 'null' }),
      ),
    ),
    'source.joins.4.dangling: must be "drop": a row combines both facts',
  ],
  [
    'more rows than two facts can have',
    withReturns(RETURNS, { privacyUnit: { kind: 'person', column: 'customers.id', maxRows: 7 } }),
    'privacyUnit.maxRows: must be at most 6 = 3 * 2',
  ],
  [
    'facts where each row is another person',
    {
      ...withReturns(),
      source: {
        kind: 'joined',
        tables: { lines: file('a.csv'), returns: file('b.csv') },
        joins: [owner('lines.id', 'returns.id', { maxRows: { lines: 1, returns: 1 } })],
      },
      privacyUnit: { kind: 'row' },
    },
    'source.joins.0.maxRows: must be absent where each row is another person',
  ],
  [
    'a row of somebody else',
    shop({}, [...JOINS, owner('lines.seller', 'sellers.id')], ['sellers']),
    'source.joins.4: must start from orders, so that every row belongs to one person: a row of sellers could be ' +
      'somebody else\'s. Declare "public": true if sellers is not about people',
  ],
  [
    'people behind a public table',
    shop({}, [...JOINS, owner('products.maker', 'makers.id')], ['makers']),
    'source.joins.4: must start from customers',
  ],
  [
    'a path that does not end at the identifier',
    shop({ privacyUnit: { kind: 'person', column: 'orders.id', maxRows: 5 } }),
    'privacyUnit.column: must be customers.id, at which the joins of people end',
  ],
  [
    'people where each row is another person',
    shop({ privacyUnit: { kind: 'row' } }),
    'source.joins.1.public: must be true where each row is another person',
  ],
  [
    'a table to which two joins lead',
    shop({}, [...JOINS, lookup('orders.gift', 'products.id')]),
    'source.joins.4.to: must not lead to a table to which another join leads',
  ],
  ['a table to which none leads', shop({}, JOINS, ['months']), 'source.tables.months: must be joined'],
  [
    'a circle',
    shop({}, [...JOINS, lookup('b.key', 'a.key'), lookup('a.key', 'b.key')], ['a', 'b']),
    'source.joins.4.from: must not be part of a circle',
  ],
  [
    'a circle of all tables',
    shop({}, [...JOINS, lookup('regions.line', 'lines.id')]),
    'source.joins: must not lead in a circle',
  ],
  [
    'an unknown table',
    shop({}, [...JOINS, lookup('lines.month', 'months.id')]),
    'source.joins.4.to: must name a column of one of the tables lines, orders,',
  ],
  [
    'a row without its person',
    shop({}, JOINS.with(1, owner('lines.order', 'orders.id', { dangling: 'null' }))),
    'source.joins.1.dangling: must be "drop" or "refuse"',
  ],
  [
    'a column without its table',
    shop({ columns: [identifier('customers.id'), boolean('gift')] }),
    'columns.1.name: must be table.column',
  ],
  [
    'a long chain',
    shop(
      { privacyUnit: { kind: 'person', column: 'b.id', maxRows: 5 } },
      [...JOINS, owner('customers.a', 'a.id'), owner('a.b', 'b.id')],
      ['a', 'b'],
    ),
    'source.joins: must lead to the people over at most 4 tables; these are 5',
  ],
])('refused: %s', (_, declaration, rule) => {
  expect(brokenBy(declaration)[0]).toContain(rule)
})
