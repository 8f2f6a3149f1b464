import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type QueryPredicate, where as whereSchema } from '../../../../schemas/answers/query.ts'
import { normalPredicate } from '../../../../src/core/planner/identity/normal-predicate.ts'
import { cases } from '../../../cases.ts'
import { fits, flawsOf, selectSameRows, spellings } from './normal-versions.ts'
import { small } from './predicate-pairs.ts'
import { aboutOneColumn } from './spellings.ts'

const normal = (where: QueryPredicate) => normalPredicate(where, small).predicate

test('the normal form selects the same of all possible rows, is its own normal form, and that of every spelling', () => {
  fc.assert(
    fc.property(spellings, ({ where, spelled }) => {
      expect(selectSameRows(where, spelled)).toBe(true)
      expect(flawsOf({ normalPredicate }, where, spelled)).toEqual([])
    }),
    { numRuns: cases(1_500) },
  )
})

test('a normal form passes the schema of queries', () => {
  fc.assert(
    fc.property(spellings, ({ where }) => {
      expect(whereSchema.parse(normal(where))).toEqual(normal(where))
    }),
  )
})

test('predicates about one column that select the same rows have one normal form', () => {
  fc.assert(
    fc.property(aboutOneColumn.filter(fits), aboutOneColumn.filter(fits), (one, other) => {
      const same = JSON.stringify(normal(one)) === JSON.stringify(normal(other))
      expect(same).toBe(selectSameRows(one, other))
    }),
    { numRuns: cases(2_000) },
  )
})

describe('the normal form is readable', () => {
  const age = (op: '=' | '!=' | '<' | '<=' | '>' | '>=', value: number) =>
    ({ column: 'Age', op, value }) as const
  const not = (predicate: QueryPredicate) => ({ op: 'not', predicate }) as const
  const all = (...predicates: QueryPredicate[]) => ({ op: 'and' as const, predicates })
  const any = (...predicates: QueryPredicate[]) => ({ op: 'or' as const, predicates })
  const noScore = { column: 'Score', op: 'isNull' } as const

  test.each<readonly [spelled: QueryPredicate, normal: QueryPredicate]>([
    [age('<', 2), age('<=', 1)],
    [all(age('>=', 1), age('<=', 2)), { column: 'Age', op: 'between', lower: 1, upper: 2 }],
    [all(age('>', 0), not(age('>', 2))), { column: 'Age', op: 'between', lower: 1, upper: 2 }],
    [
      { column: 'Age', op: 'in', values: [3, 0, 3] },
      { column: 'Age', op: 'in', values: [0, 3] },
    ],
    [not(age('=', 2)), age('!=', 2)],
    // NULL satisfies the negation, and not the opposite.
    [not({ column: 'Score', op: '<', value: 0 }), not({ column: 'Score', op: '=', value: -0.5 })],
    [
      { column: 'Score', op: '>', value: -0.5 },
      { column: 'Score', op: '>=', value: 0 },
    ],
    [{ column: 'Score', op: '<=', value: 0.5 }, not(noScore)],
    [
      { column: 'Sex', op: 'in', values: ['F', 'M'] },
      { column: 'Sex', op: '!=', value: 'X' },
    ],
    [
      all({ column: 'Note', op: '!=', value: 'b' }, { column: 'Note', op: '!=', value: 'a' }),
      not(any({ column: 'Note', op: 'in', values: ['a', 'b'] }, { column: 'Note', op: 'isNull' })),
    ],
    [all(noScore, any(noScore, age('>', 1))), noScore],
  ])('%j', (spelled, written) => {
    expect(normal(spelled)).toEqual(written)
  })

  test('a combination that a set of values makes redundant is left out, whatever the nesting', () => {
    const present = { column: 'Score', op: '>=', value: -0.5 } as const
    const few = { column: 'Score', op: '<', value: 0.2 } as const
    const redundant = any(present, age('=', 0))
    expect(normal(all(redundant, present, few))).toEqual(normal(all(all(redundant, present), few)))
    expect(normal(all(redundant, few))).toEqual(normal(few))
    const other = all(few, age('=', 0))
    expect(normal(any(other, present))).toEqual(normal(present))
  })

  test('every row, and no row', () => {
    const every = normalPredicate(any(noScore, { column: 'Score', op: '>=', value: -0.5 }), small)
    expect(every).toEqual(normalPredicate(age('>=', 0), small))
    expect(every.every).toBe(true)
    expect(normal(every.predicate)).toEqual(every.predicate)
    const none = normal(age('>', 3))
    expect(normal(all(noScore, not(noScore)))).toEqual(none)
    expect(normal({ column: 'Sex', op: 'isNull' })).toEqual(none)
    expect(normalPredicate(none, small).every).toBe(false)
  })
})

describe('a normal form that no query could contain is left out', () => {
  const nested = (depth: number, leaf: QueryPredicate): QueryPredicate =>
    Array.from({ length: depth }).reduce<QueryPredicate>(
      (inner, _, level) => ({
        op: level % 2 === 0 ? 'and' : 'or',
        predicates: [inner, { column: 'Note', op: '=', value: `level ${level}` }],
      }),
      leaf,
    )

  test('one that is nested too deep', () => {
    // Two conditions on one column become a negation of a list, which is one level deeper.
    const excluded: QueryPredicate[] = ['b', 'a'].map((value) => ({
      column: 'Sex',
      op: '!=',
      value: value === 'a' ? 'M' : 'F',
    }))
    const deep = nested(11, { column: 'Score', op: '!=', value: 0 })
    const deeper = nested(10, { op: 'and', predicates: excluded })
    for (const where of [deep, deeper]) {
      expect(whereSchema.safeParse(where).success).toBe(true)
      expect(whereSchema.safeParse(normal(where)).success).toBe(true)
      expect(normal(normal(where))).toEqual(normal(where))
    }
  })

  test('a list that is too long', () => {
    const texts = (from: number) => Array.from({ length: 600 }, (_, place) => `text ${from + place}`)
    const where: QueryPredicate = {
      op: 'or',
      predicates: [0, 600].map((from) => ({ column: 'Note', op: 'in', values: texts(from) })),
    }
    expect(normal(where)).toEqual(where)
  })
})
