import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import * as asItIs from '../../../src/core/planner/batch.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { epsilonNumber } from '../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { numberOf } from '../batches/batches-of-counts.ts'
import { distributionOf, observe, spentOn } from '../distributions.ts'
import { asked, type Wire } from '../queries.ts'
import { MOST_ROWS, peoplePairs, tinyPeople } from '../tiny-datasets.ts'

/*
 * Batches of counts of people whose predicates separate rows, or people.
 */

const of = (column: string, value: unknown) => ({ column, op: '=', value })
const people = (epsilon: number, where: object): Wire => ({
  kind: 'count',
  of: 'people',
  where,
  epsilon,
  mechanism: 'geometric',
})

/** A person can be in three of the four. */
export const BY_REGION = [
  people(1, of('Region', 'N')),
  people(0.5, of('Region', 'E')),
  people(0.25, of('Region', 'S')),
  people(0.125, { column: 'Region', op: 'isNull' }),
]

/** A person can be in one of the two, because the column is constant per person. */
export const BY_SEX = [people(1, of('Sex', 'M')), people(0.5, of('Sex', 'F'))]

/** A person can be in three of the four, even of a dataset that keeps one row of each. */
export const PROFILES_BY_REGION = BY_REGION.map(({ epsilon, where }): Wire => {
  return { kind: 'contributionProfile', epsilon, where, mechanism: 'geometric' }
})

/** A dataset that keeps one row of each person. */
export const keepingOneRow = (neighbours: Neighbours, units: number): Dataset =>
  tinyPeople(neighbours, units, 1)

/** The largest part of a batch's price that its answers spend together on any pair of neighbours, and the price. */
export function spentByBatch(
  wires: readonly Wire[],
  neighbours: Neighbours,
  {
    planBatch = asItIs.planBatch,
    datasetOf = (kind, units) => tinyPeople(kind, units, MOST_ROWS),
  }: {
    readonly planBatch?: typeof asItIs.planBatch
    readonly datasetOf?: (neighbours: Neighbours, people: number) => Dataset
  } = {},
): { readonly share: number; readonly price: number } {
  let [share, price] = [0, 0]
  for (const { units, pairs } of peoplePairs[neighbours]) {
    const dataset = datasetOf(neighbours, units)
    const plans = wires.map((wire) => plan(asked(wire), dataset, { maxCells: 1000 }))
    price = numberOf(planBatch(plans, 'basic').price)
    for (const { one, other } of pairs) {
      // Answers are independent, so that the largest log-ratio of all is the sum of those of each.
      const lost = plans.reduce((sum, planned) => {
        const [here, there] = [one, other].map((rows) => distributionOf(planned, observe(planned, rows)))
        if (here === undefined || there === undefined) throw new Error('a pair has two datasets')
        return sum + spentOn(planned, here, there).share * epsilonNumber(planned.loss.epsilonNano)
      }, 0)
      share = Math.max(share, lost / price)
    }
  }
  return { share, price }
}
