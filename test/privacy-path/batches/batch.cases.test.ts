import { describe, expect, test } from 'vitest'
import { planBatch } from '../../../src/core/planner/batch.ts'
import { epsilonNumber } from '../../../src/privacy/loss.ts'
import { someOf } from '../../cases.ts'
import { distributionOf, observe, spentOn } from '../distributions.ts'
import { planner } from '../examination.ts'
import { RIVALS, SOME_ROWS, titleOf, WIRES, type Wire } from '../queries.ts'
import { widePairs } from '../tiny-datasets.ts'
import {
  COUNTS,
  examine,
  is,
  KINDS_OF_NEIGHBOURS,
  largestLogRatio,
  largestRho,
  MEN,
  not,
  numberOf,
  ROUNDING,
  WOMEN,
} from './batches-of-counts.ts'

/*
 * The release of a batch as one: the joint distribution of all its answers on every pair of tiny neighbouring datasets,
 * and a check that the single charged price covers the privacy loss between the two distributions.
 */

describe.each(KINDS_OF_NEIGHBOURS)('counts under %s', (neighbours) => {
  test.each(COUNTS)('$what: exactly the price is spent', ({ wires, share: expected }) => {
    const { share, price, sumOfPrices } = examine(wires, neighbours, 'basic', largestLogRatio)
    expect(share).toBeLessThan(1 + ROUNDING)
    expect(share).toBeGreaterThan(1 - ROUNDING)
    expect(price / sumOfPrices).toBeCloseTo(expected[neighbours], 9)
  })

  test.each(someOf(COUNTS))('$what: exactly the price in rho is spent', ({ wires }) => {
    const { share, price, sumOfPrices } = examine(wires, neighbours, 'zcdp', largestRho)
    expect(share).toBeLessThan(1 + ROUNDING)
    // At the least examined order, all but a thousandth of the price is spent.
    expect(share).toBeGreaterThan(1 - 2e-3)
    expect(price).toBeLessThanOrEqual(sumOfPrices)
  })
})

/*
 * Every other kind of query. Answers are independent, so that the largest log-ratio of all is the sum of those of each.
 */

const MIXED: readonly (readonly Wire[])[] = [
  [
    { kind: 'sum', column: 'Balance', where: MEN, epsilon: 1 },
    { kind: 'histogram', column: 'Region', where: WOMEN, epsilon: 0.7 },
    { kind: 'mean', column: 'Income', where: WOMEN, epsilon: 0.5 },
  ],
  [
    { kind: 'noisyMax', candidates: RIVALS, where: MEN, epsilon: 60 },
    { kind: 'countDistinct', column: 'Region', where: WOMEN, epsilon: 30 },
    { kind: 'median', column: 'Age', epsilon: 2 },
  ],
  [
    { kind: 'proportion', of: SOME_ROWS, where: MEN, epsilon: 1 },
    { kind: 'percentile', column: 'Age', p: [20, 50], where: not(MEN), epsilon: 1 },
    { kind: 'variance', column: 'Balance', where: is('Region', 'N'), epsilon: 1 },
    {
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [{ kind: 'count' }],
      where: not(is('Region', 'N')),
      epsilon: 1,
    },
  ],
]

describe.each(KINDS_OF_NEIGHBOURS)('other kinds under %s', (neighbours) => {
  test.each(someOf(MIXED).map((wires) => [wires.map(titleOf).join(' '), wires] as const))(
    '%s',
    (_, wires) => {
      const planners = wires.map((wire) => planner(wire, neighbours))
      let [share, credit] = [0, 1]
      for (const { units, pairs } of widePairs[neighbours]) {
        const plans = planners.map((planFor) => planFor(units))
        const batch = planBatch(plans, 'basic')
        const price = numberOf(batch.price)
        credit = price / numberOf(batch.sumOfPrices)
        for (const { one, other } of pairs) {
          const lost = plans.reduce((sum, plan) => {
            const [here, there] = [
              distributionOf(plan, observe(plan, one)),
              distributionOf(plan, observe(plan, other)),
            ]
            return sum + spentOn(plan, here, there).share * epsilonNumber(plan.loss.epsilonNano)
          }, 0)
          share = Math.max(share, lost / price)
        }
      }
      expect(share).toBeLessThan(1 + ROUNDING)
      expect(share).toBeGreaterThan(0.5)
      if (neighbours === 'add-remove') expect(credit).toBeLessThan(1)
    },
  )
})

/*
 * The basis of the credit: rows that do not satisfy a query's predicate do not affect its answer.
 */
test.each(someOf(WIRES).map((wire) => [titleOf(wire), wire] as const))(
  'only the rows of its predicate: %s',
  (_, wire) => {
    const where = 'where' in wire ? { op: 'and', predicates: [MEN, wire.where] } : MEN
    for (const neighbours of KINDS_OF_NEIGHBOURS) {
      const planFor = planner({ ...wire, where }, neighbours)
      for (const { units, pairs } of widePairs[neighbours]) {
        const plan = planFor(units)
        for (const dataset of new Set(pairs.flatMap(({ one, other }) => [one, other])))
          expect(observe(plan, dataset)).toEqual(
            observe(
              plan,
              dataset.filter(({ Sex }) => Sex === 0),
            ),
          )
      }
    }
  },
)
