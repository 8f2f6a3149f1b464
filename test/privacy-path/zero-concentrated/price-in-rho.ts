import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { rhoNumber } from '../../../src/privacy/loss.ts'
import type { StoredRow } from '../../engines/reference-engine.ts'
import { type Distribution, distributionOf, observe } from '../distributions.ts'
import type { Pairs } from '../tiny-datasets.ts'
import { renyiDivergence } from './renyi.ts'

export const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

/** The divergence of the first order is the Kullback-Leibler divergence to within a thousandth. */
export const ORDERS = [1.001, 1.1, 1.5, 2, 3, 5, 20]

/** Error of the sum of probabilities, divided by the order less one. */
const ROUNDING = 1e-13 / (1.001 - 1)

/** The largest share of a price in rho that any pair of neighbours spends, at any order. */
export function largestShare(
  planFor: (units: number) => Plan,
  families: readonly Pairs[],
  distributionIn: (plan: Plan, rows: readonly StoredRow[]) => Distribution = (plan, rows) =>
    distributionOf(plan, observe(plan, rows)),
): number {
  let share = 0
  for (const { units, pairs } of families) {
    const planned = planFor(units)
    if (planned.rho === undefined) throw new Error('a plan without a price in rho')
    const rho = rhoNumber(planned.rho)
    const distributions = new Map<
      readonly StoredRow[],
      { readonly distribution: Distribution; readonly name: string }
    >()
    const namedDistribution = (of: readonly StoredRow[]) => {
      const known = distributions.get(of)
      if (known !== undefined) return known
      const distribution = distributionIn(planned, of)
      const found = { distribution, name: nameOf(distribution) }
      distributions.set(of, found)
      return found
    }
    const looked = new Set<string>()
    for (const pair of pairs) {
      const [one, other] = [namedDistribution(pair.one), namedDistribution(pair.other)]
      const names = [one.name, other.name].sort().join(' | ')
      if (one.name === other.name || looked.has(names)) continue
      looked.add(names)
      for (const order of ORDERS) {
        const most = Math.max(
          renyiDivergence(planned, one.distribution, other.distribution, order),
          renyiDivergence(planned, other.distribution, one.distribution, order),
        )
        share = Math.max(share, (most / order - ROUNDING) / rho)
      }
    }
  }
  return share
}

function nameOf(distribution: Distribution): string {
  switch (distribution.kind) {
    case 'noise':
      return distribution.integers.map((cells) => cells.join(' ')).join('; ')
    case 'groups':
      return [...distribution.integers, ...distribution.parts].map((part) => part.join(' ')).join('; ')
    case 'outcomes':
      return distribution.parts.map((part) => part.join(' ')).join('; ')
    case 'keys':
      throw new Error('keys have no price in rho')
  }
}
