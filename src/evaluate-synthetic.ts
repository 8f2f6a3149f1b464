import { type Dataset, requireSynthetic } from './catalog/dataset.ts'
import type { ComputationPool, ComputationTerms } from './computation-pool.ts'
import type { Engine } from './engines/engine.ts'
import { type Extent, requireExtent } from './evaluation/extent.ts'
import type { EvaluatedQuery } from './evaluation/report.ts'
import { plan } from './planner/plan.ts'
import type { PlanLimits } from './planner/plan-limits.ts'
import { accuracyReport, noiseReport } from './planner/report.ts'
import { withinField } from './privacy/refusal.ts'
import { readExact } from './release.ts'

/** What evaluating needs: no ledger, for nothing is charged. */
export interface EvaluationDependencies {
  readonly engine: Engine
  readonly limits: PlanLimits
  readonly evaluations: ComputationPool
}

/** A query to try, over a dataset whose people are made up. */
export interface Trial extends Extent {
  readonly dataset: Dataset
  readonly query: Parameters<typeof plan>[0]
}

/**
 * Read what a query asks of a synthetic dataset, to answer it many times and compare with the truth.
 *
 * @returns what then runs the answers, off the event loop.
 * @throws Refusal `not-synthetic` for any other dataset, whoever asks, before anything is looked at; and where the query
 * does not fit, or so many runs would take too long.
 */
export async function evaluateSynthetic(
  { engine, limits, evaluations }: EvaluationDependencies,
  { dataset, query, runs, shown }: Trial,
): Promise<(terms: ComputationTerms) => Promise<EvaluatedQuery>> {
  requireSynthetic(dataset)
  const planned = withinField('query', () => plan(query, dataset, limits))
  const extent = { runs, shown }
  requireExtent(planned, extent)
  const exact = await readExact(planned, engine)
  requireExtent(planned, extent, exact)
  const { kind, accuracy } = query
  const facts = {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    kind,
    noise: noiseReport(planned),
    accuracy: accuracyReport(planned, accuracy?.supposedRows),
  }
  return async (terms) => ({
    ...facts,
    ...(await evaluations.run('evaluation', { plan: planned, exact, ...extent }, terms)),
  })
}
