import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Query, query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { type RankScore, rankDistance } from '../../../../src/core/mechanisms/selection/quantile.ts'
import type { Aggregate } from '../../../../src/core/planner/language/aggregate.ts'
import type { IndexCounts } from '../../../../src/core/planner/language/reading.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import {
  disjointQueriesMoved,
  stabilityOf,
  stabilityOfCounts,
  stabilityOfRank,
  stabilityOfValueCounts,
} from '../../../../src/core/planner/price/stability.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { cases } from '../../../cases.ts'
import {
  aggregateRows,
  countCellIndexesOf,
  countIndexesOf,
  countTextsOf,
  type StoredRow,
} from '../../../engines/reference-engine.ts'
import {
  clamping,
  grouping,
  groupStatistic,
  keys,
  keysOrNone,
  measured,
  nameOf,
  numeric,
  ordered,
  rowOf,
  where,
} from '../arbitraries.ts'
import { LIMITS, planFor } from '../planned.ts'
import { people } from './people.ts'

/** Queries of some kinds, half of them about some rows only. */
function asked(kinds: fc.Arbitrary<object>): fc.Arbitrary<Query> {
  return fc
    .tuple(clamping(kinds), fc.option(where))
    .map(([kind, filter]) =>
      querySchema.parse({ ...kind, epsilon: 1, ...(filter === null ? {} : { where: filter }) }),
    )
}

/** True unless a condition leaves a column of a covariance or regression a single value, which is refused. */
function fits(query: Query): boolean {
  try {
    return plan(query, people('add-remove'), LIMITS).query === query
  } catch (error) {
    if (error instanceof Refusal && error.message.includes('must not be constant')) return false
    throw error
  }
}

/** The name of a statistic in an answer, as far as these statistics can share one. */
function nameOfStatistic(statistic: object): unknown {
  if ('name' in statistic) return statistic.name
  const { kind, column = '' } = statistic as {
    readonly kind: string
    readonly column?: string | { column: string }
  }
  return `${kind} ${nameOf(column)}`
}

const estimateQuery = asked(
  fc.oneof(
    fc.constant({ kind: 'count' }),
    fc.record({ kind: fc.constantFrom('sum', 'mean', 'variance', 'standardDeviation'), column: numeric }),
    fc.constant({ kind: 'mean', column: 'Visited' }),
    fc.record({
      kind: fc.constantFrom('covariance', 'correlation'),
      columns: measured({ minLength: 2, maxLength: 2 }),
    }),
    measured({ minLength: 2, maxLength: 4 }).map(([outcome, ...predictors]) => ({
      kind: 'linearRegression',
      outcome,
      predictors,
    })),
    fc.record({ kind: fc.constant('proportion'), of: where }),
    fc.record({ kind: fc.constantFrom('histogram', 'countDistinct'), column: grouping }),
    fc.record({ kind: fc.constant('topGroups'), keys }),
    fc.record({ kind: fc.constant('bounds'), column: ordered }),
    fc.record({
      kind: fc.constant('groupBy'),
      keys: keysOrNone,
      statistics: fc.uniqueArray(groupStatistic, {
        minLength: 1,
        maxLength: 3,
        selector: nameOfStatistic,
      }),
    }),
    fc.record({
      kind: fc.constant('contingency'),
      columns: fc.uniqueArray(grouping, { minLength: 2, maxLength: 3, selector: nameOf }),
    }),
  ),
).filter((query) => fits(query))

const noisyMaxQuery = asked(
  fc.record({
    kind: fc.constant('noisyMax'),
    candidates: fc.oneof(
      fc.record({ column: grouping }),
      fc
        .array(where, { minLength: 2, maxLength: 4 })
        .map((predicates) => ({ predicates: predicates.map((of, i) => ({ name: `${i}`, where: of })) })),
    ),
    noise: fc.constantFrom('laplace', 'exponential', 'gumbel'),
  }),
)

const quantileQuery = asked(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('median', 'minimum', 'maximum'), column: ordered }),
    fc.record({
      kind: fc.constant('percentile'),
      column: ordered,
      p: fc.constantFrom([25, 75], [10], 33.33, [0.01, 99]),
    }),
  ),
)

/** All neighbours of rows. Under change-one, the given row is the only replacement. */
function neighboursOf(
  rows: readonly StoredRow[],
  kind: Neighbours,
  replacement: StoredRow,
): readonly StoredRow[][] {
  return rows.map((_, index) => [
    ...rows.slice(0, index),
    ...(kind === 'change-one' ? [replacement] : []),
    ...rows.slice(index + 1),
  ])
}

const COUNTED = { of: 'rows', bounding: { kind: 'one-row-each' } } as const

const NORMS = ['l0', 'l1', 'l2Squared', 'lInfinity'] as const

/** The kinds of query and statistic of which some person must reach the stability in every norm. */
const REACHED = [
  'count count',
  'sum affine-sum',
  ...['mean', 'groupBy'].flatMap((asked) => [`${asked} affine-sum`, `${asked} count`]),
  ...['variance', 'standardDeviation', 'groupBy'].map((asked) => `${asked} affine-square-sum`),
  ...['covariance', 'correlation', 'linearRegression'].flatMap((asked) => [
    `${asked} affine-product-sum`,
    `${asked} affine-sum`,
  ]),
  'correlation affine-square-sum',
  'proportion count',
  'histogram count',
  'topGroups count',
  'contingency count',
  'countDistinct count-distinct',
]

const magnitude = (value: bigint) => (value < 0n ? -value : value)
const inOrder = (values: readonly bigint[]) => values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))

/** The distance from the target rank of a score at a grid point. */
function rankDistanceAt(score: RankScore, point: bigint, { indexes, counts }: IndexCounts): bigint {
  const index = Number(point)
  const sum = (holds: (value: number) => boolean) =>
    BigInt(counts.reduce((total, count, place) => total + (holds(indexes[place] ?? 0) ? count : 0), 0))
  return rankDistance(
    score,
    sum((value) => value < index),
    sum((value) => value === index),
    sum((value) => value > index),
  )
}

/** Distance between two vectors in every norm (L2 squared). */
function distances(a: readonly bigint[], b: readonly bigint[]) {
  const differences = a.map((value, cell) => magnitude(value - (b[cell] ?? 0n)))
  return {
    l0: BigInt(differences.filter((value) => value > 0n).length),
    l1: differences.reduce((sum, value) => sum + value, 0n),
    l2Squared: differences.reduce((sum, value) => sum + value * value, 0n),
    lInfinity: inOrder(differences).at(-1) ?? 0n,
  }
}

/**
 * Checks every neighbour of random rows. Where not everything that rows can reach was reached, as many runs follow, at
 * most ten times the given number.
 */
function forNeighbours(
  query: fc.Arbitrary<Query>,
  dataset: Dataset,
  runs: number,
  check: (asked: Query, here: readonly StoredRow[], there: readonly StoredRow[]) => void,
  reachedAll = () => true,
) {
  const rows = fc.array(rowOf(dataset), { minLength: 1, maxLength: 6 })
  const property = fc.property(query, rows, rowOf(dataset), (asked, here, replacement) => {
    for (const there of neighboursOf(here, dataset.neighbours, replacement)) check(asked, here, there)
  })
  for (let done = 0; done === 0 || (done < 10 * runs && !reachedAll()); done += cases(runs))
    fc.assert(property, { numRuns: cases(runs) })
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (kind) => {
  const dataset = people(kind)
  const reached = new Map<string, Set<string>>()
  const reach = (name: string, norm: string) => reached.set(name, (reached.get(name) ?? new Set()).add(norm))

  test('no person moves any statistic of any query by more than its stability, to which its noise is calibrated', () => {
    const check = (asked: Query, here: readonly StoredRow[], there: readonly StoredRow[]) => {
      const { aggregate, measurements } = planFor('additive', plan(asked, dataset, LIMITS))
      const [before, after] = [aggregateRows(aggregate, here), aggregateRows(aggregate, there)]
      for (const [index, statistic] of aggregate.statistics.entries()) {
        const stability = stabilityOf(statistic, aggregate, dataset)
        expect(measurements[index]?.sensitivity).toMatchObject(stability)
        const moved = distances(before[index] ?? [], after[index] ?? [])
        for (const norm of NORMS) {
          const text = `${norm}: ${moved[norm]} of ${stability[norm]}`
          expect(moved[norm] <= stability[norm], text).toBe(true)
          if (moved[norm] === stability[norm]) reach(`${asked.kind} ${statistic.kind}`, norm)
        }
      }
    }
    forNeighbours(estimateQuery, dataset, 3000, check, () =>
      REACHED.every((name) => reached.get(name)?.size === NORMS.length),
    )
  })

  // A stability that is too large would pass the test above; one that is reached is exact.
  test('some person moves each statistic by exactly its stability, in every norm', () => {
    for (const name of REACHED) expect([...(reached.get(name) ?? [])].sort(), name).toEqual([...NORMS])
  })

  test('no person moves a count by more than its stability, and monotonic counts move in one direction', () => {
    const scores = (aggregate: Aggregate, rows: readonly StoredRow[]) => aggregateRows(aggregate, rows).flat()
    const found = { sensitivity: false, spread: false }
    forNeighbours(noisyMaxQuery, dataset, 2000, (asked, here, there) => {
      const { aggregate, measurement, candidates } = planFor('noisy-max', plan(asked, dataset, LIMITS))
      const [before, after] = [scores(aggregate, here), scores(aggregate, there)]
      expect(before).toHaveLength(candidates.length)
      const shifts = inOrder(before.map((score, candidate) => score - (after[candidate] ?? 0n)))
      const [least = 0n, most = 0n] = [shifts[0], shifts.at(-1)]
      const { sensitivity, monotonic } = stabilityOfCounts(COUNTED, dataset)
      expect(measurement).toMatchObject({ sensitivity, monotonic })
      expect(magnitude(least) <= sensitivity && magnitude(most) <= sensitivity).toBe(true)
      // Under add-remove, `there` has one person fewer: adding that person lowers no score.
      if (monotonic) expect(least >= 0n).toBe(true)
      const spread = monotonic ? sensitivity : 2n * sensitivity
      expect(most - least <= spread).toBe(true)
      found.sensitivity ||= most === sensitivity
      found.spread ||= most - least === spread
    })
    // Only monotonic scores never move apart by twice the sensitivity.
    expect(found).toEqual({ sensitivity: true, spread: true })
  })

  test('counts are monotonic only if they move in one direction', () => {
    expect(stabilityOfCounts(COUNTED, dataset).monotonic).toBe(kind === 'add-remove')
  })

  test('no person moves the score of a grid point by more than its stability, and some person reaches it', () => {
    const touched = new Set<string>()
    const check = (asked: Query, here: readonly StoredRow[], there: readonly StoredRow[]) => {
      const { counting, column, measurements } = planFor('quantile', plan(asked, dataset, LIMITS))
      const points = inOrder(
        [...here, ...there].flatMap((row) => {
          const value = row[column.name]
          return typeof value === 'bigint' ? [value - 1n, value, value + 1n] : []
        }),
      ).filter((index) => index >= column.lowerIndex && index <= column.upperIndex)
      for (const { score, sensitivity, monotonic } of measurements) {
        expect({ sensitivity, monotonic }).toEqual(stabilityOfRank(score, COUNTED, dataset))
        const distanceAt = (point: bigint, rows: readonly StoredRow[]) =>
          rankDistanceAt(score, point, countIndexesOf(counting, rows))
        for (const point of points) {
          const moved = magnitude(distanceAt(point, here) - distanceAt(point, there))
          expect(moved <= sensitivity, `${moved} of ${sensitivity} at ${point}`).toBe(true)
          if (moved === sensitivity) touched.add(asked.kind)
        }
      }
    }
    forNeighbours(quantileQuery, dataset, 600, check, () => touched.size === 4)
    expect([...touched].sort()).toEqual(['maximum', 'median', 'minimum', 'percentile'])
  })

  test('no person moves the scores of all groups together by more than their stability, and some person reaches it', () => {
    const touched = { one: new Set<string>(), groups: new Set<string>() }
    const query = asked(
      fc.record({
        kind: fc.constant('groupBy'),
        keys: keysOrNone,
        statistics: fc.tuple(
          fc.record({
            kind: fc.constant('percentile'),
            column: numeric,
            p: fc.constantFrom(10, 50, 75),
          }),
        ),
      }),
    )
    const check = (asked: Query, here: readonly StoredRow[], there: readonly StoredRow[]) => {
      const { quantiles } = planFor('groups', plan(asked, dataset, LIMITS))
      for (const { column, counting, measurement } of quantiles) {
        const { score, sensitivity } = measurement
        const cells = counting.groupBy.length === 0 ? 'one' : 'groups'
        expect(sensitivity).toBe(stabilityOfRank(score, COUNTED, dataset, cells).sensitivity)
        const [before, after] = [countCellIndexesOf(counting, here), countCellIndexesOf(counting, there)]
        const points = inOrder(
          [...here, ...there].flatMap((row) => {
            const value = row[column.name]
            return typeof value === 'bigint' ? [value - 1n, value, value + 1n] : []
          }),
        ).filter((index) => index >= column.lowerIndex && index <= column.upperIndex)
        // In each cell the outcome that tells most can be another one.
        const moved = before.reduce((sum, counts, cell) => {
          const other = after[cell] ?? { indexes: new Float64Array(), counts: new Float64Array() }
          const each = points.map((point) =>
            magnitude(rankDistanceAt(score, point, counts) - rankDistanceAt(score, point, other)),
          )
          return sum + (inOrder(each).at(-1) ?? 0n)
        }, 0n)
        expect(moved <= sensitivity, `${moved} of ${sensitivity}`).toBe(true)
        if (moved === sensitivity) touched[cells].add(String(measurement.score.below))
      }
    }
    forNeighbours(query, dataset, 600, check, () => touched.one.size + touched.groups.size === 4)
    expect([...touched.one].sort()).toEqual(['1', '9'])
    expect([...touched.groups].sort()).toEqual(['1', '9'])
  })

  test('no person moves the counts of values by more than their stability, and some person reaches it', () => {
    const stability = stabilityOfValueCounts(COUNTED.bounding, dataset)
    const found = new Set<string>()
    const query = asked(
      fc.record({
        kind: fc.constant('keySelection'),
        column: fc.constant('Note'),
        counts: fc.boolean(),
        delta: fc.constant(1e-6),
      }),
    )
    forNeighbours(query, dataset, 300, (asked, here, there) => {
      const { counting, measurement } = planFor('key-selection', plan(asked, dataset, LIMITS))
      expect(measurement.sensitivity).toEqual(stability)
      const [before, after] = [here, there].map((rows) => {
        const { texts, counts } = countTextsOf(counting, rows)
        return new Map(texts.map((text, place) => [text, counts[place] ?? 0]))
      })
      const vector = (counted: ReadonlyMap<string, number> | undefined) =>
        ['', 'a', 'b'].map((text) => BigInt(counted?.get(text) ?? 0))
      const moved = distances(vector(before), vector(after))
      for (const norm of NORMS) {
        expect(moved[norm] <= stability[norm], norm).toBe(true)
        if (moved[norm] === stability[norm]) found.add(norm)
      }
    })
    expect([...found].sort()).toEqual([...NORMS])
  })

  test('no person has rows in more disjoint queries than that number, and some person reaches it', () => {
    let largest = 0
    forNeighbours(estimateQuery, dataset, 1000, ({ where: filter }, here, there) => {
      // The cells of a table are pairwise disjoint: a row counts in at most one of them.
      const table = { kind: 'histogram', column: 'Region', epsilon: 1 }
      const wire = filter === undefined ? table : { ...table, where: filter }
      const { aggregate } = planFor('additive', plan(querySchema.parse(wire), dataset, LIMITS))
      const [before = [], after = []] = [here, there].map((rows) => aggregateRows(aggregate, rows)[0])
      const moved = Number(distances(before, after).l0)
      expect(moved).toBeLessThanOrEqual(disjointQueriesMoved('rows', dataset))
      largest = Math.max(largest, moved)
    })
    expect(largest).toBe(disjointQueriesMoved('rows', dataset))
  })
})
