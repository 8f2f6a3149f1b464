import type { AnswerDependencies } from '../../answers/answer.ts'
import { type Planning, planAllAside, planAside, type Waiting } from '../../answers/planning.ts'
import { readAggregate } from '../../answers/release.ts'
import { type Dataset, requireSynthetic } from '../../core/dataset/dataset.ts'
import { batchReport, priceReport } from '../../core/planner/batch.ts'
import type { plan } from '../../core/planner/plan.ts'
import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { amountNumbers } from '../../privacy/accounting.ts'
import { epsilonNumber } from '../../privacy/loss.ts'
import { entry } from '../../privacy/must.ts'
import { awaitedWithinField, Refusal } from '../../privacy/refusal.ts'
import type { BatchToEvaluate } from './evaluation.ts'
import { costOf, hasTruths, type ReadPlan, truthsOf } from './kinds.ts'
import { type EvaluationSize, requireEvaluationLimits } from './limits.ts'

/** Dependencies of evaluations. They have no ledger, because nothing is charged. */
export type EvaluationDependencies = Pick<AnswerDependencies, 'engine' | keyof Planning>

type Query = Parameters<typeof plan>[0]

/** A request to evaluate over a synthetic dataset. */
interface OfSynthetic extends EvaluationSize {
  readonly waiting?: Waiting
  readonly dataset: Dataset
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
  dependencies: EvaluationDependencies,
  { dataset, query, waiting = {}, ...size }: OfSynthetic & { readonly query: Query },
): Promise<EvaluationInput> {
  requireSynthetic(dataset)
  const planned = await awaitedWithinField('query', () => planAside(query, dataset, dependencies, waiting))
  const reads = await readWithinLimits([planned], size, 'query', dependencies, waiting)
  return { ...entry(reads, 0), ...size }
}

/**
 * Plans the queries of a batch over a synthetic dataset, as an answer to it does, and reads their data.
 * @throws Refusal as {@link readEvaluationInput} does.
 */
export async function readBatchEvaluationInput(
  dependencies: EvaluationDependencies,
  { dataset, queries, waiting = {}, ...size }: OfSynthetic & { readonly queries: readonly Query[] },
): Promise<BatchEvaluationInput> {
  requireSynthetic(dataset)
  const batch = await planAllAside(queries, dataset, dependencies, waiting)
  const reads = await readWithinLimits(batch.plans, size, 'queries', dependencies, waiting)
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
  dependencies: EvaluationDependencies,
  waiting: Waiting,
): Promise<readonly ReadPlan[]> {
  const { engine } = dependencies
  const queries = plans.length
  const costs = plans.map((planned) => costOf(planned, undefined, queries))
  requireEvaluationLimits(costs, size, field)
  const reads: ReadPlan[] = []
  for (const [place, planned] of plans.entries()) {
    const exact = await readAggregate(planned, engine)
    const wider = await withoutContribution(planned, dependencies, waiting)
    const unbounded = wider && truthsOf(wider, await readAggregate(wider, engine))
    reads.push({ plan: planned, exact, unbounded })
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
async function withoutContribution(
  planned: Plan,
  planning: Planning,
  waiting: Waiting,
): Promise<Plan | undefined> {
  const { query, dataset, loss } = planned
  if (!hasTruths(planned) || !('contribution' in query) || query.contribution === undefined) return undefined
  const { contribution: _, accuracy: __, ...question } = query
  try {
    const asked = { ...question, epsilon: epsilonNumber(loss.epsilonNano) }
    return await planAside(asked, dataset, planning, waiting)
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'unavailable') return undefined
    throw error
  }
}
