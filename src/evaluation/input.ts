import { readAggregate } from '../answers/release.ts'
import { type Dataset, requireSynthetic } from '../catalog/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import { batchReport, planQueries, priceReport } from '../planner/batch.ts'
import { plan } from '../planner/plan.ts'
import type { PlanLimits } from '../planner/plan-kind.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { amountNumbers } from '../privacy/accounting.ts'
import { epsilonNumber } from '../privacy/loss.ts'
import { Refusal, withinField } from '../privacy/refusal.ts'
import type { BatchToEvaluate } from './evaluation.ts'
import { costOf, type ReadPlan, truthsOf } from './kinds.ts'
import { type EvaluationSize, requireEvaluationLimits } from './limits.ts'

/** Dependencies of evaluations. They have no ledger, because nothing is charged. */
export interface EvaluationDependencies {
  readonly engine: Engine
  readonly limits: PlanLimits
}

type Query = Parameters<typeof plan>[0]

/** A query to evaluate over a synthetic dataset. */
export interface EvaluationRequest extends EvaluationSize {
  readonly dataset: Dataset
  readonly query: Query
}

/** Queries to evaluate together over a synthetic dataset. */
export interface BatchEvaluationRequest extends EvaluationSize {
  readonly dataset: Dataset
  readonly queries: readonly Query[]
}

/** An evaluation whose data was read. It can be sent to a worker thread. */
export interface EvaluationInput extends ReadPlan, EvaluationSize {}

/** An evaluation of a batch whose data was read. It can be sent to a worker thread. */
export interface BatchEvaluationInput extends BatchToEvaluate, EvaluationSize {}

/**
 * Plans a query over a synthetic dataset and reads its data.
 *
 * @throws Refusal `not-synthetic` for any other dataset and any caller, before anything is read; if the query does not fit; or
 * if the evaluation exceeds a limit.
 */
export async function readEvaluationInput(
  { engine, limits }: EvaluationDependencies,
  { dataset, query, runs, shown }: EvaluationRequest,
): Promise<EvaluationInput> {
  requireSynthetic(dataset)
  const planned = withinField('query', () => plan(query, dataset, limits))
  const size = { runs, shown }
  const [read] = await readWithinLimits([planned], size, 'query', { engine, limits })
  if (read === undefined) throw new RangeError('the data of the plan is missing')
  return { ...read, ...size }
}

/**
 * Plans the queries of a batch over a synthetic dataset, as an answer to it does, and reads their data.
 * @throws Refusal as {@link readEvaluationInput} does.
 */
export async function readBatchEvaluationInput(
  { engine, limits }: EvaluationDependencies,
  { dataset, queries, runs, shown }: BatchEvaluationRequest,
): Promise<BatchEvaluationInput> {
  requireSynthetic(dataset)
  const batch = await planQueries(queries, dataset, limits)
  const size = { runs, shown }
  const reads = await readWithinLimits(batch.plans, size, 'queries', { engine, limits })
  const facts = {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    ...batchReport(batch),
    cost: amountNumbers(batch.price),
  }
  return { reads: reads.map((read) => ({ ...read, ...priceReport(read.plan) })), facts, ...size }
}

async function readWithinLimits(
  plans: readonly Plan[],
  size: EvaluationSize,
  field: 'query' | 'queries',
  { engine, limits }: EvaluationDependencies,
): Promise<readonly ReadPlan[]> {
  const queries = plans.length
  const costs = plans.map((planned) => costOf(planned, undefined, queries))
  requireEvaluationLimits(costs, size, field)
  const reads: ReadPlan[] = []
  for (const [place, planned] of plans.entries()) {
    const exact = await readAggregate(planned, engine)
    const wider = withoutContribution(planned, limits)
    const unbounded = wider && truthsOf(wider, await readAggregate(wider, engine))
    reads.push({ plan: planned, exact, ...(unbounded === undefined ? {} : { unbounded }) })
    // After each query, because all that is read stays in memory until the end.
    costs[place] = costOf(planned, exact, queries)
    requireEvaluationLimits(costs, size, field)
  }
  return reads
}

/**
 * Plans a query of numbers without its own contribution bounds, over all rows that the dataset keeps of each person.
 * @returns `undefined` for a selection, for a query without such bounds, and for one that cannot be asked without them.
 */
function withoutContribution({ kind, query, dataset, loss }: Plan, limits: PlanLimits): Plan | undefined {
  if (kind === 'noisy-max' || kind === 'key-selection' || query.contribution === undefined) return undefined
  const { contribution: _, accuracy: __, ...question } = query
  try {
    return plan({ ...question, epsilon: epsilonNumber(loss.epsilonNano) }, dataset, limits)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
