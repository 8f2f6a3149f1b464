import type { Dataset } from '../../core/dataset/dataset.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import { planTogether } from '../../core/planner/together.ts'
import { computation } from '../../platform/threads/computation.ts'
import { type Inquiry, type ToppedUp, toppedUpFacts } from '../inference/known.ts'
import { type WantedUse, wayOf, waysOf } from '../inference/ways.ts'

/* The computations of threads. Each export is one computation. Input and result are passed as structured clones. */

/** Describes the ways to an answer that paid releases allow. */
export const ways = computation(({ inquiry, use }: AskedInquiry) => waysOf(inquiry, use))

/** Finds the way to an answer that paid releases allow. */
export const way = computation(({ inquiry, use }: AskedInquiry) => wayOf(inquiry, use))

/** Combines a new measurement with paid releases. */
export const topUp = computation(
  ({ inquiry, toppedUp }: { readonly inquiry: Inquiry; readonly toppedUp: ToppedUp }) =>
    toppedUpFacts(inquiry, toppedUp),
)

interface AskedInquiry {
  readonly inquiry: Inquiry
  readonly use: WantedUse
}

/** Plans a query. */
export const planning = computation(({ query, dataset, limits }: PlanningInput) =>
  plan(query, dataset, limits),
)

interface PlanningInput {
  readonly query: Parameters<typeof plan>[0]
  readonly dataset: Dataset
  readonly limits: PlanLimits
}

/** Plans queries together. */
export const together = computation(({ wanted, price, dataset, limits }: TogetherInput) =>
  planTogether(wanted, price, dataset, limits),
)

interface TogetherInput {
  readonly wanted: Parameters<typeof planTogether>[0]
  readonly price: Parameters<typeof planTogether>[1]
  readonly dataset: Dataset
  readonly limits: PlanLimits
}
