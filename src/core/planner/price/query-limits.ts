import { DEFAULT_CONFIDENCE, type EpsilonNano, epsilonNumber } from '../../../privacy/loss.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset, QueryLimits } from '../../dataset/dataset.ts'
import { type Plan, planKindOf } from '../plans/plan-kinds.ts'
import type { Offer } from './accuracy-first.ts'

/*
 * The limits that a dataset declares for each query. They compare the epsilon that a query states, or that the accuracy it
 * asks for needs, under either accounting: it is what analysts write, and noise follows from it. A price in rho grows
 * with it.
 */

/**
 * Requires that a plan keeps the limits of its dataset.
 * @throws Refusal `query-does-not-fit` naming the epsilon, or the accuracy if the query gives that, and the limit.
 */
export function requireWithinQueryLimits(planned: Plan, { epsilonNano, target }: Offer): void {
  const { queryLimits } = planned.dataset
  const field = target === undefined ? 'epsilon' : 'accuracy.halfWidth'
  requireEpsilonWithin(epsilonNano ?? planned.loss.epsilonNano, queryLimits, field)
  requireHalfWidthWithin(() => planKindOf(planned).leastHalfWidthRows(planned), queryLimits, field)
}

/**
 * Requires that the epsilon of a query or a session is within the limits of its dataset.
 * @param field the field of the request that determines the epsilon
 * @throws Refusal `query-does-not-fit` naming the field and the limit.
 */
export function requireEpsilonWithin(
  epsilon: EpsilonNano,
  { minEpsilonNano, maxEpsilonNano }: QueryLimits,
  field: 'epsilon' | 'accuracy.halfWidth',
): void {
  const refuse = (bound: 'least' | 'most', limit: EpsilonNano) => {
    const rule = `must be at ${bound} ${epsilonNumber(limit)}, as the dataset declares for each query`
    const ofAccuracy = `needs an epsilon of ${epsilonNumber(epsilon)}, which ${rule}`
    return refuseQuery(field, field === 'epsilon' ? rule : ofAccuracy)
  }
  if (minEpsilonNano !== undefined && epsilon < minEpsilonNano) throw refuse('least', minEpsilonNano)
  if (maxEpsilonNano !== undefined && epsilon > maxEpsilonNano) throw refuse('most', maxEpsilonNano)
}

/**
 * Requires that the noise of a query or a session is as wide as its dataset declares.
 * @param halfWidth computed only if the dataset declares a limit
 * @throws Refusal `query-does-not-fit` naming the field and the limit.
 */
export function requireHalfWidthWithin(
  halfWidth: () => number,
  { minHalfWidth }: Dataset['queryLimits'],
  field: 'epsilon' | 'accuracy.halfWidth',
): void {
  if (minHalfWidth === undefined) return
  const stated = halfWidth()
  if (stated >= minHalfWidth) return
  const rule =
    `must leave a half-width of at least ${minHalfWidth} rows or people at a confidence of ${DEFAULT_CONFIDENCE}, as the ` +
    `dataset declares for each query; this one has ${stated}`
  throw refuseQuery(field, rule)
}
