import { prepareRelease } from '../../answers/release.ts'
import type { UniformSource } from '../../core/mechanisms/samplers/uniform-source.ts'
import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { accuracyReport, noiseReport } from '../../core/planner/report.ts'
import { entry } from '../../privacy/must.ts'
import { accumulatorOf, costOf, type ReadPlan } from './kinds.ts'
import { type EvaluationSize, requireEvaluationLimits } from './limits.ts'
import type { EvaluatedBatch, EvaluatedQuery, Evaluation } from './report.ts'

/*
 * Measures the error of answers over synthetic data: each query is answered many times, and every answer is compared
 * with the truth. The answers are those that a charge would buy, with the same noise and post-processing, but nothing
 * is charged. Only sums over the runs are kept, so memory does not grow with their number.
 */

/** Options of an evaluation. */
export interface EvaluationOptions extends EvaluationSize {
  readonly noiseSource: UniformSource
  /** Called with the number of completed runs, at most ten times a second. */
  readonly onProgress?: (runsDone: number) => void
  /** Clock in milliseconds, from any origin. */
  readonly nowMs?: () => number
}

/**
 * Answers a plan many times and compares the answers with the truth. Keeps a processor busy until it is done: run it in
 * a worker thread.
 *
 * @throws Refusal as {@link requireEvaluationLimits} does, for the data as well; and any error of the source of randomness.
 */
export async function evaluate(read: ReadPlan, options: EvaluationOptions): Promise<Evaluation> {
  return entry(await evaluateTogether([read], options, 'query'), 0)
}

/**
 * Evaluates one query. See decision 20.
 * @throws as {@link evaluate} does.
 */
export async function evaluateQuery(read: ReadPlan, options: EvaluationOptions): Promise<EvaluatedQuery> {
  const { plan } = read
  const { id, version } = plan.dataset
  return { dataset: id, datasetVersion: version, ...describe(plan), ...(await evaluate(read, options)) }
}

/** A batch to evaluate. It can be sent to a worker thread. */
export interface BatchToEvaluate {
  readonly reads: readonly (ReadPlan & Pick<EvaluatedBatch['evaluations'][number], 'price'>)[]
  readonly facts: Pick<EvaluatedBatch, 'dataset' | 'datasetVersion' | 'disjoint' | 'sumOfPrices' | 'cost'>
}

/**
 * Evaluates the queries of a batch. In each run every query is answered once. The limits hold for all queries together.
 * @throws as {@link evaluate} does.
 */
export async function evaluateBatch(
  { reads, facts }: BatchToEvaluate,
  options: EvaluationOptions,
): Promise<EvaluatedBatch> {
  const found = await evaluateTogether(reads, options, 'queries')
  const evaluations = reads.map(({ plan, price }, place) => ({
    ...describe(plan),
    price,
    ...entry(found, place),
  }))
  return { ...facts, evaluations }
}

async function evaluateTogether(
  reads: readonly ReadPlan[],
  options: EvaluationOptions,
  field: 'query' | 'queries',
): Promise<readonly Evaluation[]> {
  const queries = reads.length
  requireEvaluationLimits(
    reads.map(({ plan, exact }) => costOf(plan, exact, queries)),
    options,
    field,
  )
  const evaluated = reads.map(({ plan, exact, unbounded }) => ({
    draw: prepareRelease(plan, exact),
    accumulator: accumulatorOf(plan, exact, options, queries, unbounded),
  }))
  const { runs, noiseSource, onProgress, nowMs = () => performance.now() } = options
  let reportedMs = nowMs()
  for (let run = 0; run < runs; run += 1) {
    for (const { draw, accumulator } of evaluated) accumulator.add(await draw(noiseSource), run)
    const currentMs = nowMs()
    if (currentMs - reportedMs < PROGRESS_INTERVAL_MS) continue
    reportedMs = currentMs
    onProgress?.(run + 1)
  }
  return evaluated.map(({ accumulator }) => accumulator.evaluation())
}

const PROGRESS_INTERVAL_MS = 100

function describe(plan: Plan) {
  return { kind: plan.query.kind, noise: noiseReport(plan), accuracy: accuracyReport(plan) }
}
