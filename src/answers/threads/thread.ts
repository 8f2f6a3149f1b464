import type { Dataset } from '../../core/dataset/dataset.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import { computation } from '../../platform/threads/computation.ts'

/* The computations of threads. Each export is one computation. Input and result are passed as structured clones. */

/** Plans a query. */
export const planning = computation(({ query, dataset, limits }: PlanningInput) =>
  plan(query, dataset, limits),
)

interface PlanningInput {
  readonly query: Parameters<typeof plan>[0]
  readonly dataset: Dataset
  readonly limits: PlanLimits
}
