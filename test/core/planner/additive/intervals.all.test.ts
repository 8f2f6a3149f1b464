import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { declareDataset } from '../../../../src/core/dataset/declaration.ts'
import type { Measurement } from '../../../../src/core/mechanisms/measurement.ts'
import type { AdditivePlan } from '../../../../src/core/planner/additive/shape.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { accuracyReport, reporter } from '../../../../src/core/planner/report.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { aggregateRows, type StoredRow } from '../../../engines/reference-engine.ts'
import { estimatesOf, LIMITS, planFor } from '../planned.ts'
import { releasesOf } from '../releases.ts'

/*
 * Stated half-widths hold with the stated confidence, before and after the release, and hardly more often. Noise comes
 * from a seeded source, so that every run counts the same.
 */

const CONFIDENCE = 0.95
const DRAWS = 2000
/** A probability of failure of 0.05 leads to more failures than this less than once in 1e8 runs. */
const MOST_FAILURES = 156

const random = seedrandom('intervals')
const between = (lower: number, upper: number) => lower + Math.floor(random() * (upper - lower + 1))

/** A person whose numbers all lie at this place between the bounds, from 0 to 1. */
function person(place: number): StoredRow {
  return {
    Age: BigInt(Math.round(120 * place)),
    Balance: BigInt(Math.round(-1000 + 1600 * place)),
    Income: BigInt(Math.round(20 + 980 * place)),
    Sex: 0,
    Region: place < 0.3 ? 0 : null,
    Member: true,
    Note: '',
  }
}

const crowd = Array.from({ length: 2000 }, () => person(random()))
/** Data that are easy to estimate, and data that are hard to estimate. */
const DATA: readonly (readonly [string, readonly StoredRow[]])[] = [
  ['spread', crowd],
  ['at the lower bound', crowd.map(() => person(0))],
  ['near the upper bound', crowd.map(() => person(between(90, 99) / 100))],
  ['half at each bound', crowd.map((_, index) => person(index % 2))],
]

interface Moments {
  readonly rows: number
  readonly sum: number
  readonly mean: number
  readonly variance: number
}

/** Plain moments of a column over the rows that have a value, in people's units. */
function momentsOf(rows: readonly StoredRow[], column: 'Age' | 'Balance' | 'Income'): Moments {
  const step = { Age: 1, Balance: 0.05, Income: 0.5 }[column]
  const values = rows.flatMap((row) => (row[column] === null ? [] : [Number(row[column]) * step]))
  const sum = values.reduce((total, value) => total + value, 0)
  const mean = sum / values.length
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length
  return { rows: values.length, sum, mean, variance }
}

/** A query for one number, and the truth of that number. */
interface Asked {
  readonly name: string
  readonly wire: object
  readonly truthOf: (rows: readonly StoredRow[]) => number
  readonly column?: 'Age' | 'Income'
}

const of = { column: 'Age', op: '>=', value: 65 }
const shareOf = (rows: readonly StoredRow[]) =>
  rows.filter(({ Age }) => typeof Age === 'bigint' && Age >= 65n).length / rows.length

const ASKED: readonly Asked[] = [
  { name: 'a count', wire: { kind: 'count' }, truthOf: ({ length }) => length },
  { name: 'a share', wire: { kind: 'proportion', of }, truthOf: shareOf },
  {
    name: 'the sum of Balance',
    wire: { kind: 'sum', column: 'Balance' },
    truthOf: (rows) => momentsOf(rows, 'Balance').sum,
  },
  ...(['Age', 'Income'] as const).flatMap((column): Asked[] => [
    {
      name: `the mean of ${column}`,
      wire: { kind: 'mean', column },
      column,
      truthOf: (rows) => momentsOf(rows, column).mean,
    },
    {
      name: `the variance of ${column}`,
      wire: { kind: 'variance', column },
      column,
      truthOf: (rows) => momentsOf(rows, column).variance,
    },
    {
      name: `the standard deviation of ${column}`,
      wire: { kind: 'standardDeviation', column },
      column,
      truthOf: (rows) => Math.sqrt(momentsOf(rows, column).variance),
    },
  ]),
]

const MECHANISMS = [
  { mechanism: 'laplace', epsilon: 2 },
  { mechanism: 'gaussian', epsilon: 2, delta: 1e-6 },
]

function numberIn({ result, accuracy }: ReturnType<ReturnType<typeof reporter>>) {
  if (!('value' in result) || accuracy.halfWidth === null) throw new Error('one number is asked for')
  return { value: result.value, halfWidth: accuracy.halfWidth }
}

/**
 * Counts how often the error of answers exceeds the half-width stated with them, and each of some other half-widths.
 */
function failuresOf(
  planned: AdditivePlan,
  rows: readonly StoredRow[],
  truth: number,
  stated: readonly number[],
) {
  const failures = { after: 0, afterShortened: 0, before: stated.map(() => 0) }
  const rounding = 1e-9 * (1 + Math.abs(truth))
  for (const released of releasesOf(planned, rows, DRAWS, 'noise')) {
    const { value, halfWidth } = numberIn(released)
    const error = Math.abs(Number(value) - truth) - rounding
    if (error > halfWidth) failures.after += 1
    if (error > 0.7 * halfWidth) failures.afterShortened += 1
    for (const [place, foreseen] of stated.entries())
      if (error > foreseen) failures.before[place] = (failures.before[place] ?? 0) + 1
  }
  return failures
}

/** Accuracy of a plan before the release, with suppositions about the rows alone, and with true suppositions. */
function statedBefore(planned: AdditivePlan, rows: readonly StoredRow[], column: Asked['column']) {
  const count = { rows: rows.length }
  const halfWidthFor = (supposed: object) => accuracyReport(planned, supposed).halfWidth ?? Number.NaN
  if (column === undefined) return { loose: halfWidthFor(count), close: halfWidthFor(count) }
  const { mean, variance } = momentsOf(rows, column)
  return {
    loose: halfWidthFor(count),
    close: halfWidthFor({ ...count, mean, standardDeviation: Math.sqrt(variance) }),
  }
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours: Neighbours) => {
  describe.each(MECHANISMS)('with $mechanism noise', (mechanism) => {
    test.each(ASKED)('$name lies within its half-widths as often as stated', ({ wire, truthOf, column }) => {
      for (const [name, rows] of DATA) {
        const planned = estimatesOf({ ...wire, ...mechanism }, neighbours, rows.length)
        expect(planned.confidence).toBe(CONFIDENCE)
        const { loose, close } = statedBefore(planned, rows, column)
        expect(close, name).toBeLessThanOrEqual(loose * 1.0001)
        const failures = failuresOf(planned, rows, truthOf(rows), [loose, close, 0.7 * close])
        const [failedLoose = 0, failedClose = 0, failedShortened = 0] = failures.before
        for (const count of [failures.after, failedLoose, failedClose])
          expect(count, name).toBeLessThanOrEqual(MOST_FAILURES)
        // Data at a bound exclude errors on one side. Otherwise shorter half-widths would not hold.
        if (name !== 'spread') continue
        expect(failures.afterShortened, name).toBeGreaterThan(MOST_FAILURES)
        // The only supposition about a share is its number of rows.
        if (column !== undefined) expect(failedShortened, name).toBeGreaterThan(MOST_FAILURES)
      }
    })
  })
})

test('a sum from the sum about the middle lies within its half-width as often as stated', () => {
  const statistics = ['sum', 'mean'].map((kind) => ({ kind, column: 'Age' }))
  for (const mechanism of MECHANISMS) {
    const planned = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics, ...mechanism })
    const truth = momentsOf(crowd, 'Age').sum
    const failures = { stated: 0, shortened: 0 }
    for (const { result } of releasesOf(planned, crowd, DRAWS, 'sum')) {
      const [sum] = 'groups' in result ? Object.values(result.groups[0]?.values ?? {}) : []
      if (sum === undefined) throw new Error('a sum is asked for')
      if (Math.abs(Number(sum.value) - truth) > sum.halfWidth) failures.stated += 1
      if (Math.abs(Number(sum.value) - truth) > 0.7 * sum.halfWidth) failures.shortened += 1
    }
    expect(failures.stated).toBeLessThanOrEqual(MOST_FAILURES)
    expect(failures.shortened).toBeGreaterThan(MOST_FAILURES)
  }
})

test('a share of a group lies within its half-width as often as stated', () => {
  for (const rows of DATA.map(([, each]) => each)) {
    for (const mechanism of MECHANISMS) {
      const statistics = [{ kind: 'proportion', of }, { kind: 'count' }]
      const planned = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics, ...mechanism })
      const before =
        accuracyReport(planned, { rows: rows.length }).estimates?.proportion?.halfWidth ?? Number.NaN
      const failures = { after: 0, before: 0 }
      for (const { result } of releasesOf(planned, rows, DRAWS, 'share')) {
        const share = 'groups' in result ? result.groups[0]?.values.proportion : undefined
        if (share === undefined) throw new Error('a share is asked for')
        const error = Math.abs(Number(share.value) - shareOf(rows)) - 1e-12
        if (error > share.halfWidth) failures.after += 1
        if (error > before) failures.before += 1
      }
      expect(failures.after).toBeLessThanOrEqual(MOST_FAILURES)
      expect(failures.before).toBeLessThanOrEqual(MOST_FAILURES)
      // Data on one side of the predicate exclude errors on the other side.
      if (rows === crowd) expect(failures.after).toBeGreaterThan(DRAWS / 50)
    }
  }
})

describe('exactly, over all noise', () => {
  /** Noise of a measurement with its probability. The omitted values have a total probability below 1e-5. */
  function distributionOf({ noise }: Measurement): readonly (readonly [bigint, number])[] {
    if (noise.kind !== 'discrete-laplace') throw new Error('geometric noise is asked for')
    const scale = Number(noise.scale.numerator) / Number(noise.scale.denominator)
    const most = Math.ceil(scale * Math.log(1e5))
    return Array.from({ length: 2 * most + 1 }, (_, index) => {
      const value = index - most
      return [BigInt(value), Math.tanh(0.5 / scale) * Math.exp(-Math.abs(value) / scale)] as const
    })
  }

  /** All combinations of noise, one cell for each statistic, with their probability. */
  function* combinations(
    distributions: readonly (readonly (readonly [bigint, number])[])[],
    cells: readonly bigint[] = [],
    probability = 1,
  ): Generator<readonly [readonly bigint[], number]> {
    const distribution = distributions[cells.length]
    if (distribution === undefined) return yield [cells, probability]
    for (const [value, mass] of distribution)
      yield* combinations(distributions, [...cells, value], probability * mass)
  }

  /** The probability that the answer lies outside the half-width stated with it, and outside one stated before. */
  function failureOf(planned: AdditivePlan, exact: readonly bigint[], truth: number, stated: number) {
    const distributions = planned.measurements.map(distributionOf)
    const reportOf = reporter(planned)
    let [after, before, all] = [0, 0, 0]
    for (const [noise, probability] of combinations(distributions)) {
      const noisy = exact.map((value, place) => [value + (noise[place] ?? 0n)])
      const { value, halfWidth } = numberIn(reportOf({ kind: 'additive', noisy }))
      const error = Math.abs(Number(value) - truth) - 1e-9
      if (error > halfWidth) after += probability
      if (error > stated) before += probability
      all += probability
    }
    // The omitted mass counts as a failure.
    return { after: after + 1 - all, before: before + 1 - all }
  }

  const scores = declareDataset(
    {
      id: 'scores',
      title: 'Scores',
      source: { kind: 'file', path: 'scores.csv', format: 'csv' },
      columns: [{ name: 'Score', type: 'integer', lower: 0, upper: 2, step: 1, nullable: false }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      synthetic: true,
      accounting: 'basic',
      sharing: false,
      timing: 'off',
      failureLimit: 3,
      queryLimits: {},
    },
    'v1',
    undefined,
  )

  test.each([
    ['mean', 0.5, [20, 0, 20]],
    ['mean', 1, [5, 5, 2]],
    ['mean', 2, [6, 0, 0]],
    ['mean', 6, [0, 1, 2]],
    ['mean', 40, [1, 0, 1]],
    ['variance', 6, [4, 0, 4]],
    ['variance', 6, [0, 3, 0]],
    ['variance', 60, [1, 0, 1]],
    ['standardDeviation', 6, [4, 0, 4]],
    ['standardDeviation', 6, [0, 0, 6]],
  ] as const)('the %s at epsilon %d of %j rows with a score of 0, 1 and 2', (kind, epsilon, counts) => {
    const values = counts.flatMap((count, score) => Array.from({ length: count }, () => score))
    const sumOf = (each: (value: number) => number) => values.reduce((sum, value) => sum + each(value), 0)
    const mean = sumOf((value) => value) / values.length
    const variance = sumOf((value) => (value - mean) ** 2) / values.length
    const truth = { mean, variance, standardDeviation: Math.sqrt(variance) }[kind]

    const wire = { kind, column: 'Score', mechanism: 'geometric', epsilon }
    const planned = planFor('additive', plan(querySchema.parse(wire), scores, LIMITS))
    const rows = values.map((score) => ({ Score: BigInt(score) }))
    const exact = aggregateRows(planned.aggregate, rows).flat()
    const supposed = { rows: values.length, mean, standardDeviation: Math.sqrt(variance) }
    const stated = accuracyReport(planned, supposed).halfWidth ?? Number.NaN
    const { after, before } = failureOf(planned, exact, truth, stated)
    expect(after).toBeLessThanOrEqual(1 - CONFIDENCE)
    expect(before).toBeLessThanOrEqual(1 - CONFIDENCE)
  })
})
