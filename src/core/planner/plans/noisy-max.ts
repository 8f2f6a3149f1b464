import type { Query } from '../../../../schemas/answers/query.ts'
import { DEFAULT_CONFIDENCE, type PrivacyLoss } from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { numberFromRational } from '../../../privacy/rational.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import {
  calibrateNoisyMax,
  type NoisyMaxMeasurement,
  noisyMaxGapAccuracy,
  noisyMaxHalfWidth,
  noisyMaxRho,
  type Selected,
  selectNoisyMax,
} from '../../mechanisms/selection/noisy-max.ts'
import { splitEpsilon } from '../additive/measure.ts'
import type { Aggregate, Bounding, Statistic } from '../language/aggregate.ts'
import { contributionTo, planBounding, requireNoClamp, requirePeople } from '../language/contribution.ts'
import { type CellLabel, planGrouping } from '../language/grouping.ts'
import { planPredicate, planRows } from '../language/predicate.ts'
import { epsilonRange, knownHalfWidth, type Offer, planAtOffer } from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { stabilityOfCounts } from '../price/stability.ts'
import type { AccuracyReport, Result } from '../report-kinds.ts'
import { inOneStep, type PlanFacts, type PlanKind, type PlanLimits } from './plan-kind.ts'

export type NoisyMaxQuery = Extract<Query, { kind: 'noisyMax' }>

/** Plan that selects the best of declared candidates by their counts: one cell each, or one statistic each. */
export interface NoisyMaxPlan extends PlanFacts {
  readonly kind: 'noisy-max'
  readonly query: NoisyMaxQuery
  readonly aggregate: Aggregate
  readonly measurement: NoisyMaxMeasurement
  /** Names of the candidates, in the order of their counts. */
  readonly candidates: readonly CellLabel[]
}

/** The number of rows or people of each candidate. */
export interface NoisyMaxExact {
  readonly kind: 'noisy-max'
  readonly scores: readonly bigint[]
}

/** Selected candidates, best first. */
export interface NoisyMaxRelease {
  readonly kind: 'noisy-max'
  readonly selected: readonly Selected[]
}

/** @throws Refusal `query-does-not-fit` for candidates that the dataset does not have, or too many. */
export function planNoisyMax(
  query: NoisyMaxQuery,
  dataset: Dataset,
  { maxCells }: PlanLimits,
  offer: Offer,
): NoisyMaxPlan {
  const { aggregate, candidates } = candidatesOf(query, dataset)
  if (candidates.length > maxCells)
    throw refuseQuery('candidates', `has ${candidates.length} candidates; at most ${maxCells} are supported`)
  const sensitivityWith = (bounding: Bounding) =>
    stabilityOfCounts({ of: query.of ?? 'rows', bounding }, dataset)
  const setting = {
    candidates: candidates.length,
    k: query.k,
    gap: query.gap,
    noise: query.noise ?? (query.gap ? 'laplace' : 'exponential'),
    ...sensitivityWith(aggregate.bounding),
  } as const
  const contribution = contributionTo(aggregate.bounding, (bounding) => [
    sensitivityWith(bounding).sensitivity,
  ])
  const planAt = (loss: PrivacyLoss): NoisyMaxPlan => {
    // Refuses an epsilon that is too small to be divided among the k candidates.
    splitEpsilon(loss.epsilonNano, query.k)
    const measurement = calibrateNoisyMax(setting, loss.epsilonNano)
    return {
      kind: 'noisy-max',
      query,
      dataset,
      loss: measurement.loss,
      rho: noisyMaxRho(measurement),
      confidence: offer.confidence,
      aggregate,
      measurement,
      candidates,
      ...contribution,
    }
  }
  const halfWidthOf = (plan: NoisyMaxPlan) => knownHalfWidth(accuracy(plan))
  return planAtOffer(offer, epsilonRange(query.k), { planAt, halfWidthOf })
}

function candidatesOf(
  { candidates, where, of, contribution }: NoisyMaxQuery,
  dataset: Dataset,
): { readonly aggregate: Aggregate; readonly candidates: readonly CellLabel[] } {
  requireNoClamp(contribution)
  requirePeople(of, dataset)
  const kind = of === 'people' ? 'count-people' : 'count'
  const bounding = planBounding(contribution, dataset, 'column' in candidates ? 'groups' : 'one')
  const rows = planRows(where, dataset, bounding)
  if ('column' in candidates) {
    const { key, labels } = planGrouping(candidates.column, dataset, 'candidates.column')
    return { aggregate: { ...rows, groupBy: [key], statistics: [{ kind }] }, candidates: labels }
  }
  const names = candidates.predicates.map(({ name }) => name)
  const repeated = names.findIndex((name, position) => names.indexOf(name) !== position)
  if (repeated !== -1)
    throw refuseQuery(`candidates.predicates.${repeated}.name`, 'must not repeat an earlier name')
  const statistics = candidates.predicates.map(
    (candidate, position): Statistic => ({
      kind,
      where: planPredicate(candidate.where, dataset, `candidates.predicates.${position}.where`),
    }),
  )
  return { aggregate: { ...rows, groupBy: [], statistics }, candidates: names }
}

/** The best of declared candidates. */
export const noisyMax: PlanKind<NoisyMaxPlan, NoisyMaxExact, NoisyMaxRelease> = {
  readings: ({ aggregate }) => [{ method: 'aggregate', aggregate }],
  exact: (_, { aggregate }) => ({ kind: 'noisy-max', scores: entry(aggregate, 0).flat() }),
  release:
    ({ measurement }, { scores }) =>
    (noiseSource) =>
      inOneStep(() => ({ kind: 'noisy-max', selected: selectNoisyMax(measurement, scores, noiseSource) })),
  chosen: ({ measurement: { noise } }) => ({ noise }),
  rowsThatCount: ({ aggregate }) => aggregate.where,
  mostValues: () => 0,
  leastHalfWidthRows: ({ measurement }) => noisyMaxHalfWidth(measurement, DEFAULT_CONFIDENCE),
  replacementLoss: replacementLossInTwoSteps,
  noise({ dataset, measurement }) {
    const { noise, monotonic, scale, sensitivity, fractionBits, gap } = measurement
    return {
      mechanism: 'noisy-max',
      noise,
      neighbours: dataset.neighbours,
      monotonic,
      scale: numberFromRational(scale) / 2 ** fractionBits,
      sensitivity: Number(sensitivity),
      ...(gap ? { granularity: 2 ** -fractionBits } : {}),
    }
  },
  accuracy,
  reporter:
    (plan) =>
    ({ selected }) => ({ result: reportSelected(plan, selected) }),
}

function reportSelected(
  { candidates, measurement }: NoisyMaxPlan,
  selected: NoisyMaxRelease['selected'],
): Result {
  return {
    selected: selected.map(({ candidate, gap }) => ({
      candidate: entry(candidates, candidate),
      ...(gap === undefined ? {} : { gap: Number(gap) / 2 ** measurement.fractionBits }),
    })),
  }
}

function accuracy({ query, confidence, measurement }: NoisyMaxPlan): AccuracyReport {
  return {
    confidence,
    halfWidth: noisyMaxHalfWidth(measurement, confidence),
    expectedAbsoluteError: null,
    unit: query.of ?? 'rows',
    ...(measurement.gap ? { gapHalfWidth: noisyMaxGapAccuracy(measurement, confidence).halfWidth } : {}),
  }
}
