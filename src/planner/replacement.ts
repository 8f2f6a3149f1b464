import { privacyMap } from '../mechanisms/mechanism.ts'
import { addLoss, lossOfReplacement, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import type { Plan } from './plan-kinds.ts'
import { stabilityOf } from './stability.ts'

/**
 * What a plan's release reveals about which row one person has: the loss between datasets that differ by one row
 * replaced. Under change-one that is the price. Under add-remove it is at most that of two steps, and less where one
 * row replaced moves the statistics less than one removed and one added: noise that was calibrated to the one
 * sensitivity is priced anew at the other. Noise for L2 keeps the two steps, for its delta would change too.
 */
export function replacementLoss(plan: Plan): PrivacyLoss {
  const { dataset, loss } = plan
  const hasOnlyEpsilon = plan.kind === 'additive' && loss.deltaAtto === 0n
  if (dataset.neighbours === 'change-one' || !hasOnlyEpsilon)
    return lossOfReplacement(loss, dataset.neighbours)
  const replacing = { ...dataset, neighbours: 'change-one' } as const
  return plan.aggregate.statistics.reduce((sum, statistic, place) => {
    const measurement = plan.measurements[place]
    if (measurement === undefined) throw new RangeError('each statistic has a measurement')
    return addLoss(sum, privacyMap(measurement, stabilityOf(statistic, plan.aggregate, replacing)))
  }, NO_LOSS)
}
