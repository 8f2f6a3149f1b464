import type { Query } from '../../schemas/query.ts'
import type { Dataset } from '../catalog/dataset.ts'
import { type Offer, offerOf } from './accuracy-first.ts'
import { planAdditiveQuery } from './kinds/additive.ts'
import { planGroups } from './kinds/groups.ts'
import { planKeySelection } from './kinds/key-selection.ts'
import { planNoisyMax } from './kinds/noisy-max.ts'
import { planQuantiles } from './kinds/quantile.ts'
import type { PlanLimits } from './plan-kind.ts'
import type { Plan } from './plan-kinds.ts'
import { requireWithinQueryLimits } from './query-limits.ts'

/**
 * Plans a query: the aggregate, its exact sensitivity, the mechanism and the price. A query that gives an accuracy
 * instead of an epsilon is planned with the least epsilon that meets it, by the mechanism with the lowest price.
 *
 * @throws Refusal for a query that does not fit the dataset, its limits or the mechanism, naming the field and the rule.
 */
export function plan(query: Query, dataset: Dataset, limits: PlanLimits): Plan {
  const offer = offerOf(query)
  const planned = planOfKind(query, dataset, limits, offer)
  requireWithinQueryLimits(planned, offer)
  return planned
}

function planOfKind(query: Query, dataset: Dataset, limits: PlanLimits, offer: Offer): Plan {
  switch (query.kind) {
    case 'noisyMax':
      return planNoisyMax(query, dataset, limits, offer)
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum':
      return planQuantiles(query, dataset, offer)
    case 'keySelection':
      return planKeySelection(query, dataset, limits, offer)
    case 'groupBy':
      return planGroups(query, dataset, limits, offer)
    default:
      return planAdditiveQuery(query, dataset, limits, offer)
  }
}
