import fc from 'fast-check'
import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Column, Dataset, GridColumn } from '../../../../src/core/dataset/dataset.ts'
import { accuracy } from '../../../../src/core/mechanisms/mechanism.ts'
import { calibrateGeometric } from '../../../../src/core/mechanisms/noise/geometric.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { bandEdges } from '../../../../src/core/planner/kinds/bounds/bands.ts'
import { clampsAt } from '../../../../src/core/planner/kinds/bounds/candidates.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { measuredAccuracy, reporter } from '../../../../src/core/planner/report.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { column, datasetOf } from '../../../engines/fixture.ts'
import { patients, people } from '../neighbours/people.ts'
import { LIMITS, planFor } from '../planned.ts'

/** Plans a `bounds` question, and weighs the clamps for noisy counts of its bands. */
function clampsOf(wire: object, dataset: Dataset, countOf: (lower: number, upper: number) => number) {
  const asked = querySchema.parse({ kind: 'bounds', epsilon: 0.1, ...wire })
  const planned = planFor('additive', plan(asked, dataset, LIMITS))
  const labels = planned.groupings.flatMap((grouping) => grouping.labels) as {
    lower: number
    upper: number
  }[]
  const counts = labels.map(({ lower, upper }) => BigInt(countOf(lower, upper)))
  const { result } = reporter(planned)({ kind: 'additive', noisy: [counts] })
  if (!('cells' in result) || result.clamps === undefined) throw new Error('the answer has no clamps')
  return { clamps: result.clamps, planned }
}

const bandsOf = (of: Column) => bandEdges(of as GridColumn)

describe('bands', () => {
  const edgesOf = (lower: bigint, upper: bigint, stepNano?: bigint) =>
    bandsOf(
      stepNano === undefined ? column.integer('x', lower, upper) : column.number('x', stepNano, lower, upper),
    ).map(Number)

  test('lie between powers of two of the unit, on both sides of 0', () => {
    expect(edgesOf(0n, 20n)).toEqual([0, 1, 2, 4, 8, 16, 21])
    expect(edgesOf(-5n, 3n)).toEqual([-5, -4, -2, -1, 0, 1, 2, 4])
    expect(edgesOf(100n, 300n)).toEqual([100, 128, 256, 301])
    // Steps of 0.25: 0, 0.25, 0.5, 1, 2 and more.
    expect(edgesOf(0n, 12n, 250_000_000n)).toEqual([0, 1, 2, 4, 8, 13])
    // Steps of 0.1: the first value at or above a power of two.
    expect(edgesOf(0n, 12n, 100_000_000n)).toEqual([0, 1, 2, 3, 5, 10, 13])
  })

  test('of dates lie between powers of two of steps from the lower bound', () => {
    const day = column.date('day', '2024-01-01', '2024-01-20')
    const [first, ...others] = bandsOf(day)
    expect(others.map((edge) => Number(edge - (first ?? 0n)))).toEqual([1, 2, 4, 8, 16, 20])
  })

  test('are at most 128, hold every value once, and are those of both signs mirrored', () => {
    const end = fc.bigInt(-(2n ** 53n), 2n ** 53n)
    fc.assert(
      fc.property(end, end, fc.constantFrom(1n, 7n, 10_000_000n, 10n ** 9n, 10n ** 12n), (a, b, stepNano) => {
        if (a === b) return
        const [lower, upper] = a < b ? [a, b] : [b, a]
        const edges = bandsOf(column.number('x', stepNano, lower, upper))
        expect(edges.length - 1).toBeLessThanOrEqual(128)
        expect([edges[0], edges.at(-1)]).toEqual([lower, upper + 1n])
        expect(edges.every((edge, place) => place === 0 || edge > (edges[place - 1] ?? edge))).toBe(true)
        const mirrored = bandsOf(column.number('x', stepNano, -upper, -lower))
        const inner = (each: readonly bigint[]) => each.slice(1, -1)
        const opposite = inner(mirrored)
          .map((edge) => -edge)
          .reverse()
        // A bound is an edge as well, which its opposite need not be.
        const isShared = (edge: bigint) => edge > lower && edge < upper
        expect(inner(edges).filter(isShared)).toEqual(opposite.filter(isShared))
      }),
    )
  })

  test('cost what one count costs: a row is in one band', () => {
    const { planned } = clampsOf({ column: 'Age' }, people('add-remove'), () => 0)
    expect(planned.measurements[0]?.sensitivity).toEqual({ l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n })
    expect(
      clampsOf({ column: 'Age' }, people('change-one'), () => 0).planned.measurements[0]?.sensitivity.l1,
    ).toBe(2n)
    const ofPeople = clampsOf({ column: 'Age', contribution: { rows: 3 } }, patients('add-remove'), () => 0)
    expect(ofPeople.planned.measurements[0]?.sensitivity).toMatchObject({ l1: 3n, lInfinity: 3n })
  })
})

describe('a band stands out', () => {
  test.each([
    [0.1, 249],
    [0.05, 498],
  ])('of 128 at an epsilon of %d with more than %d rows, by the reference', (epsilon, rows) => {
    const one = { l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n }
    const measurement = calibrateGeometric(one, epsilonNano(BigInt(epsilon * 1e9)))
    expect(accuracy(measurement, 1 - 2e-9 / 128).halfWidth).toBe(rows)
  })

  test('above a number of rows that the preview states', () => {
    const { planned } = clampsOf({ column: 'Age' }, people('add-remove'), () => 0)
    // Within one row, because the probability of exactly the threshold counts as well.
    expect(Math.abs(Number(measuredAccuracy(planned).rowsToAppear) - Math.log(8 / 2e-9) / 0.1)).toBeLessThan(
      1,
    )
  })

  test('and no band that does not is believed', () => {
    const { planned } = clampsOf({ column: 'Age' }, people('add-remove'), () => 0)
    const threshold = Number(measuredAccuracy(planned).rowsToAppear)
    const none = clampsOf({ column: 'Age' }, people('add-remove'), () => threshold).clamps
    expect(none).toEqual({ nextEpsilon: 0.1, candidates: [], recommended: {} })
    const one = clampsOf({ column: 'Age' }, people('add-remove'), (lower) =>
      lower === 8 ? threshold + 1 : threshold,
    )
    // Everything is at most 16.
    expect(one.clamps.candidates.find(({ upper }) => upper === 16)?.sum?.bias).toBe(0)
    expect(one.clamps.candidates.every(({ upper }) => Number(upper) <= 16)).toBe(true)
  })
})

describe('the noise of a candidate is that of a preview', () => {
  test.each<readonly [string, Dataset, object]>([
    ['rows, add-remove', people('add-remove'), {}],
    ['rows, change-one', people('change-one'), {}],
    [
      'rows, change-one, with a condition',
      people('change-one'),
      { where: { column: 'Age', op: '>', value: 3 } },
    ],
    ['people', patients('add-remove'), { contribution: { rows: 2 } }],
    ['people, change-one', patients('change-one'), {}],
  ])('%s', (_, dataset, terms) => {
    for (const name of ['Age', 'Balance', 'Income']) {
      const asked = { column: name, nextEpsilon: 0.4, ...terms }
      const { clamps } = clampsOf(asked, dataset, () => 2_000)
      // Under change-one without a condition, the number of rows is public.
      const isPublic = dataset.rows !== undefined && !('where' in terms) && name !== 'Income'
      const bands = clampsOf(asked, dataset, () => 1).planned.groupings[0]?.labels.length ?? 0
      const rows = isPublic ? (dataset.rows ?? 0) : bands * 2_000
      for (const { lower, upper, sum, mean } of clamps.candidates) {
        const next = { column: name, clamp: { lower, upper }, epsilon: 0.4, ...terms }
        const halfWidthOf = (wire: object) =>
          Number(measuredAccuracy(plan(querySchema.parse({ ...next, ...wire }), dataset, LIMITS)).halfWidth)
        expect(sum?.noise).toBeGreaterThan(0.95 * halfWidthOf({ kind: 'sum' }))
        // That of whole numbers is rounded to one.
        expect(sum?.noise).toBeLessThan(1.05 * halfWidthOf({ kind: 'sum' }) + 1)
        const scale = isPublic ? (bands * 2_000) / rows : 1
        const meanHalfWidth = halfWidthOf({ kind: 'mean', supposed: isPublic ? undefined : { rows } }) / scale
        expect(mean.noise).toBeGreaterThan(0.9 * meanHalfWidth)
        expect(mean.noise).toBeLessThan(1.1 * meanHalfWidth)
      }
    }
  })
})

describe('clamps over long tails', () => {
  const random = seedrandom('incomes')
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const UPPER = 10_000_000
  const incomes = Array.from({ length: 40_000 }, () =>
    Math.min(UPPER, Math.floor(30_000 * Math.exp(0.8 * normal()))),
  )
  const dataset = datasetOf([column.integer('income', 0n, BigInt(UPPER))], 'incomes')
  const countOf = (lower: number, upper: number) =>
    incomes.filter((income) => income >= lower && (income < upper || upper === UPPER)).length
  const { clamps, planned } = clampsOf({ column: 'income', nextEpsilon: 0.005 }, dataset, countOf)
  const cutBy = (upper: number) => incomes.reduce((total, income) => total + Math.max(0, income - upper), 0)

  test('state what clamping cuts off, about', () => {
    for (const { upper, sum, shareBeyond } of clamps.candidates) {
      const cut = cutBy(Number(upper))
      if (Number(upper) > 200_000 || sum === undefined) continue
      expect(sum.bias / cut).toBeGreaterThan(0.7)
      expect(sum.bias / cut).toBeLessThan(1.6)
      expect(shareBeyond).toBeCloseTo(
        incomes.filter((income) => income > Number(upper)).length / incomes.length,
        1,
      )
    }
  })

  test('recommend a clamp whose true error is near the least, and far below that of the declared bounds', () => {
    const errorOf = (upper: number, noise: number) => noise + cutBy(upper)
    const errors = clamps.candidates.map(({ upper, sum }) => errorOf(Number(upper), sum?.noise ?? 0))
    const chosen = clamps.candidates.find(({ upper }) => upper === clamps.recommended.sum?.upper)
    const error = errorOf(Number(chosen?.upper), chosen?.sum?.noise ?? 0)
    expect(error).toBeLessThan(1.5 * Math.min(...errors))
    const unclamped = plan(
      querySchema.parse({ kind: 'sum', column: 'income', epsilon: 0.005 }),
      dataset,
      LIMITS,
    )
    expect(error).toBeLessThan(Number(measuredAccuracy(unclamped).halfWidth) / 10)
  })

  test('for another epsilon of the next question, from the same release', () => {
    const asked = { column: 'income', nextEpsilon: 1 }
    const other = clampsOf(asked, dataset, countOf)
    expect(normalForm(other.planned)).toEqual(normalForm(planned))
    expect(normalForm(planned)).not.toHaveProperty('nextEpsilon')
    const again = clampsAt(clamps, 1)
    expect(again.recommended).toEqual(other.clamps.recommended)
    expect(again.candidates.map(({ upper }) => upper)).toEqual(
      other.clamps.candidates.map(({ upper }) => upper),
    )
    for (const [place, { sum }] of again.candidates.entries())
      expect(Number(sum?.total) / Number(other.clamps.candidates[place]?.sum?.total)).toBeCloseTo(1, 4)
    // With less noise it pays to cut less.
    expect(Number(again.recommended.sum?.upper)).toBeGreaterThan(Number(clamps.recommended.sum?.upper))
  })
})

test('clamps of dates have no sum', () => {
  const { clamps } = clampsOf({ column: 'Visited' }, people('add-remove'), () => 10_000)
  expect(clamps.candidates.every(({ sum, mean }) => sum === undefined && mean.noise > 0)).toBe(true)
  expect(clamps.recommended).not.toHaveProperty('sum')
  expect(clamps.recommended.mean?.lower).toMatch(/^2024-/)
})
