import type { Dataset } from '../../catalog/dataset.ts'
import type { Measurement, MechanismName } from '../../mechanisms/measurement.ts'
import { accuracy, privacyMap } from '../../mechanisms/mechanism.ts'
import {
  addLoss,
  DEFAULT_CONFIDENCE,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../../privacy/loss.ts'
import { refuseField } from '../../privacy/refusal.ts'
import {
  epsilonRange,
  knownHalfWidth,
  leastLoss,
  type Offer,
  type Planning,
  planAtOffer,
  refuseTarget,
} from '../accuracy-first.ts'
import {
  type AdditiveQuery,
  type AdditiveShape,
  clampedColumn,
  type Estimate,
  planAdditive,
  requireNumericColumn,
} from '../additive.ts'
import { accuracyOfAdditive, additiveReporter, isForeseeable, noiseOfAdditive } from '../additive-report.ts'
import { type Aggregate, cellCount, type Statistic } from '../aggregate.ts'
import { contributionReport, ONE_ROW_PER_PERSON, quotient, requireNoClamp } from '../contribution.ts'
import type { Grouping } from '../grouping.ts'
import { applicableMechanisms, leastError, measureAll, requireCalibrationFits } from '../measure.ts'
import type { PlanFacts, PlanKind, PlanLimits } from '../plan-kind.ts'
import { domainOfEstimates, mayBeNegative, postprocessAccuracy } from '../postprocess.ts'
import { priceOf, replacementLossInTwoSteps } from '../price.ts'
import { sensitivityOf } from '../stability.ts'
import { requireSuppositionsFit, suppositionsOf } from '../suppositions.ts'

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

/**
 * Plans sums and counts. Under accuracy first it takes the mechanism with the lowest price, otherwise the one with the
 * smallest error.
 * @throws Refusal for a query that does not fit the dataset or the mechanism.
 */
export function planAdditiveQuery(
  query: AdditiveQuery,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
): AdditivePlan {
  requireCalibrationFits(query)
  requireNoClamp(query.contribution, hasTotals(query))
  const shape = planAdditive(query, dataset, limits)
  requireNonNegative(query, shape)
  requireSuppositionsFit(query, shape)
  const { aggregate, groupings, estimates } = shape
  const sensitivities = aggregate.statistics.map((statistic) => sensitivityOf(statistic, aggregate, dataset))
  const planWith = (mechanisms: readonly MechanismName[]): Planning<AdditivePlan> => ({
    halfWidthOf,
    planAt: (loss) => {
      const measured = leastError(
        mechanisms.map((mechanism) => measureAll(mechanism, sensitivities, loss, query.calibration)),
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
        ...contributionOf(query, shape, measured.measurements, dataset),
      }
    },
  })
  const mechanisms = applicableMechanisms(query, shape, offer.deltaAtto)
  const largest = query.calibration === 'classic' ? ONE_EPSILON_NANO : undefined
  // The Gaussian mechanism measures all statistics as one vector and does not divide the epsilon.
  const rangeOf = (mechanism: MechanismName) =>
    epsilonRange(mechanism === 'gaussian' ? 1 : aggregate.statistics.length, largest)
  const { deltaAtto, target } = offer
  if (target === undefined) return planAtOffer(offer, epsilonRange(1), planWith(mechanisms))
  // Each mechanism separately: the one with the smallest error at one epsilon need not have the lowest price for the
  // target, and not every mechanism can meet it.
  const [first, ...others] = mechanisms.flatMap(
    (mechanism) => leastLoss(planWith([mechanism]), rangeOf(mechanism), deltaAtto, target) ?? [],
  )
  if (first === undefined) throw refuseTarget(epsilonRange(1, largest))
  return others.reduce((best, next) => (amountCompared(next) < amountCompared(best) ? next : best), first)
}

/** True for a query in which each person has a total that can be clamped. */
function hasTotals(query: AdditiveQuery): boolean {
  if (query.kind === 'groupBy') return clampedColumn(query.statistics) !== undefined
  return query.kind === 'sum' || query.kind === 'mean'
}

/** The statistic that a sum of people's totals is compared with: the same of their rows. */
function ofRows(statistic: Statistic, dataset: Dataset): Statistic {
  if (statistic.kind !== 'affine-sum' || statistic.perPerson?.kind !== 'sum') return statistic
  const { factor, perPerson } = statistic
  const { lowerIndex, upperIndex } = requireNumericColumn(dataset, perPerson.column, 'column')
  const offset = factor === 1n ? 0n : -(lowerIndex + upperIndex)
  return { kind: 'affine-sum', column: perPerson.column, factor, offset }
}

/** The contribution of each person. Of several statistics, the one whose noise grows most states the factor. */
function contributionOf(
  { contribution }: AdditiveQuery,
  { aggregate, bounding }: AdditiveShape,
  measurements: readonly Measurement[],
  dataset: Dataset,
): Pick<PlanFacts, 'contribution'> {
  const ofOneRow = { ...aggregate, bounding: ONE_ROW_PER_PERSON }
  const factor = () =>
    Math.max(
      ...measurements.map(({ mechanism, sensitivity }, place) => {
        const statistic = aggregate.statistics[place]
        if (statistic === undefined) throw new RangeError('each measurement belongs to a statistic')
        const one = sensitivityOf(ofRows(statistic, dataset), ofOneRow, dataset)
        return mechanism === 'gaussian'
          ? Math.sqrt(quotient(sensitivity.l2Squared, one.l2Squared))
          : quotient(sensitivity.l1, one.l1)
      }),
    )
  const report = contributionReport(bounding, factor, contribution?.perPerson)
  return report === undefined ? {} : { contribution: report }
}

/**
 * @throws Refusal for several statistics, for a half-width that only the answer can state, or if the half-width depends
 * on a number of rows that is not supposed.
 */
function halfWidthOf(plan: AdditivePlan): number {
  if (!plan.estimates.every(isForeseeable)) {
    const rule = `is not supported for ${plan.query.kind}, whose half-width depends on the data: give epsilon instead`
    throw refuseField('query-does-not-fit', 'accuracy', rule)
  }
  if (plan.estimates.length > 1) {
    const rule =
      'must be one statistic where accuracy is given, because its half-width is in the unit of one: ' +
      'ask for one statistic, or give epsilon in place of accuracy'
    throw refuseField('query-does-not-fit', 'statistics', rule)
  }
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
    const rule = `needs a value that is never negative, and ${reason}`
    throw refuseField('query-does-not-fit', 'postprocess.nonNegative', rule)
  }
}

/** Sums and counts with noise. */
export const additive: PlanKind<AdditivePlan, AdditiveRelease> = {
  rowsThatCount: ({ aggregate }) => aggregate.where,
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
  return aggregate.statistics.reduce((sum, statistic, place) => {
    const measurement = measurements[place]
    if (measurement === undefined) throw new RangeError('each statistic has a measurement')
    return addLoss(sum, privacyMap(measurement, sensitivityOf(statistic, aggregate, replacing)))
  }, NO_LOSS)
}

function leastHalfWidthRows({ aggregate, measurements, dataset }: AdditivePlan): number {
  const bounding = dataset.privacyUnit.kind === 'row' ? aggregate.bounding : ONE_ROW_PER_PERSON
  const halfWidths = aggregate.statistics.map((statistic, place) => {
    const measurement = measurements[place]
    if (measurement === undefined) throw new RangeError('each statistic has a measurement')
    const ofOneRow = sensitivityOf(ofRows(statistic, dataset), { ...aggregate, bounding }, dataset)
    return accuracy(measurement, DEFAULT_CONFIDENCE).halfWidth / Number(ofOneRow.lInfinity)
  })
  return Math.min(...halfWidths)
}
