import type { Suppositions } from '../../schemas/query.ts'
import { type PlanKindName, type PlanOf, planKinds, type ReleaseOf } from './plan-kinds.ts'
import { domainOf, postprocess, postprocessAccuracy, postprocessingOf } from './postprocess.ts'
import type { AccuracyReport, NoiseReport, Report } from './report-kinds.ts'
import { suppositionsOf } from './suppositions.ts'

/** Describes the noise of a plan's answer. Public before the query is paid for. */
export function noiseReport<Kind extends PlanKindName>(plan: PlanOf<Kind>): NoiseReport {
  return planKinds[plan.kind].noise(plan)
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
  return planKinds[plan.kind].accuracy(plan, supposed)
}

/**
 * Computes the answer's numbers from a release, before any post-processing that its query asks for. It may use anything
 * public and costs nothing.
 * @throws RangeError if the release is not that of the plan.
 */
export function measuredReport<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  release: ReleaseOf<Kind>,
): Report {
  return measuredReporter(plan)(release)
}

/**
 * Computes the answer's numbers from a release, post-processed as its query asks.
 * @throws RangeError if the release is not that of the plan.
 */
export function report<Kind extends PlanKindName>(plan: PlanOf<Kind>, release: ReleaseOf<Kind>): Report {
  return reporter(plan)(release)
}

/**
 * Prepares {@link report} for many releases under the same plan: computations that depend on the plan alone run once.
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

function measuredReporter<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
): (release: ReleaseOf<Kind>) => Report {
  const reportOf = planKinds[plan.kind].reporter(plan)
  return (release) => {
    if (plan.kind !== release.kind) throw new RangeError('the release is of another kind than the plan')
    return reportOf(release)
  }
}
