import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/query.ts'
import { accuracy as accuracyOf } from '../../src/mechanisms/mechanism.ts'
import { plan } from '../../src/planner/plan.ts'
import { accuracyReport, noiseReport, report } from '../../src/planner/report.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { people } from './people.ts'

const LIMITS = { maxCells: 1000 }
const planOf = (wire: object, neighbours: Neighbours = 'add-remove') =>
  plan(querySchema.parse({ epsilon: 1, ...wire }), people(neighbours), LIMITS)

function refusalOf(wire: object, neighbours?: Neighbours): Refusal {
  try {
    planOf(wire, neighbours)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('nothing was refused')
}

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
      const [measurement] = planOf(wire, neighbours).measurements
      const { l1, l2Squared, lInfinity } = measurement?.sensitivity ?? {}
      expect([l1, l2Squared, lInfinity], neighbours).toEqual(expected)
    }
  })

  test('a mean about the middle moves by half the range, in half steps by the range', () => {
    const [sum, count] = planOf({ kind: 'mean', column: 'Balance' }).measurements
    expect(sum?.sensitivity.l1).toBe(1600n)
    expect(count?.sensitivity.l1).toBe(1n)
  })

  test('a mean over a public number of rows is one sum, and moves by the range', () => {
    const planned = planOf({ kind: 'mean', column: 'Balance' }, 'change-one')
    expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([1600n])
    expect(planned.presentation.kind).toBe('mean-of-public-size')
  })

  test.each([
    ['a filter', { kind: 'mean', column: 'Balance', where: adult }, 3200n],
    ['NULL', { kind: 'mean', column: 'Income' }, 1960n],
  ])('under change-one %s makes the number of rows private again', (_name, wire, l1) => {
    const planned = planOf(wire, 'change-one')
    expect(planned.presentation.kind).toBe('mean-about-middle')
    expect(planned.measurements.map(({ sensitivity }) => sensitivity.l1)).toEqual([l1, 1n])
  })
})

describe('price', () => {
  test('a table costs one epsilon, not one per cell', () => {
    const { loss } = planOf({ kind: 'contingency', columns: ['Region', 'Sex', 'Member'], epsilon: 0.3 })
    expect(loss).toEqual({ epsilonNano: 300_000_000n, deltaAtto: 0n })
  })

  test('the parts of a mean add up to the whole, to the last unit', () => {
    const planned = planOf({
      kind: 'mean',
      column: 'Age',
      epsilon: 0.000000005,
      delta: 3e-18,
      mechanism: 'gaussian',
    })
    expect(planned.measurements.map(({ loss }) => loss)).toEqual([
      { epsilonNano: 3n, deltaAtto: 2n },
      { epsilonNano: 2n, deltaAtto: 1n },
    ])
    expect(planned.loss).toEqual({ epsilonNano: 5n, deltaAtto: 3n })
  })

  test('a mean of one unit of epsilon has nothing to divide', () => {
    expect(refusalOf({ kind: 'mean', column: 'Age', epsilon: 1e-9 }).errors[0]?.field).toBe('epsilon')
  })

  test('delta is charged where it is used only', () => {
    expect(planOf({ kind: 'count', mechanism: 'laplace', delta: 1e-6 }).loss.deltaAtto).toBe(0n)
    expect(planOf({ kind: 'count', mechanism: 'gaussian', delta: 1e-6 }).loss.deltaAtto).toBe(
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
    expect(noiseReport(planOf(wire)).mechanism).toBe(mechanism)
  })

  test('what is chosen errs least among what is allowed', () => {
    const wire = { kind: 'histogram', column: 'Region', epsilon: 0.01, delta: 0.1 }
    const error = (more: object) =>
      accuracyReport(planOf({ ...wire, ...more }, 'change-one')).expectedAbsoluteError ?? 0
    const all = ['geometric', 'laplace', 'gaussian'].map((mechanism) => error({ mechanism }))
    expect(error({})).toBe(Math.min(...all))
  })
})

describe('refusals', () => {
  test.each([
    ['an unknown column', { kind: 'sum', column: 'Agee' }, 'query-does-not-fit', 'column'],
    ['a sum of a category', { kind: 'sum', column: 'Sex' }, 'query-does-not-fit', 'column'],
    [
      'geometric on real values',
      { kind: 'sum', column: 'Balance', mechanism: 'geometric' },
      'mechanism-not-applicable',
      'mechanism',
    ],
    [
      'geometric on a real mean',
      { kind: 'mean', column: 'Income', mechanism: 'geometric' },
      'mechanism-not-applicable',
      'mechanism',
    ],
    ['gaussian without delta', { kind: 'count', mechanism: 'gaussian' }, 'mechanism-not-applicable', 'delta'],
    [
      'classic above 1',
      { kind: 'count', mechanism: 'gaussian', calibration: 'classic', epsilon: 1.5, delta: 1e-6 },
      'mechanism-not-applicable',
      'calibration',
    ],
    [
      'classic above 1 in a mean',
      { kind: 'mean', column: 'Age', mechanism: 'gaussian', calibration: 'classic', epsilon: 2, delta: 1e-6 },
      'mechanism-not-applicable',
      'calibration',
    ],
    [
      'a calibration without gaussian',
      { kind: 'count', calibration: 'classic' },
      'invalid-request',
      'calibration',
    ],
    ['a histogram of free text', { kind: 'histogram', column: 'Note' }, 'query-does-not-fit', 'column'],
    [
      'a histogram of numbers without edges',
      { kind: 'histogram', column: 'Age' },
      'query-does-not-fit',
      'column',
    ],
    [
      'edges on a category',
      { kind: 'histogram', column: { column: 'Sex', edges: [0, 1] } },
      'query-does-not-fit',
      'column',
    ],
    [
      'edges that fall',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 50, 20] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'edges within one step',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 0.5, 0.75, 20] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'an edge out of bounds',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 121] } },
      'query-does-not-fit',
      'column.edges.1',
    ],
    [
      'an edge twice',
      { kind: 'histogram', column: { column: 'Age', edges: [0, 10, 10] } },
      'query-does-not-fit',
      'column.edges.2',
    ],
    [
      'a sum below 0 that is to be cut at 0',
      { kind: 'sum', column: 'Balance', postprocess: { nonNegative: true } },
      'query-does-not-fit',
      'postprocess.nonNegative',
    ],
    [
      'a mean below 0 that is to be cut at 0',
      { kind: 'mean', column: 'Balance', postprocess: { nonNegative: true } },
      'query-does-not-fit',
      'postprocess.nonNegative',
    ],
    [
      'a delta too small to be divided',
      { kind: 'mean', column: 'Age', mechanism: 'gaussian', delta: 1e-18 },
      'invalid-request',
      'delta',
    ],
    [
      'a column twice',
      { kind: 'contingency', columns: ['Sex', 'Region', 'Sex'] },
      'query-does-not-fit',
      'columns.2',
    ],
    [
      'too many cells',
      {
        kind: 'contingency',
        columns: [
          { column: 'Age', edges: Array.from({ length: 120 }, (_, i) => i) },
          'Region',
          'Sex',
          'Member',
        ],
      },
      'query-does-not-fit',
      'columns',
    ],
    [
      'an unknown category',
      { kind: 'count', where: { column: 'Sex', op: '=', value: 'X' } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a text for a number',
      { kind: 'count', where: { column: 'Age', op: '>', value: '30' } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a number for a text',
      { kind: 'count', where: { column: 'Note', op: 'in', values: ['a', 1] } },
      'query-does-not-fit',
      'where.values.1',
    ],
    [
      'an order of categories',
      { kind: 'count', where: { column: 'Sex', op: '<', value: 'M' } },
      'query-does-not-fit',
      'where.op',
    ],
    [
      'an equality off the grid',
      { kind: 'count', where: { column: 'Age', op: '=', value: 30.5 } },
      'query-does-not-fit',
      'where.value',
    ],
    [
      'a deep unknown column',
      {
        kind: 'count',
        where: { op: 'not', predicate: { op: 'and', predicates: [{ column: 'Agee', op: 'isNull' }] } },
      },
      'query-does-not-fit',
      'where.predicate.predicates.0.column',
    ],
  ])('%s', (_name, wire, code, field) => {
    const refusal = refusalOf(wire)
    expect(refusal.code).toBe(code)
    expect(refusal.errors[0]?.field).toBe(field)
    expect(refusal.errors[0]?.rule.length).toBeGreaterThan(5)
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
    const { where } = planOf({ kind: 'count', where: { column: 'Age', ...comparison } }).aggregate
    expect(where).toEqual({ kind: 'index-between', column: 'Age', ...range })
  })
})

describe('what an answer shows', () => {
  test('every cell of the cross product, NULL last, in row-major order', () => {
    const planned = planOf({ kind: 'contingency', columns: ['Region', 'Member'], mechanism: 'geometric' })
    const { result } = report(planned, [Array.from({ length: 12 }, (_, cell) => BigInt(cell))])
    if (!('cells' in result)) throw new Error('a table has cells')
    expect(result.cells).toHaveLength(12)
    expect(result.cells[1]).toEqual({ key: { Region: 'N', Member: true }, value: 1 })
    expect(result.cells[11]).toEqual({ key: { Region: null, Member: null }, value: 11 })
  })

  test('bins are named by their edges, and the last one holds its upper edge', () => {
    const planned = planOf({ kind: 'histogram', column: { column: 'Age', edges: [0, 18, 65, 120] } })
    expect(planned.aggregate.groupBy).toEqual([
      { kind: 'bins', column: 'Age', edges: [0n, 18n, 65n, 121n], nullCell: false },
    ])
    const { result } = report(planned, [[5n, 6n, 7n]])
    expect(result).toMatchObject({ cells: [{ key: { Age: { lower: 0, upper: 18 } }, value: 5 }, {}, {}] })
  })

  test('sums are in the units of the column, exactly', () => {
    const planned = planOf({ kind: 'sum', column: 'Balance', mechanism: 'laplace' })
    const bits = BigInt(planned.measurements[0]?.fractionBits ?? 0)
    expect(report(planned, [[7n << bits]]).result).toEqual({ value: 0.35 })
  })

  test('round and nonNegative are applied to the noisy value, and the half-width says so', () => {
    const wire = {
      kind: 'count',
      mechanism: 'laplace',
      epsilon: 0.7,
      postprocess: { round: true, nonNegative: true },
    }
    const planned = planOf(wire)
    const bits = BigInt(planned.measurements[0]?.fractionBits ?? 0)
    const released = report(planned, [[-(3n << bits) - 1n]])
    expect(released.result).toEqual({ value: 0 })
    expect(Number.isInteger(released.accuracy.halfWidth)).toBe(true)
    expect(report(planned, [[(3n << bits) + 1n]]).result).toEqual({ value: 3 })
  })

  test('a mean is the noisy sum about the middle over the noisy count, within the bounds', () => {
    const planned = planOf({ kind: 'mean', column: 'Age', mechanism: 'geometric' })
    // 10 people, 40 years each: 2 * 40 - 120 half steps a person.
    const released = report(planned, [[-400n], [10n]])
    expect(released.result).toEqual({ value: 40 })
    expect(released.accuracy.halfWidth).toBeGreaterThan(0)
    expect(report(planned, [[5_000n], [-3n]]).result).toEqual({ value: 120 })
  })

  test('before it is paid for, a mean over a private number of rows states the error of its parts', () => {
    expect(accuracyReport(planOf({ kind: 'mean', column: 'Age' }))).toMatchObject({
      halfWidth: null,
      expectedAbsoluteError: null,
      sum: { halfWidth: expect.any(Number) },
      count: { halfWidth: expect.any(Number) },
    })
  })

  test('with a supposed number of rows, the stated accuracy of a mean holds for every mean', () => {
    const planned = planOf({ kind: 'mean', column: 'Age', mechanism: 'geometric' })
    const { halfWidth, sum, count } = accuracyReport(planned, 50)
    if (halfWidth === null || sum === undefined || count === undefined)
      throw new Error('a number of rows was supposed')
    expect(halfWidth).toBeLessThan(120)
    for (const mean of [0, 20, 60, 120]) {
      for (const sumError of [-1, 1]) {
        for (const countError of [-1, 1]) {
          const total = (mean - 60) * 50 + sumError * sum.halfWidth
          const released = 60 + total / (50 + countError * count.halfWidth)
          expect(Math.abs(Math.min(120, Math.max(0, released)) - mean)).toBeLessThanOrEqual(halfWidth + 1e-9)
        }
      }
    }
    expect(accuracyReport(planned, 1).halfWidth).toBe(120)
  })

  test('each part of a mean may miss by half of what the whole may', () => {
    const planned = planOf({ kind: 'mean', column: 'Age', mechanism: 'laplace' })
    const { sum, count } = accuracyReport(planned)
    const [sumMeasurement, countMeasurement] = planned.measurements
    if (sumMeasurement === undefined || countMeasurement === undefined)
      throw new Error('a mean has two parts')
    expect(sum?.halfWidth).toBeCloseTo(accuracyOf(sumMeasurement, 0.975).halfWidth / 2, 9)
    expect(count?.halfWidth).toBeCloseTo(accuracyOf(countMeasurement, 0.975).halfWidth, 9)
  })

  test('the interval of a mean covers what its parts allow', () => {
    const planned = planOf({ kind: 'mean', column: 'Age', mechanism: 'geometric' })
    const { accuracy: stated } = report(planned, [[-4000n], [100n]])
    const { sum, count } = stated
    if (sum === undefined || count === undefined) throw new Error('a mean has two parts')
    for (const sumError of [-1, 0, 1]) {
      for (const countError of [-1, 0, 1]) {
        const mean = 60 + (-2000 + sumError * sum.halfWidth) / (100 + countError * count.halfWidth)
        expect(Math.abs(Math.min(120, Math.max(0, mean)) - 40)).toBeLessThanOrEqual(
          (stated.halfWidth ?? 0) + 1e-9,
        )
      }
    }
  })
})
