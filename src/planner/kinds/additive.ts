import type { Measurement } from '../../mechanisms/measurement.ts'
import { privacyMap } from '../../mechanisms/mechanism.ts'
import { addLoss, NO_LOSS, type PrivacyLoss } from '../../privacy/loss.ts'
import type { AdditiveQuery, Estimate } from '../additive.ts'
import { accuracyOfAdditive, additiveReporter, noiseOfAdditive } from '../additive-report.ts'
import { type Aggregate, cellCount } from '../aggregate.ts'
import type { Grouping } from '../grouping.ts'
import type { PlanFacts, PlanKind } from '../plan-kind.ts'
import { replacementLossInTwoSteps } from '../price.ts'
import { stabilityOf } from '../stability.ts'

/** Plan that adds noise to sums and counts, from which the answer's numbers are made. */
export interface AdditivePlan extends PlanFacts {
  readonly kind: 'additive'
  readonly query: AdditiveQuery
  readonly aggregate: Aggregate
  /** One for each of the aggregate's statistics. */
  readonly measurements: readonly Measurement[]
  readonly groupings: readonly Grouping[]
  readonly estimates: readonly Estimate[]
}

/** Noisy statistics. */
export interface AdditiveRelease {
  readonly kind: 'additive'
  /** One array per statistic, one noisy integer per cell, in output units. */
  readonly noisy: readonly (readonly bigint[])[]
}

/** Sums and counts with noise. */
export const additive: PlanKind<AdditivePlan, AdditiveRelease> = {
  rowsThatCount: ({ aggregate }) => aggregate.where,
  mostValues: ({ aggregate, estimates }) => cellCount(aggregate) * estimates.length,
  replacementLoss,
  noise: noiseOfAdditive,
  accuracy: accuracyOfAdditive,
  reporter: (plan) => {
    const report = additiveReporter(plan)
    return ({ noisy }) => report(noisy)
  },
}

/**
 * Under add-remove, a row replaced can move the statistics less than one row removed and one added. Noise that was
 * calibrated to L1 is then priced again at the smaller sensitivity. Noise with a delta keeps the two steps, because its
 * delta would change as well.
 */
function replacementLoss(plan: AdditivePlan): PrivacyLoss {
  const { dataset, loss, aggregate, measurements } = plan
  if (dataset.neighbours === 'change-one' || loss.deltaAtto !== 0n) return replacementLossInTwoSteps(plan)
  const replacing = { ...dataset, neighbours: 'change-one' } as const
  return aggregate.statistics.reduce((sum, statistic, place) => {
    const measurement = measurements[place]
    if (measurement === undefined) throw new RangeError('each statistic has a measurement')
    return addLoss(sum, privacyMap(measurement, stabilityOf(statistic, aggregate, replacing)))
  }, NO_LOSS)
}
