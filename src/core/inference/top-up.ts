import { epsilonNumber } from '../../privacy/loss.ts'
import { entry } from '../../privacy/must.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import type { AdditivePlan } from '../planner/additive/shape.ts'
import { questionKindOf } from '../planner/kinds/question-kinds.ts'
import type { PlanLimits } from '../planner/plans/plan-kind.ts'
import { epsilonRange, leastLoss, offerOf } from '../planner/price/accuracy-first.ts'
import type { Inferred } from './infer.ts'

/**
 * Plans the measurement that is lacking to the precision of a question: the one with the least epsilon that, combined with what
 * paid releases say, is as precise as a fresh answer in every statistic and cell. Combination by inverse variance; with
 * Gaussian noise under zCDP it costs the difference in rho.
 * The limits that a dataset declares for each query are not applied.
 * @returns `undefined` if the releases are as precise as a fresh answer already
 */
export function planTopUp(
  target: AdditivePlan,
  known: Inferred,
  limits: PlanLimits,
): AdditivePlan | undefined {
  const { query, dataset, loss } = target
  const mechanism = entry(target.measurements, 0).mechanism
  const { accuracy: _, ...asked } = query
  const planAt = (epsilon: number): AdditivePlan => {
    const question = { ...asked, mechanism, epsilon }
    const planned = questionKindOf(question).plan(question, dataset, limits, offerOf(question))
    if (planned.kind !== 'additive') throw new RangeError('a question of sums and counts has another plan')
    return planned
  }
  const wanted = variancesOf(target)
  const worst = known.statistics.map((cells) =>
    cells.reduce((most, { variance }) => Math.max(most, variance), 0),
  )
  if (worst.every((variance, place) => variance <= entry(wanted, place) * (1 + ROUNDING))) return undefined
  return leastLoss(
    {
      planAt: ({ epsilonNano }) => planAt(epsilonNumber(epsilonNano)),
      halfWidthOf: (planned) =>
        variancesOf(planned).reduce((most, fresh, place) => {
          const combined = 1 / (1 / fresh + 1 / entry(worst, place))
          return Math.max(most, combined / entry(wanted, place))
        }, 0),
    },
    { least: epsilonRange(target.measurements.length).least, largest: loss.epsilonNano },
    loss.deltaAtto,
    { halfWidth: 1 + ROUNDING, confidence: target.confidence },
  )
}

const ROUNDING = 1e-9

/** The variance of each statistic, in squared grid units. */
function variancesOf({ measurements, confidence }: AdditivePlan): readonly number[] {
  return measurements.map((measurement) => accuracy(measurement, confidence).standardDeviation ** 2)
}
