import fc from 'fast-check'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import type { Aggregate, Predicate } from '../../../../src/core/planner/language/aggregate.ts'
import { column, datasetOf } from '../../../engines/fixture.ts'
import { aggregateRows, type StoredRow, type StoredValue } from '../../../engines/reference-engine.ts'

/** A dataset of few possible rows, with and without NULL. */
export const small: Dataset = datasetOf([
  column.integer('Age', 0n, 3n, { nullable: false }),
  column.number('Score', 500_000_000n, -1n, 1n),
  column.category('Sex', ['M', 'F', 'X'], { nullable: false }),
  column.boolean('Member'),
  column.string('Note'),
])

/** Values that `small` can hold in each column. Of texts, those that predicates name and one that they do not. */
export const SMALL_DOMAIN = {
  Age: [0n, 1n, 2n, 3n],
  Score: [-1n, 0n, 1n, null],
  Sex: [0, 1, 2],
  Member: [false, true, null],
  Note: ['', 'a', '\ufffd', 'unnamed', null],
} as const satisfies Readonly<Record<string, readonly StoredValue[]>>

/** Every possible row. */
export const SMALL_ROWS: readonly StoredRow[] = Object.entries(SMALL_DOMAIN).reduce<readonly StoredRow[]>(
  (rows, [name, values]) => rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
  [{}],
)

const index = fc.bigInt({ min: -2n, max: 4n })
/** Rarely empty, because a predicate that is never true hides the others. */
const few = <T>(each: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.oneof({ weight: 15, arbitrary: fc.array(each, { minLength: 1, maxLength }) }, fc.constant<T[]>([]))
const leaf: fc.Arbitrary<Predicate> = fc.oneof(
  fc.record({
    kind: fc.constant('is-null' as const),
    column: fc.constantFrom('Age', 'Score', 'Member', 'Note'),
  }),
  fc.record(
    {
      kind: fc.constant('index-between' as const),
      column: fc.constantFrom('Age', 'Score'),
      lower: fc.bigInt({ min: -2n, max: 2n }),
      upper: fc.bigInt({ min: 0n, max: 4n }),
    },
    { requiredKeys: ['kind', 'column'] },
  ),
  fc.record({
    kind: fc.constant('index-in' as const),
    column: fc.constantFrom('Age', 'Score'),
    indexes: few(index, 4),
  }),
  fc.record({
    kind: fc.constant('category-in' as const),
    column: fc.constant('Sex'),
    indexes: few(fc.nat(2), 2),
  }),
  fc.record({ kind: fc.constant('boolean-is' as const), column: fc.constant('Member'), value: fc.boolean() }),
  fc.record({
    kind: fc.constant('string-in' as const),
    column: fc.constant('Note'),
    values: few(fc.constantFrom('', 'a', '\ufffd'), 2),
  }),
)

/** Predicates of every kind, with the given number of operands and depth. */
export function predicates(maxLength: number, maxDepth: number): fc.Arbitrary<Predicate> {
  if (maxDepth === 0) return leaf
  const operand = predicates(maxLength, maxDepth - 1)
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        predicates: few(operand, maxLength),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), predicate: operand }) },
  )
}

export type PredicatePair = readonly [one: Predicate, other: Predicate]

/** Two predicates. The second often contains the negation of the first. */
export function pairsOf(predicate: fc.Arbitrary<Predicate>): fc.Arbitrary<PredicatePair> {
  return fc.tuple(predicate, predicate, fc.nat(5)).map(([one, other, how]) => {
    const opposite: Predicate = { kind: 'not', predicate: one }
    if (how === 0) return [one, opposite]
    if (how === 1) return [one, { kind: 'and', predicates: [other, opposite] }]
    return [one, other]
  })
}

/** An aggregate that counts the rows for which all of these hold. */
export function countOf(...all: readonly Predicate[]): Aggregate {
  const where: Predicate = { kind: 'and', predicates: all }
  return { where, groupBy: [], statistics: [{ kind: 'count' }], bounding: { kind: 'one-row-each' } }
}

/** True if some possible row satisfies both, by checking every row. */
export function overlapInTruth([one, other]: PredicatePair): boolean {
  return aggregateRows(countOf(asTheEngineReads(one), asTheEngineReads(other)), SMALL_ROWS)[0]?.[0] !== 0n
}

/** Half a surrogate pair reaches an engine as U+FFFD. */
function asTheEngineReads(predicate: Predicate): Predicate {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return { ...predicate, predicates: predicate.predicates.map(asTheEngineReads) }
    case 'not':
      return { ...predicate, predicate: asTheEngineReads(predicate.predicate) }
    case 'string-in':
      return { ...predicate, values: predicate.values.map((text) => text.toWellFormed()) }
    default:
      return predicate
  }
}
