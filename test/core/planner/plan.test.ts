import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { accuracy } from '../../../src/core/mechanisms/mechanism.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { accuracyReport, noiseReport } from '../../../src/core/planner/report.ts'
import { must } from '../../../src/privacy/must.ts'
import { patients } from './neighbours/people.ts'
import { estimatesOf, LIMITS, planFor, refusalOf } from './planned.ts'

describe('sensitivity, in grid units', () => {
  const adult = { column: 'Age', op: '>=', value: 18 }
  test.each([
    ['a count', { kind: 'count' }, [1n, 1n, 1n], [1n, 1n, 1n]],
    ['a filtered count', { kind: 'count', where: adult }, [1n, 1n, 1n], [1n, 1n, 1n]],
    ['a sum from 0', { kind: 'sum', column: 'Age' }, [120n, 14_400n, 120n], [120n, 14_400n, 120n]],
    [
      'a sum on both sides of 0',
      { kind: 'sum', column: 'Balance' },
      [1000n, 1_000_000n, 1000n],
      [1600n, 2_560_000n, 1600n],
    ],
    // A person without an income, or left out by the filter, contributes 0, which lies outside the bounds.
    [
      'a sum with NULL',
      { kind: 'sum', column: 'Income' },
      [1000n, 1_000_000n, 1000n],
      [1000n, 1_000_000n, 1000n],
    ],
    [
      'a filtered sum',
      { kind: 'sum', column: 'Balance', where: adult },
      [1000n, 1_000_000n, 1000n],
      [1600n, 2_560_000n, 1600n],
    ],
    ['a histogram', { kind: 'histogram', column: 'Region' }, [1n, 1n, 1n], [2n, 2n, 1n]],
    ['a table', { kind: 'contingency', columns: ['Region', 'Sex'] }, [1n, 1n, 1n], [2n, 2n, 1n]],
  ])('%s', (_name, wire, unbounded, bounded) => {
    for (const [neighbours, expected] of [
      ['add-remove', unbounded],
      ['change-one', bounded],
    ] as const) {
      const [measurement] = estimatesOf(wire, neighbours).measurements
      const { l1, l2Squared, lInfinity } = measurement?.sensitivity ?? {}
      expect([l1, l2Squared, lInfinity], neighbours).toEqual(expected)
    }
  })

  test('a mean about the middle moves by half the range, in half steps by the range', () => {
    const [sum, count] = estimatesOf({ kind: 'mean', column: 'Balance' }).measurements
    expect(sum?.sensitivity.l1).toBe(1600n)
    expect(count?.sensitivity.l1).toBe(1n)
  })

  test('a variance moves by the square of that, in quarters of a square step', () => {
    const [squares, sum, count] = estimatesOf({ kind: 'variance', column: 'Balance' }).measurements
    expect(squares?.sensitivity.l1).toBe(1600n ** 2n)
    expect(sum?.sensitivity.l1).toBe(1600n)
    expect(count?.sensitivity.l1).toBe(1n)
  })

  test('a mean over a public number of rows is one sum, and moves by the range, in half steps by twice the range', () => {
    const planned = estimatesOf({ kind: 'mean', column: 'Balance' }, 'change-one')
    expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([3200n])
    expect(planned.estimates).toMatchObject([{ kind: 'mean', rows: { kind: 'public', value: 100 } }])
  })

  test('a variance over a public number of rows needs no count, and its squares are never below 0', () => {
    const planned = estimatesOf({ kind: 'variance', column: 'Balance' }, 'change-one')
    expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([1600n ** 2n, 3200n])
    expect(planned.estimates).toMatchObject([{ kind: 'variance', rows: { kind: 'public', value: 100 } }])
  })

  test('a proportion of a public number of rows is one count, of a private one a table of two cells', () => {
    const of = { column: 'Region', op: 'in', values: ['N'] }
    const bounded = estimatesOf({ kind: 'proportion', of }, 'change-one')
    expect(bounded.aggregate).toMatchObject({ groupBy: [], statistics: [{ kind: 'count', where: {} }] })
    expect(bounded.estimates).toEqual([{ kind: 'proportion', statistic: 0, rows: 100 }])
    for (const [wire, neighbours, l1] of [
      [{ kind: 'proportion', of }, 'add-remove', 1n],
      [{ kind: 'proportion', of, where: adult }, 'change-one', 2n],
    ] as const) {
      const planned = estimatesOf(wire, neighbours)
      expect(planned.aggregate).toMatchObject({
        groupBy: [{ kind: 'predicate' }],
        statistics: [{ kind: 'count' }],
      })
      expect(planned.estimates).toEqual([{ kind: 'proportion-of-cells', statistic: 0 }])
      expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([l1])
    }
  })

  test.each([
    ['a filter', { kind: 'mean', column: 'Balance', where: adult }, 3200n],
    ['NULL', { kind: 'mean', column: 'Income' }, 1960n],
  ])('under change-one %s makes the number of rows private again', (_name, wire, l1) => {
    const planned = estimatesOf(wire, 'change-one')
    expect(planned.estimates).toMatchObject([{ kind: 'mean', rows: { kind: 'noisy', statistic: 1 } }])
    expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([l1, 1n])
  })

  test('a count of distinct values counts declared ones, and NULL is not one of them', () => {
    const { aggregate } = estimatesOf({ kind: 'countDistinct', column: 'Region' })
    expect(aggregate).toMatchObject({
      groupBy: [],
      statistics: [{ kind: 'count-distinct', of: { kind: 'category', size: 3, nullCell: false } }],
    })
  })

  test('a statistic that several estimates of a group need is measured once', () => {
    const statistics = [
      { kind: 'count' },
      { kind: 'sum', column: 'Age' },
      { kind: 'mean', column: 'Age' },
      { kind: 'variance', column: 'Age' },
      { kind: 'standardDeviation', column: 'Age' },
      { kind: 'sum', column: 'Balance' },
      { kind: 'mean', column: 'Income' },
    ]
    const planned = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics })
    expect(planned.estimates).toHaveLength(7)
    expect(
      planned.aggregate.statistics.map((statistic) => ({ column: undefined, ...statistic })),
    ).toMatchObject([
      { kind: 'count', column: undefined },
      { kind: 'affine-sum', column: 'Age', factor: 2n },
      { kind: 'affine-square-sum', column: 'Age', factor: 2n },
      { kind: 'affine-sum', column: 'Balance', factor: 1n },
      { kind: 'affine-sum', column: 'Income', factor: 2n },
      // The number of rows with an income, which the mean covers.
      { kind: 'count', column: 'Income' },
    ])
  })

  test.each(['Age', 'Balance', 'Income'])(
    'a sum beside a mean and a variance of %s needs no further measurement',
    (column) => {
      const groupBy = (...kinds: readonly string[]) =>
        estimatesOf({
          kind: 'groupBy',
          keys: ['Sex'],
          statistics: kinds.map((kind) => ({ kind, column })),
          epsilon: 0.3,
        })
      const [together, without, sum] = [
        groupBy('sum', 'mean', 'variance'),
        groupBy('mean', 'variance'),
        groupBy('sum'),
      ]
      const measured = ({ aggregate }: typeof together) => new Set(aggregate.statistics)
      expect(measured(together)).toEqual(measured(without))
      // Three equal shares of the epsilon, not four.
      expect(together.measurements.map(({ loss }) => loss.epsilonNano)).toEqual(
        Array.from({ length: 3 }, () => 100_000_000n),
      )
      // With the same share, the error of a separate sum would be as large or larger.
      const alone = accuracyReport(sum).expectedAbsoluteError ?? Number.NaN
      const shared =
        accuracyReport(together).estimates?.[`sum_${column}`]?.expectedAbsoluteError ?? Number.NaN
      expect(shared).toBeLessThanOrEqual(3 * alone * 1.001)
    },
  )

  test('a group never has a public number of rows', () => {
    const statistics = [{ kind: 'mean', column: 'Age' }]
    const { estimates } = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics }, 'change-one')
    expect(estimates).toMatchObject([{ rows: { kind: 'noisy' } }])
  })
})

describe('price', () => {
  test('a table costs one epsilon, not one per cell', () => {
    const { loss } = estimatesOf({ kind: 'contingency', columns: ['Region', 'Sex', 'Member'], epsilon: 0.3 })
    expect(loss).toEqual({ epsilonNano: 300_000_000n, deltaAtto: 0n })
  })

  test('the parts of a variance add up to the whole, to the last unit, and squares get most', () => {
    const planned = estimatesOf({ kind: 'variance', column: 'Age', epsilon: 0.000000005 })
    expect(planned.measurements.map(({ loss }) => loss.epsilonNano)).toEqual([3n, 1n, 1n])
    expect(planned.loss).toEqual({ epsilonNano: 5n, deltaAtto: 0n })
  })

  test('the parts of a Gaussian mean are released as one vector, which costs the requested loss undivided', () => {
    const wire = { kind: 'mean', column: 'Age', epsilon: 1e-9, delta: 1e-18, mechanism: 'gaussian' }
    const planned = estimatesOf(wire)
    expect(planned.loss).toEqual({ epsilonNano: 1n, deltaAtto: 1n })
    expect(planned.measurements).toHaveLength(2)
    // Each has the same ratio of sigma to sensitivity, and more noise than it would have alone.
    const ratios = planned.measurements.map(({ noise, sensitivity, fractionBits }) =>
      noise.kind === 'discrete-gaussian'
        ? Number(noise.sigma) / 2 ** fractionBits / Math.sqrt(Number(sensitivity.l2Squared))
        : Number.NaN,
    )
    const [alone] = estimatesOf({ ...wire, kind: 'sum' }).measurements
    const sigma = alone?.noise.kind === 'discrete-gaussian' ? Number(alone.noise.sigma) : Number.NaN
    // Not to the last digit, because the grid takes a larger share of such a small delta from two vectors than from
    // one.
    for (const ratio of ratios)
      expect((120 * ratio) / (sigma / 2 ** (alone?.fractionBits ?? 0))).toBeCloseTo(Math.SQRT2, 8)
  })

  test('groups and their statistics cost one epsilon together', () => {
    const statistics = [{ kind: 'count' }, { kind: 'mean', column: 'Age' }, { kind: 'sum', column: 'Income' }]
    const wire = { kind: 'groupBy', keys: ['Region', 'Member'], statistics, epsilon: 0.3 }
    expect(estimatesOf(wire).loss).toEqual({ epsilonNano: 300_000_000n, deltaAtto: 0n })
  })

  test('several variances of a group are measured by the Gaussian mechanism at the least delta', () => {
    const statistics = ['Age', 'Balance', 'Income'].map((column) => ({ kind: 'variance', column }))
    const wire = { kind: 'groupBy', keys: ['Sex'], statistics, mechanism: 'gaussian' }
    const planned = estimatesOf({ ...wire, epsilon: 1.243, delta: 9e-18 })
    expect(planned.loss).toEqual({ epsilonNano: 1_243_000_000n, deltaAtto: 9n })
  })

  test('an epsilon of one unit cannot be divided for a mean', () => {
    expect(refusalOf({ kind: 'mean', column: 'Age', epsilon: 1e-9 }).errors[0]?.field).toBe('epsilon')
  })

  test('delta is charged only if it is used', () => {
    expect(estimatesOf({ kind: 'count', mechanism: 'laplace', delta: 1e-6 }).loss.deltaAtto).toBe(0n)
    expect(estimatesOf({ kind: 'count', mechanism: 'gaussian', delta: 1e-6 }).loss.deltaAtto).toBe(
      1_000_000_000_000n,
    )
  })
})

describe('choice of mechanism', () => {
  test.each([
    ['whole numbers', { kind: 'count' }, 'geometric'],
    ['real numbers', { kind: 'sum', column: 'Balance' }, 'laplace'],
    ['one statistic, with delta', { kind: 'count', delta: 1e-6 }, 'geometric'],
    // The Gaussian mechanism has the lighter tails where epsilon is large against delta.
    ['a small delta loss', { kind: 'count', epsilon: 0.0001, delta: 0.4 }, 'gaussian'],
  ])('%s', (_name, wire, mechanism) => {
    expect(noiseReport(estimatesOf(wire)).mechanism).toBe(mechanism)
  })

  test.each([0.01, 0.1, 1, 20])(
    'the chosen mechanism has the smallest half-width of those allowed, at epsilon %d',
    (epsilon) => {
      const wire = { kind: 'histogram', column: 'Region', epsilon, delta: 0.1 }
      const halfWidth = (more: object) =>
        accuracyReport(estimatesOf({ ...wire, ...more }, 'change-one')).halfWidth ?? Number.NaN
      const all = ['geometric', 'laplace', 'gaussian'].map((mechanism) => halfWidth({ mechanism }))
      expect(halfWidth({})).toBe(Math.min(...all))
    },
  )

  // Gaussian noise gives the smaller half-width from 6 groups on, but the smaller expected error only from 9 on.
  test.each([
    [5, 'geometric'],
    [7, 'gaussian'],
    [8, 'gaussian'],
    [9, 'gaussian'],
  ])('for a person in up to %d groups: %s', (groups, mechanism) => {
    const ages = { column: 'Age', edges: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100] }
    const wire = {
      kind: 'groupBy',
      keys: [ages],
      contribution: { groups },
      statistics: [{ kind: 'count' }],
      delta: 1e-5,
    }
    const planned = plan(querySchema.parse({ epsilon: 1, ...wire }), patients('add-remove', 20), LIMITS)
    expect(noiseReport(planFor('additive', planned)).mechanism).toBe(mechanism)
  })

  test('six quantities of groups take Gaussian noise where it is better for each of them', () => {
    const statistics = ['Age', 'Balance', 'Income'].flatMap((column) => [
      { kind: 'sum', column },
      { kind: 'variance', column },
    ])
    const wire = { kind: 'groupBy', keys: ['Sex'], statistics: statistics.slice(0, 5), delta: 1e-4 }
    const halfWidths = (more: object) => {
      const planned = estimatesOf({ ...wire, ...more })
      return planned.measurements.map((measurement) => accuracy(measurement, 0.95).halfWidth)
    }
    const [gaussian, laplace] = [halfWidths({ mechanism: 'gaussian' }), halfWidths({ mechanism: 'laplace' })]
    expect(gaussian.every((halfWidth, place) => halfWidth < must(laplace[place], 'as many'))).toBe(true)
    expect(halfWidths({})).toEqual(gaussian)
  })

  test('from some number of statistics on, the mechanism that releases one vector has the smallest half-width', () => {
    const chosen = (columns: readonly string[]) => {
      const statistics = columns.flatMap((column) => [
        { kind: 'sum', column },
        { kind: 'variance', column },
      ])
      const planned = estimatesOf({ kind: 'groupBy', keys: ['Sex'], statistics, delta: 1e-3 })
      return [planned.measurements.length, noiseReport(planned).mechanism]
    }
    expect(chosen(['Age'])).toEqual([3, 'gaussian'])
    expect(chosen(['Age', 'Balance', 'Income'])).toEqual([8, 'gaussian'])
  })
})

describe('predicates become exact ranges of grid indexes', () => {
  test.each([
    [{ op: '>=', value: 30 }, { lower: 30n }],
    [{ op: '>=', value: 30.2 }, { lower: 31n }],
    [{ op: '>', value: 30 }, { lower: 31n }],
    [{ op: '>', value: 30.2 }, { lower: 31n }],
    [{ op: '<', value: 30 }, { upper: 29n }],
    [{ op: '<', value: 30.2 }, { upper: 30n }],
    [{ op: '<=', value: 30.2 }, { upper: 30n }],
    [{ op: '<=', value: -0.5 }, { upper: -1n }],
    [{ op: '>', value: 1e300 }, { lower: 122n }],
    [{ op: '<', value: -1e300 }, { upper: -2n }],
    [
      { op: 'between', lower: 18, upper: 64.5 },
      { lower: 18n, upper: 64n },
    ],
  ])('%j', (comparison, range) => {
    const { where } = estimatesOf({ kind: 'count', where: { column: 'Age', ...comparison } }).aggregate
    expect(where).toEqual({ kind: 'index-between', column: 'Age', ...range })
  })
})
