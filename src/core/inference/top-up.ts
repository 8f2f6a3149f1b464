import { type EpsilonNano, epsilonNumber } from '../../privacy/loss.ts'
import { entry } from '../../privacy/must.ts'
import type { AdditivePlan } from '../planner/additive/shape.ts'
import { questionKindOf } from '../planner/kinds/question-kinds.ts'
import { cellCount } from '../planner/language/aggregate.ts'
import type { PlanLimits } from '../planner/plans/plan-kind.ts'
import { epsilonRange, leastLoss, offerOf } from '../planner/price/accuracy-first.ts'
import { type Inferred, infer, isLinearEstimate, type PaidRelease, varianceOf } from './infer.ts'

/**
 * Plans the measurement that is lacking to the precision of a question: the one with the least epsilon that, combined with what
 * paid releases say, is as precise as a fresh answer in every statistic and cell, or that meets the half-width that the
 * question asks for. Combination by inverse variance; with Gaussian noise under zCDP it costs the difference in rho.
 * The limits that a dataset declares for each query are not applied.
 * @param known what the releases say
 * @returns `undefined` if the releases are as precise already
 */
export function planTopUp(
  target: AdditivePlan,
  known: Inferred,
  paid: readonly PaidRelease[],
  limits: PlanLimits,
): AdditivePlan | undefined {
  const wanted = target.query.accuracy?.halfWidth
  if (wanted === undefined || !target.estimates.every(isLinearEstimate))
    return planForVariance(target, known, 1, limits)
  let halfWidth = known.report.accuracy.halfWidth ?? Number.POSITIVE_INFINITY
  if (halfWidth <= wanted) return undefined
  // Equal variances have slightly different half-widths, as noises differ in kind and number.
  let share = 1
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const lacking = planForVariance(target, known, share, limits)
    if (lacking !== undefined) {
      const found = infer(target, [withoutIntegers(lacking), ...paid])
      halfWidth = ('kind' in found ? null : found.report.accuracy.halfWidth) ?? Number.POSITIVE_INFINITY
      if (halfWidth <= wanted) return lacking
    }
    share *= 0.998 * (wanted / halfWidth) ** 2
  }
  return planAt(target, target.loss.epsilonNano, limits)
}

/** Attempts at a half-width; the next one is a fresh answer. */
const MOST_ATTEMPTS = 3

/** A release with the noise of a plan. Half-widths of sums and counts depend on nothing else. */
function withoutIntegers(plan: AdditivePlan): PaidRelease {
  const cells = Array.from({ length: cellCount(plan.aggregate) }, () => 0n)
  return { id: '', plan, integers: plan.measurements.map(() => cells) }
}

/** The same question at another epsilon. */
function planAt({ query, dataset, measurements }: AdditivePlan, epsilon: EpsilonNano, limits: PlanLimits) {
  const { accuracy: _, ...asked } = query
  const { mechanism } = entry(measurements, 0)
  const question = { ...asked, mechanism, epsilon: epsilonNumber(epsilon) }
  const planned = questionKindOf(question).plan(question, dataset, limits, offerOf(question))
  if (planned.kind !== 'additive') throw new RangeError('a question of sums and counts has another plan')
  return planned
}

/**
 * Plans the measurement with which every statistic's variance is at most a share of that of a fresh answer; at most the fresh
 * answer itself.
 */
function planForVariance(
  target: AdditivePlan,
  known: Inferred,
  share: number,
  limits: PlanLimits,
): AdditivePlan | undefined {
  const { loss, measurements, confidence } = target
  const wanted = variancesOf(target).map((variance) => variance * share)
  const worst = known.statistics.map((cells) =>
    cells.reduce((most, { variance }) => Math.max(most, variance), 0),
  )
  if (worst.every((variance, place) => variance <= entry(wanted, place) * (1 + ROUNDING))) return undefined
  const least = leastLoss(
    {
      planAt: ({ epsilonNano }) => planAt(target, epsilonNano, limits),
      halfWidthOf: (planned) =>
        variancesOf(planned).reduce((most, fresh, place) => {
          const combined = 1 / (1 / fresh + 1 / entry(worst, place))
          return Math.max(most, combined / entry(wanted, place))
        }, 0),
    },
    { least: epsilonRange(measurements.length).least, largest: loss.epsilonNano },
    loss.deltaAtto,
    { halfWidth: 1 + ROUNDING, confidence },
  )
  return least ?? planAt(target, loss.epsilonNano, limits)
}

const ROUNDING = 1e-9

/** The variance of each statistic, in squared grid units. */
function variancesOf({ measurements }: AdditivePlan): readonly number[] {
  return measurements.map(varianceOf)
}
