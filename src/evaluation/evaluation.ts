import { type ExactAggregate, releaseAggregate } from '../answers/release.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { accuracyReport, noiseReport, report } from '../planner/report.ts'
import { accumulateCandidates } from './candidates.ts'
import { accumulateKeys } from './keys.ts'
import { type EvaluationSize, requireEvaluationLimits } from './limits.ts'
import { accumulateNumbers } from './numbers.ts'
import type { EvaluatedQuery, Evaluation } from './report.ts'
import type { Accumulator } from './tally.ts'
import { exactEstimates, trueQuantiles } from './truth.ts'

/*
 * How far off the answers to a query are: it is answered many times over made-up people, and every answer is compared
 * with the truth. Nothing is charged, because nobody is protected; the answers are those that a charge would buy, noise,
 * post-processing and all. Of the runs only sums are kept, so that a hundred thousand take no more room than one.
 */

/** What {@link evaluate} needs. */
export interface EvaluationOptions extends EvaluationSize {
  readonly noiseSource: UniformSource
  /** WorkerMessage how many runs are done, at most about ten times a second. */
  readonly onProgress?: (runsDone: number) => void
  /** In milliseconds, from anywhere. */
  readonly nowMs?: () => number
}

/**
 * Answer a plan many times and compare the answers with the truth. It keeps a processor busy until it is done, and yields
 * now and then: it is for a thread of its own, which the plan and what was read can be handed to.
 *
 * @param exact what was read for the plan.
 * @throws Refusal as {@link requireEvaluationLimits}, for what was read too; and whatever the source of randomness throws.
 */
export async function evaluate(
  plan: Plan,
  exact: ExactAggregate,
  options: EvaluationOptions,
): Promise<Evaluation> {
  requireEvaluationLimits(plan, options, exact)
  const { runs, noiseSource, onProgress, nowMs = () => performance.now() } = options
  const accumulator = accumulatorOf(plan, exact, options)
  let reportedMs = nowMs()
  for (let run = 0; run < runs; run += 1) {
    const released = await releaseAggregate(plan, exact, noiseSource)
    accumulator.add(released, report(plan, released), run)
    const currentMs = nowMs()
    if (currentMs - reportedMs < PROGRESS_INTERVAL_MS) continue
    reportedMs = currentMs
    onProgress?.(run + 1)
  }
  return accumulator.evaluation()
}

/**
 * {@link evaluate}, with the facts of the query beside it.
 * @throws as {@link evaluate} does.
 */
export async function evaluateQuery(
  plan: Plan,
  exact: ExactAggregate,
  options: EvaluationOptions,
): Promise<EvaluatedQuery> {
  const { dataset, query } = plan
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    kind: query.kind,
    noise: noiseReport(plan),
    accuracy: accuracyReport(plan, query.accuracy?.supposedRows),
    ...(await evaluate(plan, exact, options)),
  }
}

const PROGRESS_INTERVAL_MS = 100

function accumulatorOf(plan: Plan, exact: ExactAggregate, extent: EvaluationSize): Accumulator {
  if (plan.kind === 'additive' && exact.kind === 'additive')
    return accumulateNumbers(plan, extent, exactEstimates(plan, exact.integers))
  if (plan.kind === 'quantile' && exact.kind === 'quantile') {
    const { numbers, rankErrorRows } = trueQuantiles(plan, exact.values)
    return accumulateNumbers(plan, extent, numbers, rankErrorRows)
  }
  if (plan.kind === 'noisy-max' && exact.kind === 'noisy-max')
    return accumulateCandidates(plan, extent, exact.scores)
  if (plan.kind === 'key-selection' && exact.kind === 'key-selection')
    return accumulateKeys(plan, extent, exact.texts)
  throw new RangeError('what was read is not what the plan asks for')
}
