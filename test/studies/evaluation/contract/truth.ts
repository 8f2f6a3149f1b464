import { expect } from 'vitest'
import type { ExactAggregate } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { planFor, planOf } from '../../../core/planner/planned.ts'
import {
  type ContractTest,
  contractTest,
  type EvaluationModule,
  estimates,
  numbersOf,
  taped,
} from '../evaluated.ts'

/** Contract of true values. */
export const TRUTH_CONTRACT: readonly ContractTest[] = [
  contractTest('a private number of rows gives a bound for the true number of rows', async (module) => {
    const wire = { kind: 'proportion', of: { column: 'Age', op: '<', value: 18 }, mechanism: 'geometric' }
    const planned = planOf(wire)
    const { values } = numbersOf(
      await module.evaluate(
        { plan: planned, exact: estimates([60n, 20n]) },
        { runs: 1, shown: 0, noiseSource: taped() },
      ),
    )
    expect(values[0]).toMatchObject({
      truth: 0.25,
      // E|Y| over 80 rows.
      meanAbsoluteError: { theoretical: null, theoreticalBound: expect.closeTo(1 / Math.sinh(1) / 80, 12) },
      bias: { theoretical: null },
    })
  }),
  contractTest('the bias of bounding is the truth minus the value over all rows', async (module) => {
    const read = { plan: planOf({ kind: 'count' }), exact: estimates([60n]) }
    const valueWith = async (more: object) => {
      const options = { runs: 1, shown: 0, noiseSource: taped() }
      return numbersOf(await module.evaluate({ ...read, ...more }, options)).values[0]
    }
    expect((await valueWith({ unbounded: [80] }))?.boundingBias).toBe(-20)
    expect((await valueWith({ unbounded: [null] }))?.boundingBias).toBe(null)
    expect((await valueWith({}))?.boundingBias).toBeUndefined()
  }),
  contractTest('a truth is not rounded, and without a truth there is no total', async (module) => {
    const wire = { kind: 'mean', column: 'Age', postprocess: { round: true } }
    const of = async (integers: readonly (readonly bigint[])[]) =>
      numbersOf(
        await module.evaluate(
          { plan: planOf(wire), exact: estimates(...integers) },
          {
            runs: 3,
            shown: 1,
            noiseSource: taped(),
          },
        ),
      )
    // Two people of 30 and 31: 60 and 58 half steps below the middle.
    expect((await of([[-118n], [2n]])).values[0]?.truth).toBe(30.5)
    const { totals, shown } = await of([[0n], [0n]])
    expect(totals).toEqual([
      {
        totalAbsoluteError: { value: null, standardError: null, theoretical: null, theoreticalBound: null },
        relativeTotalErrorPercent: { value: null, standardError: null },
      },
    ])
    expect(shown[0]?.totals).toEqual([{ totalAbsoluteError: null, relativeTotalErrorPercent: null }])
  }),
]

// Rows at 20, 30, 30, 40, 90: of the 5 rows 2.5 lie at or below the median, 1 at or below the 20th percentile.
const quantiles: ExactAggregate = {
  kind: 'quantile',
  values: { indexes: Float64Array.of(20, 30, 40, 90), counts: Float64Array.of(1, 2, 1, 1) },
}

async function trueQuantilesOf(module: EvaluationModule, wire: object, exact = quantiles) {
  const planned = planOf({ column: 'Age', ...wire })
  const options = { runs: 1, shown: 1, noiseSource: taped() }
  return numbersOf(await module.evaluate({ plan: planned, exact }, options)).values.map(({ truth }) => truth)
}

/** Contract of quantiles. */
export const QUANTILE_CONTRACT: readonly ContractTest[] = [
  contractTest('the true quantile is the least value with enough rows at or below it', async (module) => {
    expect(await trueQuantilesOf(module, { kind: 'median' })).toEqual([30])
    const p = [90, 20, 20.01, 60, 60.01, 80, 0.01, 99.99]
    expect(await trueQuantilesOf(module, { kind: 'percentile', p })).toEqual([90, 20, 30, 30, 40, 40, 20, 90])
  }),
  contractTest('true extremes follow from their rank, counted from either end', async (module) => {
    // At an epsilon of 20 over 121 points, P(distance > 0) <= 120 exp(-10) = 0.005: rank 1.
    expect(await trueQuantilesOf(module, { kind: 'minimum', epsilon: 20 })).toEqual([20])
    expect(await trueQuantilesOf(module, { kind: 'maximum', epsilon: 20 })).toEqual([90])
    const ranks = [2, 4, 5, 6].map(async (rank) => {
      const truths = ['minimum', 'maximum'].map(async (kind) => {
        const planned = planOf({ kind, column: 'Age' })
        if (planned.kind !== 'quantile') throw new Error('a quantile is asked for')
        const target = kind === 'minimum' ? BigInt(rank) : BigInt(-rank)
        const measurements = planned.measurements.map((each) => ({
          ...each,
          score: { ...each.score, target },
        }))
        const options = { runs: 1, shown: 0, noiseSource: taped() }
        return numbersOf(
          await module.evaluate({ plan: { ...planned, measurements }, exact: quantiles }, options),
        ).values[0]?.truth
      })
      return Promise.all(truths)
    })
    expect(await Promise.all(ranks)).toEqual([
      [30, 40],
      [40, 30],
      [90, 20],
      [90, 20],
    ])
  }),
  contractTest('no rows have no median', async (module) => {
    const noRows: ExactAggregate = {
      kind: 'quantile',
      values: { indexes: new Float64Array(), counts: new Float64Array() },
    }
    expect(await trueQuantilesOf(module, { kind: 'median' }, noRows)).toEqual([null])
    expect(await trueQuantilesOf(module, { kind: 'maximum' }, noRows)).toEqual([null])
  }),
  contractTest(
    'errors are measured in values and in rows, and the half-width holds for the rows',
    async (module) => {
      const planned = planOf({ kind: 'median', column: 'Age', epsilon: 0.1 })
      const { values, shown } = numbersOf(
        await module.evaluate(
          { plan: planned, exact: quantiles },
          { runs: 300, shown: 100, noiseSource: taped() },
        ),
      )
      // Rows below and at or below a value, against 2.5.
      const rankErrorOf = (value: number) => {
        const rows = [20, 30, 30, 40, 90]
        const below = rows.filter((row) => row < value).length
        const atOrBelow = rows.filter((row) => row <= value).length
        return Math.max(0, below - 2.5, 2.5 - atOrBelow)
      }
      const shownValues = shown.map(({ values: [value] }) => value)
      expect(new Set(shownValues.map((value) => value?.rankErrorRows)).size).toBeGreaterThan(3)
      for (const value of shownValues) {
        expect(value?.rankErrorRows).toBe(rankErrorOf(Number(value?.noisy)))
        expect(value?.absoluteError).toBe(Math.abs(Number(value?.noisy) - 30))
      }
      // A rank error is at most 2.5, and the half-width at this small epsilon is far larger.
      expect(values[0]).toMatchObject({ withinHalfWidth: 1, meanAbsoluteError: { theoretical: null } })
      const sharp = planOf({ kind: 'median', column: 'Age', epsilon: 20 })
      const sharper = await module.evaluate(
        { plan: sharp, exact: quantiles },
        { runs: 300, shown: 0, noiseSource: taped() },
      )
      expect(numbersOf(sharper).values[0]).toMatchObject({ truth: 30, rankErrorRows: { value: 0 } })
    },
  ),
  contractTest(
    'a value between the two middle rows has no rank error, at any distance from them',
    async (module) => {
      const planned = planFor('quantile', planOf({ kind: 'median', column: 'Age', epsilon: 20 }))
      const exact: ExactAggregate = {
        kind: 'quantile',
        values: { indexes: Float64Array.of(20, 90), counts: Float64Array.of(1, 1) },
      }
      const options = { runs: 50, shown: 0, noiseSource: taped() }
      const [value] = numbersOf(await module.evaluate({ plan: planned, exact }, options)).values
      expect(value).toMatchObject({ truth: 20, rankErrorRows: { value: 0 }, withinHalfWidth: 1 })
      expect(value?.meanAbsoluteError.value).toBeGreaterThan(20)
    },
  ),
]
