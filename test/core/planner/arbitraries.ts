import fc from 'fast-check'
import { type Dataset, isQueryable, type QueryableColumn } from '../../../src/core/dataset/dataset.ts'
import type { StoredRow, StoredValue } from '../../engines/reference-engine.ts'

/** Stored values of a column, often its extremes, where an aggregate moves most. */
function stored(column: QueryableColumn): fc.Arbitrary<StoredValue> {
  const present = (): fc.Arbitrary<StoredValue> => {
    switch (column.type) {
      case 'integer':
      case 'number':
      case 'date':
      case 'timestamp':
        return fc.oneof(
          fc.constantFrom(column.lowerIndex, column.upperIndex),
          fc.bigInt({ min: column.lowerIndex, max: column.upperIndex }),
        )
      case 'category':
        return fc.nat(column.categories.length - 1)
      case 'boolean':
        return fc.boolean()
      case 'string':
        return fc.constantFrom('', 'a', 'b')
    }
  }
  return column.nullable ? fc.oneof({ weight: 4, arbitrary: present() }, fc.constant(null)) : present()
}

/** Stored rows of a dataset. */
export const rowOf = (dataset: Dataset): fc.Arbitrary<StoredRow> =>
  fc.record(
    Object.fromEntries(dataset.columns.filter(isQueryable).map((column) => [column.name, stored(column)])),
  )

const leaf: fc.Arbitrary<object> = fc.oneof(
  fc.record({
    column: fc.constant('Age'),
    op: fc.constantFrom('=', '!=', '<', '<=', '>', '>='),
    value: fc.nat(130),
  }),
  fc.record({
    column: fc.constant('Balance'),
    op: fc.constantFrom('<', '>='),
    value: fc.integer({ min: -60, max: 40 }),
  }),
  fc.record({
    column: fc.constant('Visited'),
    op: fc.constantFrom('=', '!=', '<', '<=', '>', '>='),
    value: fc.constantFrom('2024-01-20', '2024-02-29', '2024-03-01', '2025-01-01'),
  }),
  fc.record({
    column: fc.constantFrom('Income', 'Region', 'Member', 'Visited'),
    op: fc.constant('isNull'),
  }),
  fc.record({ column: fc.constant('Sex'), op: fc.constantFrom('=', '!='), value: fc.constantFrom('M', 'F') }),
  fc.record({
    column: fc.constant('Region'),
    op: fc.constant('in'),
    values: fc.constantFrom(['N'], ['N', 'S'], ['E']),
  }),
  fc.record({ column: fc.constant('Member'), op: fc.constant('='), value: fc.boolean() }),
  fc.record({ column: fc.constant('Note'), op: fc.constant('='), value: fc.constantFrom('', 'a') }),
)

/** Predicates over the columns of `people`, in their wire form. */
export const where: fc.Arbitrary<object> = fc.oneof(
  leaf,
  fc.record({ op: fc.constantFrom('and', 'or'), predicates: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
  fc.record({ op: fc.constant('not'), predicate: leaf }),
)

/** The names of the numeric columns of `people`. */
export const numeric = fc.constantFrom('Age', 'Balance', 'Income')

/** The names of the columns of `people` whose values are ordered. */
export const ordered = fc.constantFrom('Age', 'Balance', 'Income', 'Visited')

/** Names of numeric and boolean columns, without repetition. */
export const measured = (constraints: { readonly minLength: number; readonly maxLength: number }) =>
  fc.uniqueArray(fc.constantFrom('Age', 'Balance', 'Income', 'Member', 'Visited'), constraints)

/** Columns of `people` that can be grouped by, in their wire form. */
export const grouping = fc.constantFrom(
  'Sex',
  'Region',
  'Member',
  { column: 'Age', edges: [0, 18, 65] },
  { column: 'Age', edges: [0, 65, 65] },
  { column: 'Income', edges: [10, 100, 500] },
  { column: 'Visited', edges: ['2024-02-01', '2024-02-29', '2024-04-01'] },
  { column: 'Visited', by: 'month' },
  { column: 'Visited', by: 'dayOfWeek', from: '2024-02-10' },
)

export const nameOf = (column: string | { column: string }) =>
  typeof column === 'string' ? column : column.column

/** Keys of a group-by in their wire form, without a repeated column. */
export const keys = fc.uniqueArray(grouping, { minLength: 1, maxLength: 2, selector: nameOf })

/** Keys of a group-by in their wire form, or none, so that all rows are one group. */
export const keysOrNone = fc.uniqueArray(grouping, { minLength: 0, maxLength: 2, selector: nameOf })

/** One of the statistics of a group-by, in its wire form. */
export const groupStatistic: fc.Arbitrary<object> = fc.oneof(
  fc.constant({ kind: 'count' }),
  fc.record({ kind: fc.constantFrom('sum', 'mean', 'variance', 'standardDeviation'), column: numeric }),
  fc.constant({ kind: 'mean', column: 'Visited' }),
  fc.record({ kind: fc.constant('proportion'), of: where, name: fc.constantFrom('one', 'other') }),
  fc.record({ kind: fc.constant('countDistinct'), column: grouping }),
)

/** Clamps of the columns of `people`, in their wire form. The last of each equals the declared bounds, and is none. */
const CLAMPS: Readonly<Record<string, readonly object[]>> = {
  Age: [
    { lower: 20, upper: 70 },
    { lower: 0, upper: 2 },
    { lower: 0, upper: 120 },
  ],
  Balance: [
    { lower: -20.05, upper: 10 },
    { lower: 5, upper: 30 },
    { lower: -50, upper: 30 },
  ],
  Income: [
    { lower: 10, upper: 100.5 },
    { lower: 10, upper: 500 },
  ],
  Visited: [
    { lower: '2024-02-01', upper: '2024-03-01' },
    { lower: '2024-01-20', upper: '2024-04-10' },
  ],
}

const CLAMPED_KINDS: readonly unknown[] = [
  ...['sum', 'mean', 'variance', 'standardDeviation'],
  ...['median', 'percentile', 'minimum', 'maximum'],
]

type Wire = Readonly<Record<string, unknown>>

/** Adds clamps to half of the questions and statistics that can have them. */
export function clamping(questions: fc.Arbitrary<object>): fc.Arbitrary<Wire> {
  return fc.tuple(questions, fc.nat(4_095)).map(([question, seed]) => withClamps(question as Wire, seed))
}

function withClamps(question: Wire, seed: number): Wire {
  const { kind, column, columns = [], outcome, predictors = [], statistics } = question
  if (Array.isArray(statistics))
    return { ...question, statistics: statistics.map((each, place) => withClamps(each, seed >> place)) }
  if (seed % 2 === 0) return question
  if (CLAMPED_KINDS.includes(kind) && question.perPerson !== 'count')
    return { ...question, clamp: clampAt(String(column), seed) }
  if (kind !== 'covariance' && kind !== 'correlation' && kind !== 'linearRegression') return question
  const names = [outcome, predictors, columns].flat().filter((name) => String(name) in CLAMPS)
  return {
    ...question,
    clamp: Object.fromEntries(names.map((name, place) => [name, clampAt(String(name), seed >> place)])),
  }
}

function clampAt(column: string, seed: number): object | undefined {
  const choices = CLAMPS[column] ?? []
  return choices[(seed >> 1) % choices.length]
}
