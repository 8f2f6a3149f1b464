import { accuracyOfAdditive, noiseOfAdditive, reportEstimates } from './additive-report.ts'
import type { Plan } from './plan-kinds.ts'
import type { AccuracyReport, NoiseReport, Released, Report } from './report-kinds.ts'
import { accuracyOfSelection, noiseOfSelection, reportSelection } from './selection-report.ts'

/** How a plan's answer is made noisy; public before the query is paid for. */
export function noiseReport(plan: Plan): NoiseReport {
  return plan.kind === 'additive' ? noiseOfAdditive(plan) : noiseOfSelection(plan)
}

/**
 * The accuracy of a plan's answer, computed without data.
 *
 * @param supposedRows how many rows the caller supposes to count: the accuracy of some estimates depends on it. Whole,
 * at least 1.
 */
export function accuracyReport(plan: Plan, supposedRows?: number): AccuracyReport {
  return plan.kind === 'additive' ? accuracyOfAdditive(plan, supposedRows) : accuracyOfSelection(plan)
}

/**
 * The answer's numbers from what was released: post-processing, so it may use anything public and costs nothing.
 * @throws RangeError where the release is not that of the plan.
 */
export function report(plan: Plan, released: Released): Report {
  if (plan.kind === 'additive' && released.kind === 'additive') return reportEstimates(plan, released.noisy)
  return { result: reportSelection(plan, released), accuracy: accuracyReport(plan) }
}
