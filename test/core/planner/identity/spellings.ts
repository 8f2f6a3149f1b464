import fc from 'fast-check'
import type { QueryPredicate } from '../../../../schemas/answers/query.ts'

/* Predicates over the columns of `small` as queries write them, and other spellings of them. */

const comparison = fc.constantFrom('=', '!=', '<', '<=', '>', '>=')
const ofAge = fc.oneof(
  fc.record({
    column: fc.constant('Age'),
    op: comparison,
    value: fc.integer({ min: -1, max: 4 }),
  }),
  fc.record({
    column: fc.constant('Age'),
    op: fc.constant('between' as const),
    lower: fc.integer({ min: -1, max: 4 }),
    upper: fc.integer({ min: -1, max: 4 }),
  }),
)
const score = fc.constantFrom(-1, -0.5, 0, 0.5, 1)
const ofScore = fc.oneof(
  fc.record({
    column: fc.constant('Score'),
    op: comparison,
    value: score,
  }),
  // Off the grid.
  fc.record({
    column: fc.constant('Score'),
    op: fc.constantFrom('<' as const, '<=' as const, '>' as const, '>=' as const),
    value: fc.constantFrom(-0.7, 0.2),
  }),
)
const membership = fc.oneof(
  fc.record({
    column: fc.constant('Sex'),
    op: fc.constant('in' as const),
    values: fc.array(fc.constantFrom('M', 'F', 'X'), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    column: fc.constant('Member'),
    op: fc.constant('in' as const),
    values: fc.array(fc.boolean(), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    column: fc.constant('Note'),
    op: fc.constant('in' as const),
    values: fc.array(fc.constantFrom('', 'a', '\ufffd'), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ column: fc.constant('Sex'), op: fc.constant('!=' as const), value: fc.constantFrom('M', 'X') }),
  fc.record({ column: fc.constant('Note'), op: fc.constant('!=' as const), value: fc.constantFrom('', 'a') }),
  fc.record({
    column: fc.constant('Member'),
    op: fc.constantFrom('=' as const, '!=' as const),
    value: fc.boolean(),
  }),
)
const missing = fc.record({
  column: fc.constantFrom('Age', 'Score', 'Sex', 'Member', 'Note'),
  op: fc.constant('isNull' as const),
})
const leaf: fc.Arbitrary<QueryPredicate> = fc.oneof(ofAge, ofScore, membership, missing)

/** Comparisons of one column, and combinations of them: nothing but NULL and values decides. */
export const aboutOneColumn: fc.Arbitrary<QueryPredicate> = fc
  .constantFrom('Age', 'Score', 'Sex', 'Member', 'Note')
  .chain((column) =>
    combinations(
      leaf.filter((each) => 'column' in each && each.column === column),
      2,
    ),
  )

/** Predicates of every kind, nested up to this depth. */
function combinations(each: fc.Arbitrary<QueryPredicate>, depth: number): fc.Arbitrary<QueryPredicate> {
  if (depth === 0) return each
  const operand = combinations(each, depth - 1)
  return fc.oneof(
    { weight: 2, arbitrary: each },
    {
      weight: 4,
      arbitrary: fc.record({
        op: fc.constantFrom('and' as const, 'or' as const),
        predicates: fc.array(operand, { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('not' as const), predicate: operand }) },
  )
}

export const predicates = combinations(leaf, 3)

/** Draws numbers below a bound. */
export type Draw = (below: number) => number

/** Draws by the bytes of a seed, again and again. */
export function drawFrom(seed: readonly number[]): Draw {
  let place = 0
  return (below) => {
    place += 1
    return ((seed[place % seed.length] ?? 0) + place) % below
  }
}

const not = (predicate: QueryPredicate): QueryPredicate => ({ op: 'not', predicate })
const opposite = { and: 'or', or: 'and' } as const

/**
 * Writes a predicate in another way: in another order, nested, doubled, twice negated, by De Morgan, or with other
 * comparisons. The rows that satisfy it stay the same.
 */
export function respelled(predicate: QueryPredicate, draw: Draw): QueryPredicate {
  const spelled = respelledInside(predicate, draw)
  switch (draw(6)) {
    case 0:
      return not(not(spelled))
    case 1:
      return { op: 'and', predicates: [spelled] }
    case 2:
      return { op: 'or', predicates: [spelled, spelled] }
    default:
      return spelled
  }
}

function respelledInside(predicate: QueryPredicate, draw: Draw): QueryPredicate {
  switch (predicate.op) {
    case 'and':
    case 'or': {
      const operands = shuffled(
        predicate.predicates.map((each) => respelled(each, draw)),
        draw,
      )
      if (draw(3) === 0) return not({ op: opposite[predicate.op], predicates: operands.map(not) })
      if (draw(3) === 0 && operands.length > 1) {
        const cut = 1 + draw(operands.length - 1)
        const [one, other] = [operands.slice(0, cut), operands.slice(cut)]
        return {
          op: predicate.op,
          predicates: [{ op: predicate.op, predicates: one }, ...other, ...one.slice(0, 1)],
        }
      }
      return { op: predicate.op, predicates: operands }
    }
    case 'not':
      return not(respelled(predicate.predicate, draw))
    default:
      return respelledComparison(predicate, draw)
  }
}

function shuffled<Item>(items: readonly Item[], draw: Draw): Item[] {
  return items
    .map((item) => ({ item, key: draw(97) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)
}

type Leaf = Exclude<QueryPredicate, { op: 'and' | 'or' | 'not' }>

/** Other comparisons that hold for the same values. Every one of them is false for NULL, as the comparison itself is. */
function respelledComparison(leaf: Leaf, draw: Draw): QueryPredicate {
  const spellings = spellingsOf(leaf)
  return spellings[draw(spellings.length)] ?? leaf
}

function spellingsOf(leaf: Leaf): readonly QueryPredicate[] {
  const { column } = leaf
  const present = not({ column, op: 'isNull' })
  const but = (condition: QueryPredicate): QueryPredicate => ({
    op: 'and',
    predicates: [present, not(condition)],
  })
  switch (leaf.op) {
    case 'isNull':
      return [leaf]
    case 'between': {
      const { lower, upper } = leaf
      const ends: QueryPredicate[] = [
        { column, op: '>=', value: lower },
        { column, op: '<=', value: upper },
      ]
      return [leaf, { op: 'and', predicates: ends }, { op: 'and', predicates: ends.toReversed() }]
    }
    case 'in': {
      const values = [...leaf.values]
      const each = values.map((value): QueryPredicate => ({ column, op: '=', value }))
      return [
        leaf,
        { column, op: 'in', values: [...values.toReversed(), ...values] },
        { op: 'or', predicates: each },
        { op: 'or', predicates: [{ column, op: 'in', values: values.slice(0, 1) }, leaf] },
      ]
    }
    case '=':
      return [leaf, { column, op: 'in', values: [leaf.value, leaf.value] }]
    case '!=':
      return [
        leaf,
        but({ column, op: '=', value: leaf.value }),
        but({ column, op: 'in', values: [leaf.value] }),
      ]
    case '<':
      return [leaf, but({ column, op: '>=', value: leaf.value })]
    case '<=':
      return [leaf, but({ column, op: '>', value: leaf.value })]
    case '>':
      return [leaf, but({ column, op: '<=', value: leaf.value })]
    case '>=':
      return [leaf, but({ column, op: '<', value: leaf.value })]
  }
}
