import { type ExactAggregate, readAggregate } from '../answers/release.ts'
import { type Dataset, requireSynthetic } from '../catalog/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import { plan } from '../planner/plan.ts'
import type { PlanLimits } from '../planner/plan-kind.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { withinField } from '../privacy/refusal.ts'
import { type EvaluationSize, requireEvaluationLimits } from './limits.ts'

/** What a trial needs: no ledger, for nothing is charged. */
export interface EvaluationDependencies {
  readonly engine: Engine
  readonly limits: PlanLimits
}

/** A query to try, over a dataset whose people are made up. */
export interface EvaluationRequest extends EvaluationSize {
  readonly dataset: Dataset
  readonly query: Parameters<typeof plan>[0]
}

/** A trial once the data were read: it can be handed to a thread. */
export interface EvaluationInput extends EvaluationSize {
  readonly plan: Plan
  readonly exact: ExactAggregate
}

/**
 * Read what a query asks of a synthetic dataset, to answer it many times and compare with the truth.
 *
 * @throws Refusal `not-synthetic` for any other dataset, whoever asks, before anything is looked at; and where the query
 * does not fit, or so many runs would take too long.
 */
export async function readEvaluationInput(
  { engine, limits }: EvaluationDependencies,
  { dataset, query, runs, shown }: EvaluationRequest,
): Promise<EvaluationInput> {
  requireSynthetic(dataset)
  const planned = withinField('query', () => plan(query, dataset, limits))
  const extent = { runs, shown }
  requireEvaluationLimits(planned, extent)
  const exact = await readAggregate(planned, engine)
  requireEvaluationLimits(planned, extent, exact)
  return { plan: planned, exact, ...extent }
}
