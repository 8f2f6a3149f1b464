import { describe, expect, test } from 'vitest'
import { accuracy as accuracyOf } from '../../../../src/core/mechanisms/mechanism.ts'
import type { AdditivePlan } from '../../../../src/core/planner/additive/shape.ts'
import type { PlanKindName } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { accuracyReport, noiseReport, reporter } from '../../../../src/core/planner/report.ts'
import { estimatesOf } from '../planned.ts'

/** Report for these noisy integers, in output units. */
const reportOf = (planned: AdditivePlan, noisy: readonly (readonly bigint[])[]) =>
  reporter(planned)({ kind: 'additive', noisy })

/** Integers in grid units as a release without any noise would have them. */
const noiseless = (planned: AdditivePlan, integers: readonly (readonly bigint[])[]) =>
  integers.map((cells, statistic) =>
    cells.map((value) => value << BigInt(planned.measurements[statistic]?.fractionBits ?? 0)),
  )

/** The stated noise of the two parts of a mean. */
function partsOf(stated: ReturnType<typeof accuracyReport>) {
  const [sum, count] = stated.statistics ?? []
  if (sum === undefined || count === undefined) throw new Error('a mean has two parts')
  return { sum, count }
}

describe('the contents of an answer', () => {
  test('every cell of the cross product, NULL last, in row-major order', () => {
    const planned = estimatesOf({
      kind: 'contingency',
      columns: ['Region', 'Member'],
      mechanism: 'geometric',
    })
    const { result } = reportOf(planned, [Array.from({ length: 12 }, (_, cell) => BigInt(cell))])
    if (!('cells' in result)) throw new Error('a table has cells')
    expect(result.cells).toHaveLength(12)
    expect(result.cells[1]).toEqual({ key: { Region: 'N', Member: true }, value: 1 })
    expect(result.cells[11]).toEqual({ key: { Region: null, Member: null }, value: 11 })
  })

  test('bins are named by their edges, and the last one holds its upper edge', () => {
    const planned = estimatesOf({ kind: 'histogram', column: { column: 'Age', edges: [0, 18, 65, 120] } })
    expect(planned.aggregate.groupBy).toEqual([
      { kind: 'bins', column: 'Age', edges: [0n, 18n, 65n, 121n], nullCell: false },
    ])
    const { result } = reportOf(planned, [[5n, 6n, 7n]])
    expect(result).toMatchObject({ cells: [{ key: { Age: { lower: 0, upper: 18 } }, value: 5 }, {}, {}] })
  })

  test('sums are in the units of the column, exactly', () => {
    const planned = estimatesOf({ kind: 'sum', column: 'Balance', mechanism: 'laplace' })
    expect(reportOf(planned, noiseless(planned, [[7n]])).result).toEqual({ value: 0.35 })
  })

  test('round and nonNegative are applied to the noisy value, and the half-width reflects them', () => {
    const wire = {
      kind: 'count',
      mechanism: 'laplace',
      epsilon: 0.7,
      postprocess: { round: true, nonNegative: true },
    }
    const planned = estimatesOf(wire)
    const bits = BigInt(planned.measurements[0]?.fractionBits ?? 0)
    const released = reportOf(planned, [[-(3n << bits) - 1n]])
    expect(released.result).toEqual({ value: 0 })
    expect(Number.isInteger(released.accuracy.halfWidth)).toBe(true)
    expect(reportOf(planned, [[(3n << bits) + 1n]]).result).toEqual({ value: 3 })
  })

  test('a mean is the noisy sum about the middle over the noisy count, within the bounds', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Age', mechanism: 'geometric' })
    // 10 people, 40 years each: 2 * 40 - 120 half steps a person.
    const released = reportOf(planned, [[-400n], [10n]])
    expect(released.result).toEqual({ value: 40 })
    expect(released.accuracy.halfWidth).toBeGreaterThan(0)
    expect(reportOf(planned, [[5_000n], [-3n]]).result).toEqual({ value: 120 })
  })

  test.each([
    // Noisy integers that put the value at the edge of what is possible, and the ends that are then cut.
    [{ kind: 'mean', column: 'Age' }, [[5_000n], [10n]], { upper: 120 }],
    [{ kind: 'count' }, [[-2n]], { lower: 0, upper: 1 }],
    [{ kind: 'countDistinct', column: 'Region' }, [[5n]], { upper: 3 }],
    [{ kind: 'proportion', of: { column: 'Member', op: '=', value: true } }, [[0n, 9n]], { upper: 1 }],
    [{ kind: 'standardDeviation', column: 'Age' }, [[36_000n], [0n], [10n]], { upper: 60 }],
    [{ kind: 'sum', column: 'Age' }, [[-20n]], { lower: 0 }],
  ] as const)('the interval of %j is cut at what the declaration makes impossible', (query, noisy, ends) => {
    const planned = estimatesOf({ mechanism: 'geometric', ...query })
    const { result, accuracy } = reportOf(planned, noisy)
    expect(accuracy.interval).toMatchObject(ends)
    const { lower, upper } = accuracy.interval ?? {}
    const { value } = result as { readonly value: number }
    if (!('upper' in ends)) expect(upper).toBe(value + (accuracy.halfWidth ?? 0))
    if (!('lower' in ends)) expect(lower).toBe(value - (accuracy.halfWidth ?? 0))
  })

  test('the interval of a mean of dates ends at whole days, within the declared range', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Visited', mechanism: 'geometric' })
    const intervalOf = (noisy: readonly (readonly bigint[])[]) => reportOf(planned, noisy).accuracy.interval
    expect(intervalOf([[0n], [1n]])).toEqual({ lower: '2024-01-20', upper: '2024-04-10' })
    // The middle is 1 March at noon, and half a day of rounding is added.
    const middle = 1_000_000n
    expect(intervalOf([[0n], [middle]])).toEqual({ lower: '2024-02-29', upper: '2024-03-02' })
  })

  test('a mean over a public number of rows divides by it', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Age', mechanism: 'geometric' }, 'change-one', 10)
    expect(reportOf(planned, [[-400n]]).result).toEqual({ value: 40 })
  })

  // 4 people of 20, 20, 20 and 100 years: 40 on average, and a variance of (3 * 20^2 + 60^2) / 4 = 1200.
  const half = [-80n, -80n, -80n, 80n]
  const squares = half.reduce((sum, value) => sum + value * value, 0n)
  test.each([
    ['variance', 1200],
    ['standardDeviation', Math.sqrt(1200)],
  ])('the %s comes from squares and sum about the middle, and the number of rows', (kind, value) => {
    const planned = estimatesOf({ kind, column: 'Age', mechanism: 'geometric' })
    expect(reportOf(planned, [[squares], [-160n], [4n]]).result).toEqual({ value })
    // With any noise, it lies between 0 and a quarter of the squared range.
    expect(reportOf(planned, [[-squares], [-160n], [4n]]).result).toEqual({ value: 0 })
    const largest = kind === 'variance' ? 3600 : 60
    expect(reportOf(planned, [[100n * squares], [0n], [-4n]]).result).toEqual({ value: largest })
    const bounded = estimatesOf({ kind, column: 'Age', mechanism: 'geometric' }, 'change-one', 4)
    expect(reportOf(bounded, [[squares], [-160n]]).result).toEqual({ value })
  })

  test('squares are in the units of the column, exactly', () => {
    const planned = estimatesOf({ kind: 'variance', column: 'Balance', mechanism: 'laplace' })
    // Two people at -50 and 30, 1600 half steps of 0.05 from the middle each.
    const { result } = reportOf(planned, noiseless(planned, [[2n * 1600n ** 2n], [0n], [2n]]))
    expect(result).toEqual({ value: 1600 })
  })

  test('a proportion is the share of the second cell, or of a public number of rows', () => {
    const wire = { kind: 'proportion', of: { column: 'Age', op: '<', value: 18 }, mechanism: 'geometric' }
    expect(reportOf(estimatesOf(wire), [[30n, 10n]]).result).toEqual({ value: 0.25 })
    expect(reportOf(estimatesOf(wire), [[-1n, 10n]]).result).toEqual({ value: 1 })
    expect(reportOf(estimatesOf(wire, 'change-one', 40), [[10n]]).result).toEqual({ value: 0.25 })
    expect(reportOf(estimatesOf(wire, 'change-one', 40), [[41n]]).result).toEqual({ value: 1 })
  })

  test('each group has a value and a half-width for each statistic, in the requested order', () => {
    const statistics = [{ kind: 'mean', column: 'Age' }, { kind: 'count' }, { kind: 'sum', column: 'Age' }]
    const planned = estimatesOf({ kind: 'groupBy', keys: ['Member'], statistics, mechanism: 'geometric' })
    expect(planned.aggregate.statistics.map(({ kind }) => kind)).toEqual(['affine-sum', 'count'])
    const { result, accuracy } = reportOf(planned, [
      [-400n, 0n, 1200n],
      [10n, 1000n, 10n],
    ])
    if (!('groups' in result)) throw new Error('a group-by has groups')
    expect(result.groups.map(({ key }) => key)).toEqual([
      { Member: false },
      { Member: true },
      { Member: null },
    ])
    const names = ['mean_Age', 'count', 'sum_Age']
    expect(result.groups.map(({ values }) => Object.keys(values))).toEqual([names, names, names])
    expect(result.groups.map(({ values }) => Object.values(values).map(({ value }) => value))).toEqual([
      [40, 10, 400],
      [60, 1000, 60_000],
      [120, 10, 1200],
    ])
    const halfWidths = result.groups.map(({ values }) =>
      Object.values(values).map(({ halfWidth }) => halfWidth),
    )
    const [few = [], many = []] = halfWidths
    // A mean over more rows has a smaller error. The errors of counts and sums do not depend on the rows, and equal
    // those stated before.
    expect(many[0]).toBeLessThan(few[0] ?? 0)
    expect(many.slice(1)).toEqual(few.slice(1))
    expect(accuracy).toMatchObject({ halfWidth: null, expectedAbsoluteError: null })
    expect(
      Object.entries(accuracy.estimates ?? {}).map(([name, { halfWidth }]) => [name, halfWidth]),
    ).toEqual(names.map((name, place) => [name, [null, ...few.slice(1)][place]]))
    expect(accuracy.statistics?.map(({ statistic, column }) => [statistic, column])).toEqual([
      ['sum about the middle', 'Age'],
      ['count', undefined],
    ])
  })

  test('a release of another plan, or without a statistic, is refused', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Age' })
    expect(() => reporter<PlanKindName>(planned)({ kind: 'quantile', indexes: [1n] })).toThrow(RangeError)
    expect(() => reportOf(planned, [[1n]])).toThrow(RangeError)
    expect(() => reportOf(estimatesOf({ kind: 'histogram', column: 'Sex' }), [[1n]])).toThrow(RangeError)
  })
})

describe('the description of noise', () => {
  // A person moves the sum by 40 from the middle of -50 to 30, and the squares by 40^2.
  const sensitivities = [1600, 40, 1]
  const names = [
    { statistic: 'sum of squares about the middle', column: 'Balance' },
    { statistic: 'sum about the middle', column: 'Balance' },
    { statistic: 'count' },
  ]

  test('of each statistic with its share of the price, in the unit of the statistic', () => {
    const planned = estimatesOf({ kind: 'variance', column: 'Balance', epsilon: 0.9 })
    const noise = noiseReport(planned)
    if (!('statistics' in noise)) throw new Error('a variance has three parts')
    expect(noise).toMatchObject({ mechanism: 'laplace', neighbours: 'add-remove' })
    for (const [place, { scale, granularity, ...facts }] of noise.statistics.entries()) {
      const sensitivity = sensitivities[place] ?? Number.NaN
      const epsilon = [0.4, 0.3, 0.2][place] ?? Number.NaN
      expect(facts).toEqual({ ...names[place], sensitivity, epsilon })
      expect(scale / (sensitivity / epsilon)).toBeCloseTo(1, 9)
      expect(Math.round(scale / granularity)).toBeGreaterThanOrEqual(2 ** 40)
    }
  })

  test('of one vector without shares', () => {
    const planned = estimatesOf({ kind: 'variance', column: 'Balance', mechanism: 'gaussian', delta: 1e-6 })
    const noise = noiseReport(planned)
    if (!('statistics' in noise)) throw new Error('a variance has three parts')
    expect(noise).toMatchObject({ mechanism: 'gaussian', calibration: 'analytic' })
    expect(noise.statistics.map(({ scale, granularity, ...facts }) => facts)).toEqual(
      names.map((name, place) => ({ ...name, sensitivity: sensitivities[place] })),
    )
  })

  test('of a single statistic by itself', () => {
    expect(noiseReport(estimatesOf({ kind: 'sum', column: 'Age', epsilon: 0.5 }))).toEqual({
      mechanism: 'geometric',
      neighbours: 'add-remove',
      scale: 240,
      sensitivity: 120,
      granularity: 1,
      p: expect.closeTo(1 - Math.exp(-0.5 / 120), 15),
    })
  })
})

describe('the stated accuracy of an answer', () => {
  test('before it is paid for, a mean over a private number of rows states the error of its parts', () => {
    expect(accuracyReport(estimatesOf({ kind: 'mean', column: 'Age' }))).toMatchObject({
      halfWidth: null,
      expectedAbsoluteError: null,
      statistics: [
        { statistic: 'sum about the middle', column: 'Age', halfWidth: expect.any(Number) },
        { statistic: 'count', halfWidth: expect.any(Number) },
      ],
    })
  })

  test('an unknown half-width has a reason, and advice', () => {
    const mean = { kind: 'mean', column: 'Age' }
    const { halfWidth, reason } = accuracyReport(estimatesOf(mean))
    expect(halfWidth).toBeNull()
    expect(reason).toBe('depends on the number of rows, which is private; give supposed.rows')
    for (const known of [estimatesOf({ ...mean, supposed: { rows: 50 } }), estimatesOf(mean, 'change-one')]) {
      expect(accuracyReport(known).halfWidth).toBeGreaterThan(0)
      expect(accuracyReport(known).reason).toBeUndefined()
    }

    const grouped = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }, mean] })
    const before = accuracyReport(grouped)
    expect(before.reason).toContain('see estimates')
    expect(before.estimates?.count?.reason).toBeUndefined()
    expect(before.estimates?.mean_Age?.reason).toContain('supposed.rows')
    // With the released values, no supposition is needed.
    const { accuracy: after } = reportOf(grouped, [
      [10n, 10n],
      [0n, 0n],
    ])
    expect(after.estimates?.mean_Age?.reason).toContain('each value has its own half-width')
  })

  test('suppositions change only the accuracy stated before the release, at a given epsilon', () => {
    for (const kind of ['mean', 'variance', 'standardDeviation']) {
      const wire = { kind, column: 'Age', epsilon: 0.5 }
      const halfWidths = [
        { rows: 20_000 },
        { rows: 20_000, mean: 50 },
        { rows: 20_000, mean: 50, standardDeviation: 12 },
      ].map((supposed) => {
        const { query, ...planned } = estimatesOf({ ...wire, supposed })
        const { query: without, ...plain } = estimatesOf(wire)
        expect({ ...query, supposed: undefined }).toEqual({ ...without, supposed: undefined })
        expect(planned).toEqual(plain)
        const released = planned.measurements.map((_, place) => [BigInt(10 * place)])
        expect(reportOf({ ...planned, query }, released)).toEqual(
          reportOf({ ...plain, query: without }, released),
        )
        return accuracyReport({ ...planned, query }).halfWidth ?? Number.NaN
      })
      // More suppositions give a smaller half-width.
      expect(halfWidths.toSorted((a, b) => b - a)).toEqual(halfWidths)
      expect(new Set(halfWidths).size).toBe(kind === 'mean' ? 2 : 3)
    }
  })

  test('with a supposed number of rows that is too small for its noise, no error is excluded', () => {
    const widest = { mean: 120, variance: 3600, standardDeviation: 60 }
    for (const [kind, most] of Object.entries(widest)) {
      const { halfWidth } = accuracyReport(estimatesOf({ kind, column: 'Age', supposed: { rows: 1 } }))
      expect((halfWidth ?? Number.NaN) / most).toBeCloseTo(1, 9)
    }
  })

  test('each part of a mean has half of the probability of failure', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Age', mechanism: 'laplace' })
    const { sum, count } = partsOf(accuracyReport(planned))
    const [sumMeasurement, countMeasurement] = planned.measurements
    if (sumMeasurement === undefined || countMeasurement === undefined)
      throw new Error('a mean has two parts')
    expect(sum.halfWidth).toBeCloseTo(accuracyOf(sumMeasurement, 0.975).halfWidth / 2, 9)
    expect(count.halfWidth).toBeCloseTo(accuracyOf(countMeasurement, 0.975).halfWidth, 9)
  })
})
