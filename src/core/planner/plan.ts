import type { Query } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { questionKindOf } from './kinds/question-kinds.ts'
import { withDeclaredNames } from './language/declared-names.ts'
import type { PlanLimits } from './plans/plan-kind.ts'
import type { Plan } from './plans/plan-kinds.ts'
import { offerOf } from './price/accuracy-first.ts'
import { requireWithinQueryLimits } from './price/query-limits.ts'

/**
 * Plans a query: the aggregate, its exact sensitivity, the mechanism and the price. A query that gives an accuracy
 * instead of an epsilon is planned with the least epsilon that meets it, by the mechanism with the lowest price.
 *
 * @throws Refusal for a query that does not fit the dataset, its limits or the mechanism, naming the field and the rule.
 */
export function plan(query: Query, dataset: Dataset, limits: PlanLimits): Plan {
  const offer = offerOf(query)
  const named = withDeclaredNames(query, dataset)
  const planned = questionKindOf(named).plan(named, dataset, limits, offer)
  requireWithinQueryLimits(planned, offer)
  return planned
}
