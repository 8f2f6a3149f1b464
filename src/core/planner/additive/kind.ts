import { defined } from '../../../privacy/defined.ts'
import {
  addLoss,
  DEFAULT_CONFIDENCE,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import type { Measurement, MechanismName } from '../../mechanisms/measurement.ts'
import { accuracy, privacyMap } from '../../mechanisms/mechanism.ts'
import { cellCount, countsRowsOfPeople, type Statistic } from '../language/aggregate.ts'
import { NUMBERS, requireColumnOf } from '../language/column-rules.ts'
import {
  contributionAsked,
  contributionReport,
  ONE_ROW_PER_PERSON,
  quotient,
  requireNoClamp,
} from '../language/contribution.ts'
import { addingNoise, type PlanFacts, type PlanKind, type PlanLimits } from '../plans/plan-kind.ts'
import {
  epsilonRange,
  knownHalfWidth,
  leastLoss,
  type Offer,
  type Planning,
  planAtOffer,
  refuseSeveral,
  refuseTarget,
} from '../price/accuracy-first.ts'
import { priceOf, replacementLossInTwoSteps } from '../price/price.ts'
import { sensitivityOf } from '../price/stability.ts'
import { isForeseeable, mayBeNegative } from './estimates/estimate-kinds.ts'
import { applicableMechanisms, measureAll, narrowest, requireCalibrationFits, weightsOf } from './measure.ts'
import { domainOfEstimates, postprocessAccuracy } from './postprocess.ts'
import { accuracyOfAdditive, additiveReporter, noiseOfAdditive } from './report.ts'
import type {
  AdditiveExact,
  AdditiveParts,
  AdditivePlan,
  AdditiveQuery,
  AdditiveRelease,
  AdditiveShape,
} from './shape.ts'
import { planAdditive } from './statistics.ts'
import { requireSuppositionsFit, suppositionsOf } from './suppositions.ts'

/**
 * Plans sums and counts. Under accuracy first it takes the mechanism with the lowest price, otherwise the one with the
 * smallest half-width.
 * @throws Refusal for a query that does not fit the dataset or the mechanism.
 */
export function planAdditiveQuery<Asked extends AdditiveQuery>(
  query: Asked,
  parts: AdditiveParts<Asked>,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
): AdditivePlan {
  requireCalibrationFits(query)
  requireNoClamp(contributionAsked(query), parts.hasTotals?.(query) ?? false)
  const shape = planAdditive(query, parts, dataset, limits)
  requireNonNegative(query, shape)
  requireSuppositionsFit(query, shape)
  const { aggregate, groupings, estimates, shown } = shape
  const sensitivities = aggregate.statistics.map((statistic) => sensitivityOf(statistic, aggregate, dataset))
  const weights = weightsOf(shape)
  const planWith = (mechanisms: readonly MechanismName[]): Planning<AdditivePlan> => ({
    halfWidthOf,
    planAt: (loss) => {
      const measured = narrowest(
        mechanisms.map((mechanism) => measureAll(mechanism, sensitivities, weights, loss, query.calibration)),
        offer.confidence,
      )
      return {
        kind: 'additive',
        query,
        dataset,
        ...measured,
        confidence: offer.confidence,
        aggregate,
        groupings,
        estimates,
        shown,
        ...contributionOf(query, shape, measured.measurements, dataset),
      }
    },
  })
  const mechanisms = applicableMechanisms(query, shape, offer.deltaAtto)
  const largest = query.calibration === 'classic' ? ONE_EPSILON_NANO : undefined
  // The Gaussian mechanism measures all statistics as one vector and does not divide the epsilon.
  const rangeOf = (mechanism: MechanismName) =>
    epsilonRange(mechanism === 'gaussian' ? 1 : weights.reduce((sum, weight) => sum + weight), largest)
  const { deltaAtto, target } = offer
  if (target === undefined) return planAtOffer(offer, epsilonRange(1), planWith(mechanisms))
  // Each mechanism separately: the one with the smallest half-width at one epsilon need not have the lowest price for the
  // target, and not every mechanism can meet it.
  const [first, ...others] = mechanisms
    .map((mechanism) => leastLoss(planWith([mechanism]), rangeOf(mechanism), deltaAtto, target))
    .filter((found) => found !== undefined)
  if (first === undefined) throw refuseTarget(epsilonRange(1, largest))
  return others.reduce((best, next) => (amountCompared(next) < amountCompared(best) ? next : best), first)
}

/** The statistic that a sum of people's totals is compared with: the same of their rows. */
function ofRows(statistic: Statistic, dataset: Dataset): Statistic {
  if (statistic.kind !== 'affine-sum' || statistic.perPerson?.kind !== 'sum') return statistic
  const { factor, perPerson } = statistic
  const { column, clamp } = perPerson
  const { lowerIndex, upperIndex } = requireColumnOf(NUMBERS, dataset, column, 'column')
  const { lower, upper } = clamp ?? { lower: lowerIndex, upper: upperIndex }
  const offset = factor === 1n ? 0n : -(lower + upper)
  return { kind: 'affine-sum', column, factor, offset, ...defined({ clamp }) }
}

/** The contribution of each person. Of several statistics, the one whose noise grows most states the factor. */
function contributionOf(
  query: AdditiveQuery,
  { aggregate, bounding }: AdditiveShape,
  measurements: readonly Measurement[],
  dataset: Dataset,
): Pick<PlanFacts, 'contribution'> {
  const ofOneRow = { ...aggregate, bounding: ONE_ROW_PER_PERSON }
  const factor = () =>
    Math.max(
      ...measurements.map(({ mechanism, sensitivity }, place) => {
        const statistic = entry(aggregate.statistics, place)
        const one = sensitivityOf(ofRows(statistic, dataset), ofOneRow, dataset)
        return mechanism === 'gaussian'
          ? Math.sqrt(quotient(sensitivity.l2Squared, one.l2Squared))
          : quotient(sensitivity.l1, one.l1)
      }),
    )
  return defined({ contribution: contributionReport(bounding, factor, contributionAsked(query)?.perPerson) })
}

/** @throws Refusal for several statistics, or for a half-width that only the answer can state or that needs suppositions. */
function halfWidthOf(plan: AdditivePlan): number {
  if (!plan.estimates.every(isForeseeable)) {
    const rule = `is not supported for ${plan.query.kind}, whose half-width depends on the data: give epsilon instead`
    throw refuseQuery('accuracy', rule)
  }
  if (plan.estimates.length > 1) throw refuseSeveral()
  const measured = accuracyOfAdditive(plan, suppositionsOf(plan.query))
  return knownHalfWidth(postprocessAccuracy(measured, domainOfEstimates(plan), plan.query.postprocess))
}

/** Price as one number to compare: rho, or epsilon, because delta is the same for all. */
function amountCompared(plan: AdditivePlan): bigint {
  const price = priceOf(plan, plan.dataset.accounting)
  return price.accounting === 'zcdp' ? price.rhoPico : price.epsilonNano
}

/** Cutting at 0 improves answers whose true value is never negative. For others the stated accuracy would be wrong. */
function requireNonNegative(query: AdditiveQuery, { estimates }: AdditiveShape): void {
  if (!query.postprocess.nonNegative) return
  for (const estimate of estimates) {
    const reason = mayBeNegative(estimate)
    if (reason === undefined) continue
    throw refuseQuery('postprocess.nonNegative', `needs a value that is never negative, and ${reason}`)
  }
}

/** Sums and counts with noise. */
export const additive: PlanKind<AdditivePlan, AdditiveExact, AdditiveRelease> = {
  readings: ({ aggregate }) => [{ method: 'aggregate', aggregate }],
  exact: (_, { aggregate }) => ({ kind: 'additive', integers: entry(aggregate, 0) }),
  release: ({ measurements }, { integers }) => addingNoise('additive', measurements, integers),
  chosen({ measurements, query }) {
    const { mechanism, calibration } = entry(measurements, 0)
    // Other mechanisms use no delta.
    return mechanism === 'gaussian' ? { mechanism, calibration, delta: query.delta } : { mechanism }
  },
  domain: domainOfEstimates,
  // A person with one row that counts elsewhere is in a bin here for the rows that count here, also those beyond `maxRows`.
  rowsThatCount: ({ aggregate }) => (countsRowsOfPeople(aggregate) ? undefined : aggregate.where),
  mostValues: ({ aggregate, estimates }) => cellCount(aggregate) * estimates.length,
  leastHalfWidthRows,
  replacementLoss,
  noise: noiseOfAdditive,
  accuracy: accuracyOfAdditive,
  reporter: (plan) => {
    const report = additiveReporter(plan)
    return ({ noisy }) => report(noisy)
  },
}

/**
 * Under add-remove, a unit replaced can move the statistics less than one removed and one added. Noise that was
 * calibrated to L1 is then priced again at the smaller sensitivity. Noise with a delta keeps the two steps, because its
 * delta would change as well.
 */
function replacementLoss(plan: AdditivePlan): PrivacyLoss {
  const { dataset, loss, aggregate, measurements } = plan
  if (dataset.neighbours === 'change-one' || loss.deltaAtto !== 0n) return replacementLossInTwoSteps(plan)
  const replacing = { ...dataset, neighbours: 'change-one' } as const
  return aggregate.statistics
    .map((statistic, place) =>
      privacyMap(entry(measurements, place), sensitivityOf(statistic, aggregate, replacing)),
    )
    .reduce(addLoss, NO_LOSS)
}

function leastHalfWidthRows({ aggregate, measurements, dataset }: AdditivePlan): number {
  const bounding = dataset.privacyUnit.kind === 'row' ? aggregate.bounding : ONE_ROW_PER_PERSON
  const halfWidths = aggregate.statistics.map((statistic, place) => {
    const ofOneRow = sensitivityOf(ofRows(statistic, dataset), { ...aggregate, bounding }, dataset)
    return accuracy(entry(measurements, place), DEFAULT_CONFIDENCE).halfWidth / Number(ofOneRow.lInfinity)
  })
  return Math.min(...halfWidths)
}
