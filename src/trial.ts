import { type Dataset, requireSynthetic } from './catalog/dataset.ts'
import type { Engine } from './engines/engine.ts'
import { type Extent, requireExtent } from './evaluation/extent.ts'
import { plan } from './planner/plan.ts'
import type { Plan } from './planner/plan-kinds.ts'
import type { PlanLimits } from './planner/plan-limits.ts'
import { withinField } from './privacy/refusal.ts'
import { type ExactAggregate, readAggregate } from './release.ts'

/** What a trial needs: no ledger, for nothing is charged. */
export interface TrialDependencies {
  readonly engine: Engine
  readonly limits: PlanLimits
}

/** A query to try, over a dataset whose people are made up. */
export interface Trial extends Extent {
  readonly dataset: Dataset
  readonly query: Parameters<typeof plan>[0]
}

/** A trial once the data were read: it can be handed to a thread. */
export interface ReadTrial extends Extent {
  readonly plan: Plan
  readonly exact: ExactAggregate
}

/**
 * Read what a query asks of a synthetic dataset, to answer it many times and compare with the truth.
 *
 * @throws Refusal `not-synthetic` for any other dataset, whoever asks, before anything is looked at; and where the query
 * does not fit, or so many runs would take too long.
 */
export async function readTrial(
  { engine, limits }: TrialDependencies,
  { dataset, query, runs, shown }: Trial,
): Promise<ReadTrial> {
  requireSynthetic(dataset)
  const planned = withinField('query', () => plan(query, dataset, limits))
  const extent = { runs, shown }
  requireExtent(planned, extent)
  const exact = await readAggregate(planned, engine)
  requireExtent(planned, extent, exact)
  return { plan: planned, exact, ...extent }
}
