import type { Suppositions } from '../../../schemas/answers/query.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { isSome, postprocess, postprocessAccuracy } from './additive/postprocess.ts'
import { suppositionsOf } from './additive/suppositions.ts'
import { type Plan, type PlanKindName, type PlanOf, planKindOf, type ReleaseOf } from './plans/plan-kinds.ts'
import type { AccuracyReport, NoiseReport, Postprocessing, Report, ValueDomain } from './report-kinds.ts'

/** Describes the noise of a plan's answer. Public before the query is paid for. */
export function noiseReport<Kind extends PlanKindName>(plan: PlanOf<Kind>): NoiseReport {
  return planKindOf(plan).noise(plan)
}

/**
 * Computes the accuracy of a plan's answer without data, post-processed as its query asks.
 *
 * @param supposed suppositions about the data, on which the accuracy of some estimates depends; default: those of the
 * query.
 */
export function accuracyReport<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  supposed: Suppositions = suppositionsOf(plan.query),
): AccuracyReport {
  const measured = measuredAccuracy<Kind>(plan, supposed)
  const asked = postprocessingOf(plan)
  return asked === undefined ? measured : postprocessAccuracy(measured, domainOf(plan), asked)
}

/** Computes the accuracy of a plan's answer without data, before post-processing. */
export function measuredAccuracy<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  supposed: Suppositions = suppositionsOf(plan.query),
): AccuracyReport {
  return planKindOf(plan).accuracy(plan, supposed)
}

/**
 * Prepares the computation of the answer's numbers from releases of one plan, post-processed as its query asks:
 * computations that depend on the plan alone run once.
 */
export function reporter<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
): (release: ReleaseOf<Kind>) => Report {
  const reportOf = measuredReporter(plan)
  const asked = postprocessingOf(plan)
  if (asked === undefined) return reportOf
  const domain = domainOf(plan)
  return (release) => postprocess(reportOf(release), domain, asked)
}

/**
 * Prepares the computation of the answer's numbers from releases, before any post-processing that the query asks for. It
 * may use anything public and costs nothing.
 * @returns a function that throws a RangeError if the release is not that of the plan.
 */
export function measuredReporter<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
): (release: ReleaseOf<Kind>) => Report {
  const kind = planKindOf(plan)
  const reportOf = kind.reporter(plan)
  let ofPlan: AccuracyReport | undefined
  return (release) => {
    if (plan.kind !== release.kind) throw new RangeError('the release is of another kind than the plan')
    const { result, accuracy, measured } = reportOf(release)
    if (accuracy === undefined) ofPlan ??= kind.accuracy(plan, {})
    return { result, accuracy: accuracy ?? must(ofPlan, 'an accuracy'), ...defined({ measured }) }
  }
}

/**
 * Returns the facts about the values of a plan that can be post-processed: those made from sums and counts.
 * @returns `undefined` for a plan without such values
 */
export function domainOf<Kind extends PlanKindName>(plan: PlanOf<Kind>): ValueDomain | undefined {
  return planKindOf(plan).domain?.(plan)
}

/** Returns the post-processing that a query asks for; `undefined` if it asks for none. */
export function postprocessingOf({ query }: Pick<Plan, 'query'>): Postprocessing | undefined {
  if (!('postprocess' in query)) return undefined
  return isSome(query.postprocess) ? query.postprocess : undefined
}
