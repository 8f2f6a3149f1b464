import type { Query } from '../../schemas/query.ts'
import type { Dataset } from '../catalog/dataset.ts'
import type { MechanismName } from '../mechanisms/measurement.ts'
import {
  DEFAULT_CONFIDENCE,
  type DeltaAtto,
  deltaFromWire,
  type EpsilonNano,
  epsilonFromWire,
  epsilonNano,
  MAX_QUERY_EPSILON,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { refuseField } from '../privacy/refusal.ts'
import { type EpsilonRange, leastLoss, refuseTarget, type Target, targetOf } from './accuracy-first.ts'
import { type AdditiveQuery, type AdditiveShape, planAdditive } from './additive.ts'
import type { AdditivePlan } from './kinds/additive.ts'
import { planKeySelection } from './kinds/key-selection.ts'
import { planNoisyMax } from './kinds/noisy-max.ts'
import { planQuantiles } from './kinds/quantile.ts'
import { applicableMechanisms, leastError, measureAll, requireCalibrationFits } from './measure.ts'
import type { PlanLimits } from './plan-kind.ts'
import type { Plan } from './plan-kinds.ts'
import { priceOf } from './price.ts'
import { stabilityOf } from './stability.ts'
import { requireSuppositionsFit } from './suppositions.ts'

/**
 * Plans a query: the aggregate, its exact sensitivity, the mechanism and the price. A query that gives an accuracy instead
 * of an epsilon is planned with the least epsilon that meets it, by the mechanism with the lowest price.
 *
 * @throws Refusal for a query that does not fit the dataset or the mechanism, naming the field and the rule.
 */
export function plan(query: Query, dataset: Dataset, limits: PlanLimits): Plan {
  const target = targetOf(query)
  const price: Price = {
    ...(target === undefined ? { epsilonNano: epsilonFromWire(query.epsilon ?? Number.NaN, 'epsilon') } : {}),
    deltaAtto: 'delta' in query ? deltaFromWire(query.delta, 'delta') : NO_LOSS.deltaAtto,
    target,
  }
  const confidence = target?.confidence ?? DEFAULT_CONFIDENCE
  switch (query.kind) {
    case 'noisyMax':
      return atPrice(price, rangeFor(query.k), planNoisyMax(query, dataset, limits, confidence))
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum': {
      const parts = query.kind === 'percentile' && Array.isArray(query.p) ? query.p.length : 1
      return atPrice(price, rangeFor(parts), planQuantiles(query, dataset, confidence))
    }
    case 'keySelection':
      return atPrice(price, rangeFor(1), planKeySelection(query, dataset, limits, confidence))
    default:
      return planAdditiveQuery(query, dataset, limits, price, confidence)
  }
}

/** Price that a query offers: an epsilon, or the accuracy to reach. */
interface Price {
  readonly epsilonNano?: EpsilonNano
  readonly deltaAtto: DeltaAtto
  readonly target: Target | undefined
}

/** Range of epsilons that can be divided into this number of parts. */
function rangeFor(parts: number, largest = BigInt(MAX_QUERY_EPSILON) * ONE_EPSILON_NANO): EpsilonRange {
  return { least: epsilonNano(BigInt(parts)), largest: epsilonNano(largest) }
}

/** Plans at the epsilon that the query gives, or at the least that meets its target. */
function atPrice<P extends Plan>(
  { epsilonNano, deltaAtto, target }: Price,
  range: EpsilonRange,
  planAt: (loss: PrivacyLoss) => P,
): P {
  if (epsilonNano !== undefined) return planAt({ epsilonNano, deltaAtto })
  if (target === undefined) throw new RangeError('a query gives an epsilon or an accuracy')
  const least = leastLoss(planAt, range, deltaAtto, target)
  if (least === undefined) throw refuseTarget(range)
  return least
}

function planAdditiveQuery(
  query: AdditiveQuery,
  dataset: Dataset,
  limits: PlanLimits,
  price: Price,
  confidence: number,
): AdditivePlan {
  requireCalibrationFits(query)
  const shape = planAdditive(query, dataset, limits)
  requireNonNegative(query, shape)
  requireSuppositionsFit(query, shape)
  const { aggregate, groupings, estimates } = shape
  const sensitivities = aggregate.statistics.map((statistic) => stabilityOf(statistic, aggregate, dataset))
  const planWith =
    (mechanisms: readonly MechanismName[]) =>
    (loss: PrivacyLoss): AdditivePlan => {
      const measured = leastError(
        mechanisms.map((mechanism) => measureAll(mechanism, sensitivities, loss, query.calibration)),
      )
      return {
        kind: 'additive',
        query,
        dataset,
        ...measured,
        confidence,
        aggregate,
        groupings,
        estimates,
      }
    }
  const mechanisms = applicableMechanisms(query, shape, price.deltaAtto)
  const largest = query.calibration === 'classic' ? ONE_EPSILON_NANO : undefined
  // The Gaussian mechanism measures all statistics as one vector and does not divide the epsilon.
  const rangeOf = (mechanism: MechanismName) =>
    rangeFor(mechanism === 'gaussian' ? 1 : aggregate.statistics.length, largest)
  const { deltaAtto, target } = price
  if (target === undefined) return atPrice(price, rangeFor(1), planWith(mechanisms))
  // Each mechanism separately: the one with the smallest error at one epsilon need not have the lowest price for the
  // target, and not every mechanism can meet it.
  const [first, ...others] = mechanisms.flatMap(
    (mechanism) => leastLoss(planWith([mechanism]), rangeOf(mechanism), deltaAtto, target) ?? [],
  )
  if (first === undefined) throw refuseTarget(rangeFor(1, largest))
  return others.reduce((best, next) => (amountCompared(next) < amountCompared(best) ? next : best), first)
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
    const mayBeNegative =
      estimate.kind === 'sum' || estimate.kind === 'sum-from-middle' || estimate.kind === 'mean'
    if (mayBeNegative && estimate.column.lowerIndex < 0n) {
      throw refuseField(
        'query-does-not-fit',
        'postprocess.nonNegative',
        `needs a value that is never negative, and ${estimate.column.name} may be below 0`,
      )
    }
  }
}
