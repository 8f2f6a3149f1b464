import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Query, query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { rankDistance } from '../../../../src/core/mechanisms/selection/quantile.ts'
import type { Aggregate } from '../../../../src/core/planner/language/aggregate.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { stabilityOf } from '../../../../src/core/planner/price/stability.ts'
import { cases } from '../../../cases.ts'
import {
  aggregateRows,
  countIndexesOf,
  countTextsOf,
  type StoredRow,
} from '../../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../../engines/reference-people.ts'
import { clamping, grouping, keys, nameOf, numeric, rowOf, where } from '../arbitraries.ts'
import { LIMITS, planFor } from '../planned.ts'
import { patients } from './people.ts'

/*
 * Random people with several rows: what one of them moves is at most the stability to which the noise of a query is
 * calibrated, and what each contributes does not depend on the others.
 */

const MOST_ROWS = 4

/** The rows of one person, in the order of their ranks. */
type Person = readonly StoredRow[]

/** People of a dataset, with the columns that are constant per person. */
function personOf(dataset: Dataset): fc.Arbitrary<Person> {
  const constant = dataset.columns
    .filter((column) => column.type !== 'identifier' && column.constantPerPerson === true)
    .map(({ name }) => name)
  return fc.array(rowOf(dataset), { minLength: 1, maxLength: MOST_ROWS }).map(([first, ...others]) => {
    if (first === undefined) throw new Error('a person has a row')
    const shared = Object.fromEntries(constant.map((name) => [name, first[name] ?? null]))
    return [first, ...others].map((row) => ({ ...row, ...shared }))
  })
}

function rowsOf(people: readonly Person[]): readonly StoredRow[] {
  return people.flatMap((rows, person) =>
    rows.map((row, place) => ({ ...row, [PERSON]: person, [RANK]: place + 1 })),
  )
}

const some = fc.integer({ min: 1, max: MOST_ROWS })
const ofRows = fc.option(fc.record({ rows: some }), { nil: undefined })
const ofGroups = fc.oneof(ofRows, fc.record({ groups: some, rowsPerGroup: some }))
const counted = { of: fc.constantFrom('rows', 'people') }
const bounded = { contribution: ofRows }
const grouped = { contribution: ofGroups }

function asked(kinds: fc.Arbitrary<object>): fc.Arbitrary<Query> {
  return fc
    .tuple(clamping(kinds), fc.option(where, { nil: undefined }))
    .map(([kind, filter]) => querySchema.parse({ ...kind, where: filter, epsilon: 1 }))
}

const statistic = fc.oneof(
  fc.record({ kind: fc.constant('count'), ...counted }),
  fc.record({ kind: fc.constantFrom('sum', 'mean', 'variance'), column: numeric }),
)

const additiveQuery = asked(
  fc.oneof(
    fc.record({ kind: fc.constant('count'), ...counted, ...bounded }),
    fc.record({ kind: fc.constantFrom('sum', 'mean', 'variance'), column: numeric, ...bounded }),
    fc.record({
      kind: fc.constant('mean'),
      column: numeric,
      perPerson: fc.constantFrom('sum', 'count', 'mean'),
      ...bounded,
    }),
    fc.record({ kind: fc.constant('proportion'), of: where, ...bounded }),
    fc.record({ kind: fc.constant('countDistinct'), column: grouping, ...bounded }),
    fc.record({ kind: fc.constant('histogram'), column: grouping, ...counted, ...grouped }),
    fc.record({ kind: fc.constant('bounds'), column: numeric, ...grouped }),
    fc.record({
      kind: fc.constant('groupBy'),
      keys,
      statistics: fc.uniqueArray(statistic, { minLength: 1, maxLength: 3, selector: JSON.stringify }),
      ...grouped,
    }),
    fc.record({
      kind: fc.constant('groupBy'),
      keys: fc.constant([]),
      statistics: fc.uniqueArray(statistic, { minLength: 1, maxLength: 3, selector: JSON.stringify }),
      ...bounded,
    }),
    fc.record({
      kind: fc.constant('contingency'),
      columns: fc.uniqueArray(grouping, { minLength: 2, maxLength: 2, selector: nameOf }),
      ...counted,
      ...grouped,
    }),
  ),
)

const noisyMaxQuery = asked(
  fc.oneof(
    fc.record({
      kind: fc.constant('noisyMax'),
      candidates: fc.record({ column: grouping }),
      ...counted,
      ...grouped,
    }),
    fc.record({
      kind: fc.constant('noisyMax'),
      candidates: fc
        .array(where, { minLength: 2, maxLength: 3 })
        .map((predicates) => ({ predicates: predicates.map((of, i) => ({ name: `${i}`, where: of })) })),
      ...counted,
      ...bounded,
    }),
  ),
)

const quantileQuery = asked(
  fc.record({
    kind: fc.constantFrom('median', 'minimum', 'maximum'),
    column: numeric,
    perPerson: fc.constantFrom(undefined, 'sum', 'count', 'mean'),
    ...bounded,
  }),
)

const keysQuery = asked(
  fc.record({
    kind: fc.constant('keySelection'),
    column: fc.constant('Note'),
    counts: fc.boolean(),
    delta: fc.constant(1e-6),
    contribution: fc.option(fc.record({ groups: some }), { nil: undefined }),
  }),
)

const magnitude = (value: bigint) => (value < 0n ? -value : value)
const larger = (a: bigint, b: bigint) => (a > b ? a : b)
const NORMS = ['l0', 'l1', 'l2Squared', 'lInfinity'] as const

function distances(a: readonly bigint[], b: readonly bigint[]) {
  const moved = a.map((value, cell) => magnitude(value - (b[cell] ?? 0n)))
  return {
    l0: BigInt(moved.filter((value) => value > 0n).length),
    l1: moved.reduce((sum, value) => sum + value, 0n),
    l2Squared: moved.reduce((sum, value) => sum + value * value, 0n),
    lInfinity: moved.reduce(larger, 0n),
  }
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (kind) => {
  const dataset = patients(kind, MOST_ROWS)
  const person = personOf(dataset)

  /** Checks every neighbour of random people; under change-one the given person is the only replacement. */
  function forNeighbours(
    query: fc.Arbitrary<Query>,
    runs: number,
    check: (asked: Query, here: readonly StoredRow[], there: readonly StoredRow[]) => void,
  ) {
    const people = fc.array(person, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(query, people, person, (asked, here, replacement) => {
        for (const place of here.keys()) {
          const there = here.toSpliced(place, 1, ...(kind === 'change-one' ? [replacement] : []))
          check(asked, rowsOf(here), rowsOf(there))
        }
      }),
      { numRuns: cases(runs) },
    )
  }

  test('no person moves any statistic by more than its stability, to which its noise is calibrated', () => {
    forNeighbours(additiveQuery, 2500, (asked, here, there) => {
      const { aggregate, measurements } = planFor('additive', plan(asked, dataset, LIMITS))
      const [before, after] = [aggregateRows(aggregate, here), aggregateRows(aggregate, there)]
      for (const [place, statistic] of aggregate.statistics.entries()) {
        const stability = stabilityOf(statistic, aggregate, dataset)
        expect(measurements[place]?.sensitivity).toMatchObject(stability)
        const moved = distances(before[place] ?? [], after[place] ?? [])
        for (const norm of NORMS)
          expect(moved[norm] <= stability[norm], `${norm}: ${moved[norm]} of ${stability[norm]}`).toBe(true)
      }
    })
  })

  test('no person moves a count of candidates by more than its stability, and monotonic counts move together', () => {
    const scores = (aggregate: Aggregate, rows: readonly StoredRow[]) => aggregateRows(aggregate, rows).flat()
    forNeighbours(noisyMaxQuery, 1000, (asked, here, there) => {
      const { aggregate, measurement } = planFor('noisy-max', plan(asked, dataset, LIMITS))
      const [before, after] = [scores(aggregate, here), scores(aggregate, there)]
      for (const [candidate, score] of before.entries()) {
        const risen = score - (after[candidate] ?? 0n)
        expect(magnitude(risen) <= measurement.sensitivity).toBe(true)
        if (measurement.monotonic) expect(risen >= 0n).toBe(true)
      }
    })
  })

  test('no person moves the score of a grid point by more than its stability', () => {
    forNeighbours(quantileQuery, 800, (asked, here, there) => {
      const { counting, column, measurements } = planFor('quantile', plan(asked, dataset, LIMITS))
      const [before, after] = [countIndexesOf(counting, here), countIndexesOf(counting, there)]
      const points = [...before.indexes, ...after.indexes].flatMap((index) => [index - 1, index, index + 1])
      for (const { score, sensitivity } of measurements) {
        const distanceAt = (point: number, { indexes, counts }: typeof before) => {
          const sum = (holds: (index: number) => boolean) =>
            BigInt(counts.reduce((all, count, place) => all + (holds(indexes[place] ?? 0) ? count : 0), 0))
          return rankDistance(
            score,
            sum((index) => index < point),
            sum((index) => index === point),
            sum((index) => index > point),
          )
        }
        for (const point of points.filter(
          (index) => index >= column.lowerIndex && index <= column.upperIndex,
        )) {
          const moved = magnitude(distanceAt(point, before) - distanceAt(point, after))
          expect(moved <= sensitivity, `${moved} of ${sensitivity} at ${point}`).toBe(true)
        }
      }
    })
  })

  test('no person moves the counts of keys by more than their stability', () => {
    forNeighbours(keysQuery, 500, (asked, here, there) => {
      const { counting, measurement } = planFor('key-selection', plan(asked, dataset, LIMITS))
      const [before, after] = [here, there].map((rows) => {
        const { texts, counts } = countTextsOf(counting, rows)
        return ['', 'a', 'b'].map((text) => BigInt(counts[texts.indexOf(text)] ?? 0))
      })
      const moved = distances(before ?? [], after ?? [])
      for (const norm of NORMS) expect(moved[norm] <= measurement.sensitivity[norm], norm).toBe(true)
      const risen = (before ?? []).filter((count, key) => count > (after?.[key] ?? 0n))
      expect(BigInt(risen.length) <= measurement.sensitivity.rising).toBe(true)
    })
  })

  test('counts and sums over all people are the sums of those over each person alone', () => {
    const people = fc.array(person, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(additiveQuery, people, (query, everyone) => {
        const { aggregate } = planFor('additive', plan(query, dataset, LIMITS))
        const together = aggregateRows(aggregate, rowsOf(everyone))
        const alone = everyone.map((one) => aggregateRows(aggregate, rowsOf([one])))
        for (const [place, { kind }] of aggregate.statistics.entries()) {
          // Categories that several people have are counted once.
          if (kind === 'count-distinct') continue
          const sums = together[place]?.map((_, cell) =>
            alone.reduce((sum, own) => sum + (own[place]?.[cell] ?? 0n), 0n),
          )
          expect(together[place]).toEqual(sums)
        }
      }),
      { numRuns: cases(500) },
    )
  })
})
