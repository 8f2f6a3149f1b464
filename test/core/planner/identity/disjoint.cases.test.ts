import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_PREDICATE_LIST, query as querySchema } from '../../../../schemas/answers/query.ts'
import * as asItIs from '../../../../src/core/planner/identity/disjoint.ts'
import type { Predicate } from '../../../../src/core/planner/language/aggregate.ts'
import { planPredicate } from '../../../../src/core/planner/language/predicate.ts'
import { cases, describeOnce } from '../../../cases.ts'
import { column, datasetOf, openTestEngine, withDuckDb } from '../../../engines/fixture.ts'
import { temporaryFolder } from '../../../folders.ts'
import { patients, people } from '../neighbours/people.ts'
import {
  areDisjoint,
  calledDisjoint,
  FEW_BOXES,
  fewSteps,
  LARGE_PAIRS,
  SMALL_PAIRS,
  sampled,
  text,
} from './disjoint-versions.ts'
import {
  overlapInTruth,
  type PredicatePair,
  predicates,
  SMALL_DOMAIN,
  SMALL_ROWS,
  small,
} from './predicate-pairs.ts'

const { disjointness } = asItIs

const DATASET = people('add-remove')
const is = (name: string, value: unknown) => ({ column: name, op: '=', value })
const age = (op: string, value: number) => ({ column: 'Age', op, value })
const not = (predicate: object) => ({ op: 'not', predicate })
const and = (...all: object[]) => ({ op: 'and', predicates: all })
const or = (...all: object[]) => ({ op: 'or', predicates: all })
const missing = (name: string) => ({ column: name, op: 'isNull' })

function planned(wire: object): Predicate {
  const query = querySchema.parse({ kind: 'count', epsilon: 1, where: wire })
  if (query.where === undefined) throw new Error('a predicate was given')
  return planPredicate(query.where, DATASET, 'where')
}

describeOnce('as analysts ask', () => {
  const elders = and(age('>=', 65), or(is('Region', 'N'), is('Member', true)))

  test.each<readonly [what: string, one: object, other: object]>([
    ['two categories', is('Sex', 'M'), is('Sex', 'F')],
    ['a category and another by elimination', is('Sex', 'M'), { column: 'Sex', op: '!=', value: 'M' }],
    ['all categories but one each', not(is('Sex', 'M')), not(is('Sex', 'F'))],
    ['below and from there', age('<', 30), age('>=', 30)],
    ['up to and above', age('<=', 30), age('>', 30)],
    ['bands', { column: 'Age', op: 'between', lower: 18, upper: 29 }, and(age('>=', 30), age('<', 65))],
    ['ends between two grid points', age('<=', 29.5), age('>', 29)],
    ['no number in two lists', { column: 'Age', op: 'in', values: [1, 2, 3] }, age('=', 4)],
    ['a list and the gaps in it', { column: 'Age', op: 'in', values: [1, 3] }, age('=', 2)],
    ['beyond the bounds', age('>', 120), age('>=', 0)],
    ['true and false', is('Member', true), is('Member', false)],
    ['missing and there', missing('Income'), not(missing('Income'))],
    ['missing and any comparison', missing('Income'), { column: 'Income', op: '>=', value: 10 }],
    ['missing and different from a value', missing('Region'), { column: 'Region', op: '!=', value: 'N' }],
    ['never missing', missing('Age'), age('>=', 0)],
    ['a nullable predicate and its negation', is('Region', 'N'), not(is('Region', 'N'))],
    ['a large predicate and its negation', elders, not(elders)],
    ['two texts', is('Note', 'a'), is('Note', 'A')],
    [
      'texts and all other texts',
      { column: 'Note', op: 'in', values: ['a', 'b'] },
      not({ column: 'Note', op: 'in', values: ['a', 'b', 'c'] }),
    ],
    ['one column of several', and(is('Sex', 'M'), age('<', 30)), and(is('Sex', 'F'), age('<', 40))],
    [
      'each of several against each',
      or(and(is('Sex', 'M'), age('<', 30)), and(is('Sex', 'F'), age('>=', 60))),
      and(age('>=', 30), age('<', 60)),
    ],
    [
      'the halves of a nullable column',
      and(is('Member', true), elders),
      or(is('Member', false), missing('Member')),
    ],
  ])('%s', (_, one, other) => {
    expect(areDisjoint([planned(one), planned(other)], DATASET)).toBe(true)
    expect(areDisjoint([planned(other), planned(one)], DATASET)).toBe(true)
  })

  test.each<readonly [what: string, one: object, other: object]>([
    ['the same', is('Sex', 'M'), is('Sex', 'M')],
    ['different columns', is('Sex', 'M'), age('<', 30)],
    ['a shared end', age('<=', 30), age('>=', 30)],
    ['clamped to a bound', age('>=', 120), age('>', 119)],
    ['negations meet where the value is missing', not(is('Member', true)), not(is('Member', false))],
    ['a negation and a missing value', not(is('Region', 'N')), missing('Region')],
    ['all texts but some', not(is('Note', 'a')), not(is('Note', 'b'))],
    // The engine receives each of them as U+FFFD.
    ['halves of surrogate pairs', is('Note', '\ud800'), is('Note', '\udc00')],
    ['half a surrogate pair', is('Note', '\ud800'), is('Note', '\ufffd')],
    ['half a surrogate pair denied', not(is('Note', '\ud800')), is('Note', 'a')],
  ])('not disjoint: %s', (_, one, other) => {
    expect(areDisjoint([planned(one), planned(other)], DATASET)).toBe(false)
    expect(areDisjoint([planned(other), planned(one)], DATASET)).toBe(false)
  })

  describe('for people with several rows', () => {
    const PATIENTS = patients('add-remove')
    const both = (one: object, other: object) =>
      (['rows', 'units'] as const).map((subject) =>
        areDisjoint([planned(one), planned(other)], PATIENTS, subject),
      )

    test.each<readonly [what: string, one: object, other: object]>([
      ['two values of a constant column', is('Sex', 'M'), is('Sex', 'F')],
      ['a nullable constant column and its NULL', is('Region', 'N'), missing('Region')],
      [
        'a constant column beside another',
        and(is('Sex', 'M'), age('<', 30)),
        and(is('Sex', 'F'), age('<', 30)),
      ],
      [
        'a large predicate over constant columns',
        or(is('Sex', 'M'), is('Region', 'N')),
        and(is('Sex', 'F'), is('Region', 'E')),
      ],
    ])('no person counts in both: %s', (_, one, other) => {
      expect(both(one, other)).toEqual([true, true])
      expect(both(other, one)).toEqual([true, true])
    })

    test.each<readonly [what: string, one: object, other: object]>([
      ['ages of different visits', age('<', 30), age('>=', 30)],
      ['a predicate and its negation', is('Member', true), not(is('Member', true))],
      ['a value and NULL', missing('Income'), not(missing('Income'))],
      ['two texts', is('Note', 'a'), is('Note', 'b')],
      ['a constant column or another', or(is('Sex', 'M'), age('<', 30)), and(is('Sex', 'F'), age('>=', 30))],
      [
        'a constant column that does not separate',
        and(is('Sex', 'M'), age('<', 30)),
        and(is('Sex', 'M'), age('>=', 30)),
      ],
    ])('a person can count in both, although no row does: %s', (_, one, other) => {
      expect(both(one, other)).toEqual([true, false])
      expect(both(other, one)).toEqual([true, false])
    })
  })

  test('without a predicate every row counts', () => {
    expect(areDisjoint([undefined, planned(is('Sex', 'M'))], DATASET)).toBe(false)
    expect(areDisjoint([undefined, undefined], DATASET)).toBe(false)
    expect(areDisjoint([undefined, planned(age('>', 120))], DATASET)).toBe(true)
  })

  test('a predicate that does not fit the dataset may hold for any row', () => {
    const foreign: Predicate[] = [
      { kind: 'is-null', column: 'Nobody' },
      { kind: 'category-in', column: 'Age', indexes: [] },
      { kind: 'index-in', column: 'Note', indexes: [] },
      { kind: 'boolean-is', column: 'Sex', value: true },
      { kind: 'string-in', column: 'Sex', values: [] },
    ]
    for (const predicate of foreign) {
      expect(areDisjoint([predicate, planned(is('Sex', 'M'))], DATASET)).toBe(false)
      expect(areDisjoint([{ kind: 'not', predicate }, planned(is('Sex', 'M'))], DATASET)).toBe(false)
    }
  })
})

describe('among all rows there can be', () => {
  test('small predicates are found disjoint if and only if no row satisfies both', () => {
    const pairs = sampled(SMALL_PAIRS, cases(4_000))
    for (const { pair, overlap } of pairs)
      expect(areDisjoint(pair, small), JSON.stringify(pair, printable)).toBe(!overlap)
    const overlapping = pairs.filter(({ overlap }) => overlap).length
    expect(Math.min(overlapping, pairs.length - overlapping)).toBeGreaterThan(cases(4_000) / 4)
  })

  test('large predicates are found disjoint only if no row satisfies both', () => {
    const found = sampled(LARGE_PAIRS, cases(2_000)).filter(({ pair }) => areDisjoint(pair, small))
    for (const { pair, overlap } of found) expect(overlap, JSON.stringify(pair, printable)).toBe(false)
    expect(found.length).toBeGreaterThan(cases(2_000) / 4)
  })

  test('several predicates at once give the same result as pairs', () => {
    const several = fc.sample(predicates(3, 2), { numRuns: 40, seed: 7 })
    const disjoint = disjointness(several, small)
    for (const [one, a] of several.entries())
      for (const [other, b] of several.entries())
        expect(disjoint(one, other)).toBe(areDisjoint([a, b], small))
  })

  test('as the engine evaluates them', async () => {
    const folder = temporaryFolder()
    const engine = openTestEngine(folder, {
      files: () => join(folder, 'small.duckdb'),
      queryTimeoutMs: 20_000,
    })
    try {
      const types = { Age: 'BIGINT', Score: 'BIGINT', Sex: 'INTEGER', Member: 'BOOLEAN', Note: 'VARCHAR' }
      const values = Object.entries(SMALL_DOMAIN).map(([name, domain]) => {
        const list = domain.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
        return `(SELECT unnest([${list.join(', ')}]::${types[name as keyof typeof types]}[]) AS "${name}")`
      })
      await withDuckDb(
        join(folder, 'small.duckdb'),
        `CREATE TABLE rows AS SELECT * FROM ${values.join(', ')}`,
      )
      await engine.open(small)
      const ask = async (pairs: readonly PredicatePair[]) => {
        const counts = await engine.aggregate(small, {
          groupBy: [],
          statistics: pairs.map((both) => ({ kind: 'count', where: { kind: 'and', predicates: both } })),
          bounding: { kind: 'one-row-each' },
        })
        return counts.map(([count]) => count)
      }
      expect(
        await ask([
          [
            { kind: 'and', predicates: [] },
            { kind: 'and', predicates: [] },
          ],
        ]),
      ).toEqual([BigInt(SMALL_ROWS.length)])
      const halves: PredicatePair = [text('\ud800'), text('\ufffd')]
      const pairs = [
        halves,
        ...[...sampled(SMALL_PAIRS, 200), ...sampled(LARGE_PAIRS, 40)].map(({ pair }) => pair),
      ]
      let found = 0
      for (let start = 0; start < pairs.length; start += 20) {
        const together = pairs.slice(start, start + 20)
        const counts = await ask(together)
        for (const [place, pair] of together.entries()) {
          // Checking every row agrees with the engine.
          expect(counts[place] !== 0n, JSON.stringify(pair, printable)).toBe(overlapInTruth(pair))
          if (!areDisjoint(pair, small)) continue
          found += 1
          expect(counts[place], JSON.stringify(pair, printable)).toBe(0n)
        }
      }
      expect(found).toBeGreaterThan(60)
    } finally {
      await engine.close()
    }
  })
})

function printable(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

describeOnce('the work is bounded', () => {
  const wide = datasetOf([
    ...Array.from({ length: 40 }, (_, place) => column.integer(`c${place}`, 0n, 2_000n)),
    column.string('Note'),
  ])
  const indexIn = (place: number, ...indexes: bigint[]): Predicate => ({
    kind: 'index-in',
    column: `c${place}`,
    indexes,
  })
  const batchOf = (size: number, predicateAt: (place: number) => Predicate): readonly Predicate[] =>
    Array.from({ length: size }, (_, place) => predicateAt(place))
  const HARD: readonly (readonly [string, readonly Predicate[]])[] = [
    [
      'conjunctions of alternatives',
      batchOf(100, (place) => ({
        kind: 'and',
        predicates: [
          ...batchOf(19, (pair) => ({
            kind: 'or',
            predicates: [indexIn(2 * pair, 1n, 3n), indexIn(2 * pair + 1, 1n, 5n)],
          })),
          indexIn(39, BigInt(place)),
        ],
      })),
    ],
    [
      'long lists in many alternatives',
      batchOf(20, (place) => ({
        kind: 'or',
        predicates: batchOf(30, (column) => ({
          kind: 'and',
          predicates: [
            indexIn(column, ...Array.from({ length: 900 }, (_, index) => BigInt(2 * index + (place % 2)))),
            indexIn(39, BigInt(place)),
          ],
        })),
      })),
    ],
    [
      'many negated texts',
      batchOf(20, (place) => ({
        kind: 'and',
        predicates: batchOf(MAX_PREDICATE_LIST, (other) => ({
          kind: 'not',
          predicate: text(`${place} ${other}`),
        })),
      })),
    ],
  ]

  test.each(HARD)('%s', (_, hard) => {
    const disjoint = disjointness(hard, wide)
    // The result is always the same.
    const again = disjointness(hard, wide)
    for (const one of hard.keys())
      for (const other of hard.keys()) expect(again(one, other)).toBe(disjoint(one, other))
  })
})

describeOnce('the unchanged source and versions of it with lower limits', () => {
  test.each([
    ['unchanged', []],
    ['with few boxes', [FEW_BOXES]],
    ['with few steps', [fewSteps(30)]],
    ['with very few steps', [fewSteps(3)]],
  ] as const)('the source, %s, is never wrong', async (_, changes) => {
    const { right, wrong } = await calledDisjoint(changes)
    expect(wrong).toEqual([])
    expect(right.length).toBeGreaterThan(20)
  })
})
