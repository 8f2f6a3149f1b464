import fc from 'fast-check'
import type { Column } from '../../src/core/dataset/dataset.ts'
import {
  type Aggregate,
  type Bounding,
  type CellCounting,
  type Clamp,
  type GroupKey,
  LARGEST_SQUARED_INDEX,
  type PersonValue,
  type Predicate,
  type Statistic,
  type ValueCounting,
} from '../../src/core/planner/language/aggregate.ts'
import { column } from './fixture.ts'

/** The largest magnitude of an index. */
export const LARGEST = 2n ** 53n
/** The largest magnitude of an index whose square DuckDB computes in 64 bits. */
export const MIDDLING = 2n ** 31n
const CATEGORIES = ['a', 'b', "c'", '日本']
/** Columns of every type, with narrow and wide bounds. */
export const columns: readonly Column[] = [
  column.integer('small', -3n, 12n),
  column.integer('cell', -LARGEST, LARGEST),
  column.number('x', 1n, -LARGEST, LARGEST),
  column.integer('middling', -MIDDLING, MIDDLING),
  column.integer('wide', -LARGEST_SQUARED_INDEX, LARGEST_SQUARED_INDEX),
  column.date('day', '2024-02-26', '2024-03-03'),
  column.timestamp('hour', '1969-12-31T12:00:00Z', '1970-01-01T12:00:00Z', { step: 3600n }),
  column.category('group', CATEGORIES),
  column.boolean('flag'),
  column.string('Name with spaces'),
]

/** Texts for each column, valid and invalid, as a file may contain them. */
const texts: Readonly<Record<string, readonly string[]>> = {
  small: ['-3', '-2', '0', '1', '5', '5', '11', '12', '99', '', 'nan', '1.5'],
  cell: ['0', '1', '-1', '1e400', '-inf', '9007199254740993', '-9007199254740991', '', '0x10', '42'],
  x: ['0.5', '-0.0000000005', '1e400', '-1e400', 'nan', '', '9007199.254740991', '1e-9', 'oops'],
  middling: ['0', '-1', '7', '1e400', '-inf', '2147483647', ''],
  wide: ['0', '-1', '7', '1e400', '-inf', '35184372088831', ''],
  day: ['2024-02-26', '2024-02-29', '2024-03-03', '1900-01-01', '9999-12-31', '2024-02-30', ''],
  hour: [
    '1969-12-31T20:00:00Z',
    '1970-01-01',
    '1970-01-01 02:29:59',
    '1970-01-01 02:30',
    '2024-01-01',
    'x',
    '',
  ],
  group: ['a', 'b', "c'", '日本', 'd', ''],
  flag: ['true', 'false', 'maybe', ''],
  'Name with spaces': ['x', '""', '', "'; DROP TABLE rows; --", '日本', '\u0000', '%'],
}
const strings = ['x', '', "'; DROP TABLE rows; --", '日本', '\u0000', '%', 'y']

/** A CSV file of random rows. */
export function randomRows(rows: number, seed: number): string {
  const choices = columns.map(({ name }) => fc.constantFrom(...(texts[name] ?? [])))
  const lines = fc.sample(fc.tuple(...choices), { numRuns: rows, seed }).map((fields) => fields.join(','))
  return `${columns.map(({ name }) => name).join(',')}\n${lines.map((line) => `${line}\n`).join('')}`
}

/** Names of columns. */
export const numericNames = fc.constantFrom('small', 'cell', 'x', 'middling', 'wide', 'day', 'hour')
const anyName = fc.constantFrom(...columns.map(({ name }) => name))
const index = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt(-4n, 13n) },
  { weight: 1, arbitrary: fc.bigInt(-LARGEST - 2n, LARGEST + 2n) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(LARGEST, -LARGEST, 2n ** 63n, -(2n ** 63n), 2n ** 200n, -(2n ** 200n)),
  },
)

const leaf: fc.Arbitrary<Predicate> = fc.oneof(
  fc.record({ kind: fc.constant('is-null' as const), column: anyName }),
  fc.record(
    { kind: fc.constant('index-between' as const), column: numericNames, lower: index, upper: index },
    { requiredKeys: ['kind', 'column'] },
  ),
  fc.record({
    kind: fc.constant('index-in' as const),
    column: numericNames,
    indexes: fc.array(index, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('category-in' as const),
    column: fc.constant('group'),
    indexes: fc.array(fc.nat(5), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('boolean-is' as const), column: fc.constant('flag'), value: fc.boolean() }),
  fc.record({
    kind: fc.constant('string-in' as const),
    column: fc.constant('Name with spaces'),
    values: fc.array(fc.constantFrom(...strings), { maxLength: 3 }),
  }),
)

/** Any predicate over these columns. */
export const { predicate } = fc.letrec<{ predicate: Predicate }>((tie) => ({
  predicate: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    leaf,
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      predicates: fc.array(tie('predicate'), { maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('not' as const), predicate: tie('predicate') }),
  ),
}))

const edges: fc.Arbitrary<readonly bigint[]> = fc.oneof(
  fc
    .tuple(fc.bigInt(-6n, 6n), fc.bigInt(1n, 5n), fc.integer({ min: 1, max: 6 }))
    .map(([first, width, bins]) => Array.from({ length: bins + 1 }, (_, bin) => first + BigInt(bin) * width)),
  fc
    .uniqueArray(fc.oneof(fc.bigInt(-6n, 14n), fc.bigInt(-LARGEST, LARGEST + 1n)), {
      minLength: 2,
      maxLength: 8,
    })
    .map((list) => list.sort((a, b) => (a < b ? -1 : 1))),
  // Many bins of different widths that are multiples of one, as months are of days.
  fc
    .tuple(
      fc.bigInt(-9n, 9n),
      fc.bigInt(1n, 2n),
      fc.array(fc.bigInt(1n, 3n), { minLength: 15, maxLength: 20 }),
    )
    .map(([first, part, widths]) => {
      const list = [first]
      for (const width of widths) list.push((list.at(-1) ?? first) + part * width)
      return list
    }),
)

const cycle = fc
  .integer({ min: 1, max: 4 })
  .chain((length) => fc.record({ length: fc.constant(length), first: fc.nat(length - 1) }))

const groupKey: fc.Arbitrary<GroupKey> = fc.oneof(
  fc.record({
    kind: fc.constant('category' as const),
    column: fc.constant('group'),
    size: fc.constant(CATEGORIES.length),
    nullCell: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('boolean' as const), column: fc.constant('flag'), nullCell: fc.boolean() }),
  fc.record(
    { kind: fc.constant('bins' as const), column: numericNames, edges, cycle, nullCell: fc.boolean() },
    { requiredKeys: ['kind', 'column', 'edges', 'nullCell'] },
  ),
  fc.record({ kind: fc.constant('predicate' as const), predicate }),
)

const coefficient = fc.oneof(fc.bigInt(-3n, 3n), fc.bigInt(-(2n ** 90n), 2n ** 90n))

/** Clamps with small or larger bounds, within those of a column or not. */
const clamp: fc.Arbitrary<Clamp> = fc.oneof(
  fc.tuple(fc.bigInt(-4n, 3n), fc.bigInt(3n, 13n)).map(([lower, upper]) => ({ lower, upper })),
  fc.tuple(fc.bigInt(-MIDDLING, 0n), fc.bigInt(0n, MIDDLING)).map(([lower, upper]) => ({ lower, upper })),
)

const term = fc.oneof(
  fc.record({
    column: fc.constantFrom('small', 'middling', 'wide', 'flag'),
    factor: coefficient,
    offset: coefficient,
  }),
  fc.record({
    column: fc.constantFrom('small', 'middling', 'wide', 'day'),
    clamp,
    factor: coefficient,
    offset: coefficient,
  }),
)

const statistic: fc.Arbitrary<Statistic> = fc.oneof(
  fc.record(
    { kind: fc.constant('count' as const), column: anyName, where: predicate },
    { requiredKeys: ['kind'] },
  ),
  fc.record(
    {
      kind: fc.constant('affine-sum' as const),
      column: numericNames,
      clamp,
      factor: coefficient,
      offset: coefficient,
    },
    { requiredKeys: ['kind', 'column', 'factor', 'offset'] },
  ),
  fc.record(
    {
      kind: fc.constant('affine-square-sum' as const),
      column: fc.constantFrom('small', 'middling', 'wide'),
      clamp,
      factor: coefficient,
      offset: coefficient,
    },
    { requiredKeys: ['kind', 'column', 'factor', 'offset'] },
  ),
  fc.record({
    kind: fc.constant('affine-count' as const),
    where: predicate,
    factor: coefficient,
    offset: coefficient,
  }),
  fc.record({ kind: fc.constant('affine-product-sum' as const), terms: fc.tuple(term, term) }),
  fc.record({ kind: fc.constant('count-distinct' as const), of: groupKey }),
)

/** Any aggregate over these columns. */
export const aggregate: fc.Arbitrary<Aggregate> = fc.record(
  {
    where: predicate,
    groupBy: fc.array(groupKey, { maxLength: 3 }),
    statistics: fc.array(statistic, { minLength: 1, maxLength: 3 }),
    bounding: fc.constant({ kind: 'one-row-each' } as const),
  },
  { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
)

/** Any counting of the values of one of these columns. */
export const countingOf = (column: fc.Arbitrary<string>): fc.Arbitrary<ValueCounting> =>
  fc.record(
    { where: predicate, column, bounding: fc.constant({ kind: 'one-row-each' } as const) },
    { requiredKeys: ['column', 'bounding'] },
  )

/** The same with a clamp or without, for columns on a grid. */
export const clampedOrNot = (counting: fc.Arbitrary<ValueCounting>): fc.Arbitrary<ValueCounting> =>
  fc
    .tuple(counting, fc.option(clamp, { nil: undefined }))
    .map(([counted, bounds]) =>
      bounds === undefined || counted.perPerson !== undefined ? counted : { ...counted, clamp: bounds },
    )

/** Any counting of the values of a column in cells. */
export const cellCounting: fc.Arbitrary<CellCounting> = fc.record(
  {
    where: predicate,
    groupBy: fc.array(groupKey, { maxLength: 2 }),
    column: numericNames,
    clamp,
    bounding: fc.constant({ kind: 'one-row-each' } as const),
  },
  { requiredKeys: ['groupBy', 'column', 'bounding'] },
)

/** Columns whose values are the same in all rows of a person, in some datasets of people. */
export const CONSTANT_COLUMNS = ['group', 'flag', 'small'] as const

/** Any bounding of people's rows, of no effect for some people, and without effect for any. */
export const bounding: fc.Arbitrary<Bounding> = fc.oneof(
  fc.record({ kind: fc.constant('rows' as const), rows: limit() }),
  fc.record({ kind: fc.constant('groups' as const), groups: limit(), rowsPerGroup: limit() }),
)

function limit() {
  return fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(1_000_000))
}

/** Clamping bounds, of which each end is small or of any size up to a magnitude. */
function clampWithin(magnitude: bigint) {
  const end = fc.oneof(fc.bigInt(-20n, 60n), fc.bigInt(-magnitude, magnitude))
  return fc.tuple(end, end).map(([a, b]) => (a < b ? { lower: a, upper: b } : { lower: b, upper: a }))
}

/** Any value per person, clamped to a magnitude. */
export function personValueWithin(magnitude: bigint): fc.Arbitrary<PersonValue> {
  const value = fc.oneof(
    fc.record(
      { kind: fc.constantFrom('sum' as const, 'mean' as const), column: numericNames, clamp },
      { requiredKeys: ['kind', 'column'] },
    ),
    fc.record(
      { kind: fc.constant('count' as const), column: fc.oneof(numericNames, anyName) },
      { requiredKeys: ['kind'] },
    ),
  )
  return fc.tuple(clampWithin(magnitude), value).map(([bounds, of]) => ({ ...bounds, ...of }))
}

const statisticOfPeople: fc.Arbitrary<Statistic> = fc.oneof(
  fc.record(
    { kind: fc.constant('count-people' as const), column: anyName, where: predicate },
    { requiredKeys: ['kind'] },
  ),
  fc.record({
    kind: fc.constant('affine-sum' as const),
    perPerson: fc.oneof(personValueWithin(MIDDLING), personValueWithin(2n ** 73n)),
    factor: coefficient,
    offset: coefficient,
  }),
  fc.record({
    kind: fc.constant('affine-square-sum' as const),
    perPerson: personValueWithin(LARGEST_SQUARED_INDEX),
    factor: coefficient,
    offset: coefficient,
  }),
)

const keys = fc.array(groupKey, { maxLength: 3 })
/** Keys of which each person is in one cell, where columns are constant. */
const constantKeys = fc.constantFrom<readonly GroupKey[]>(
  [{ kind: 'category', column: 'group', size: CATEGORIES.length, nullCell: false }],
  [{ kind: 'boolean', column: 'flag', nullCell: true }],
)
const constantPredicate = fc.constantFrom<Predicate>(
  { kind: 'boolean-is', column: 'flag', value: true },
  { kind: 'not', predicate: { kind: 'index-between', column: 'small', lower: 1n, upper: 5n } },
)

/** Any aggregate over these columns and the rows of people. */
export const aggregateOfPeople: fc.Arbitrary<Aggregate> = fc.oneof(
  fc.record(
    {
      where: fc.oneof(predicate, constantPredicate),
      groupBy: fc.oneof(keys, constantKeys),
      statistics: fc.array(fc.oneof(statistic, statisticOfPeople), { minLength: 1, maxLength: 3 }),
      bounding,
    },
    { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
  ),
  fc.record(
    {
      where: fc.oneof(predicate, constantPredicate),
      groupBy: fc.oneof(keys, constantKeys),
      statistics: fc.constantFrom<readonly Statistic[]>([{ kind: 'count-people' }], [{ kind: 'count' }]),
      bounding,
    },
    { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
  ),
  fc.record(
    {
      where: fc.oneof(predicate, constantPredicate),
      groupBy: fc.constant([]),
      statistics: fc.array(
        fc.oneof(
          statistic,
          statisticOfPeople,
          fc.record({
            kind: fc.constant('count-distinct-values' as const),
            column: fc.constant('Name with spaces'),
            valuesEach: limit(),
          }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      bounding,
    },
    { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
  ),
)

/** Any count of people by the number of their rows, where nobody is counted with more than 61. */
export const profileOfPeople: fc.Arbitrary<Aggregate> = fc.record(
  {
    where: fc.oneof(predicate, constantPredicate),
    groupBy: fc.constantFrom<Aggregate['groupBy']>(
      [{ kind: 'rows-of-person', edges: [1n, 2n, 4n, 7n, 8n, 16n, 32n, 61n, 62n] }],
      [{ kind: 'rows-of-person', edges: [1n, 62n] }],
    ),
    statistics: fc.constant<Aggregate['statistics']>([{ kind: 'count-people' }]),
    bounding: fc.constant<Aggregate['bounding']>({ kind: 'one-row-each' }),
  },
  { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
)

/** Any counting of the values of one of these columns, in the rows of people. */
export const countingOfPeople = (column: fc.Arbitrary<string>): fc.Arbitrary<ValueCounting> =>
  fc.record(
    {
      where: fc.oneof(predicate, constantPredicate),
      column,
      people: fc.constant(true as const),
      bounding,
    },
    { requiredKeys: ['column', 'bounding'] },
  )

/** Any counting of the values of a column in cells, in the rows of people. */
export const cellCountingOfPeople: fc.Arbitrary<CellCounting> = fc
  .tuple(cellCounting, bounding)
  // Without keys there are no groups to choose among.
  .filter(([{ groupBy }, { kind }]) => groupBy.length > 0 || kind !== 'groups')
  .map(([counting, bound]) => ({ ...counting, bounding: bound }))

/** Any counting of values per person. */
export const countingOfPersonValues: fc.Arbitrary<ValueCounting> = fc.record(
  { where: fc.oneof(predicate, constantPredicate), perPerson: personValueWithin(LARGEST), bounding },
  { requiredKeys: ['perPerson', 'bounding'] },
)
