import type { Query } from '../../../../schemas/answers/query.ts'
import { decimalFromNumber } from '../../../privacy/decimal.ts'
import { defined } from '../../../privacy/defined.ts'
import {
  DEFAULT_CONFIDENCE,
  type EpsilonNano,
  epsilonNumber,
  NO_LOSS,
  type PrivacyLoss,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { rational } from '../../../privacy/rational.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import type { Dataset, GridColumn } from '../../dataset/dataset.ts'
import { valueOfIndex } from '../../dataset/grid-value.ts'
import { gridPoints } from '../../dataset/value-limits.ts'
import { exponentialRho } from '../../mechanisms/selection/exponential.ts'
import {
  calibrateQuantile,
  extremeRank,
  type minimumScore,
  percentileScore,
  type QuantileMeasurement,
  quantileHalfWidth,
  quantileSteps,
} from '../../mechanisms/selection/quantile.ts'
import { rhoTogether, splitEpsilon } from '../additive/measure.ts'
import type { Bounding, Summand, ValueCounting } from '../language/aggregate.ts'
import { clampedName } from '../language/clamp.ts'
import { contributionTo, planBounding, requireNoClamp } from '../language/contribution.ts'
import { planPersonValue } from '../language/person-value.ts'
import { planRows } from '../language/predicate.ts'
import { requireRankable, requireRankedPeople } from '../language/ranked-values.ts'
import type { IndexCounts } from '../language/reading.ts'
import { epsilonRange, knownHalfWidth, type Offer, planAtOffer } from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { type Counted, stabilityOfRank } from '../price/stability.ts'
import type { AccuracyReport, Result } from '../report-kinds.ts'
import type { PlanFacts, PlanKind } from './plan-kind.ts'

export type QuantileQuery = Extract<Query, { kind: 'median' | 'percentile' | 'minimum' | 'maximum' }>

/** Plan that selects grid points of one column by their ranks. */
export interface QuantilePlan extends PlanFacts {
  readonly kind: 'quantile'
  readonly query: QuantileQuery
  readonly counting: ValueCounting
  readonly column: GridColumn
  readonly measurements: readonly QuantileMeasurement[]
  /** The percentage of each; absent for a rank from an end. */
  readonly percentages?: readonly number[]
  /** True if the answer lists the quantiles with their percentages. */
  readonly listed: boolean
}

/** The ranks that a question asks for: percentages, in a list or alone; or an end. */
export type Ranks =
  | { readonly percentages: readonly number[]; readonly listed?: boolean }
  /** The least rank from an end that keeps all other ranks behind it at the confidence asked for. */
  | { readonly extreme: typeof minimumScore }

/** The number of rows or people with each value. */
export interface QuantileExact {
  readonly kind: 'quantile'
  readonly values: IndexCounts
}

/** Grid indexes, one per measurement. */
export interface QuantileRelease {
  readonly kind: 'quantile'
  readonly indexes: readonly bigint[]
}

/**
 * Plans quantiles of one column.
 * @throws Refusal `query-does-not-fit` for a column without an order, and as {@link percentageScore}.
 */
export function planQuantiles(
  query: QuantileQuery,
  ranks: Ranks,
  dataset: Dataset,
  offer: Offer,
): QuantilePlan {
  requireNoClamp(query.contribution, query.perPerson !== undefined)
  const bounding = planBounding(query.contribution, dataset, 'one')
  const { column, summand } = rankedValues(query, dataset, bounding)
  const { lowerIndex, upperIndex } = column
  const counting = { ...planRows(query.where, dataset, bounding), ...summand }
  const counted = { of: query.perPerson === undefined ? 'rows' : 'people', bounding } as const
  const scoresAt = scoring(ranks, counted, column, dataset, offer.confidence)
  const { percentages, listed = false } = 'percentages' in ranks ? ranks : {}
  const parts = percentages?.length ?? 1
  const planAt = (loss: PrivacyLoss): QuantilePlan => {
    const scores = scoresAt(loss.epsilonNano)
    const score = entry(scores, 0)
    // The sensitivity of every score grows by the same factor.
    const contribution = contributionTo(bounding, (bounding) => [
      stabilityOfRank(score, { ...counted, bounding }, dataset).sensitivity,
    ])
    const shares = splitEpsilon(loss.epsilonNano, parts)
    const measurements = scores.map((score, part) => {
      const { sensitivity } = stabilityOfRank(score, counted, dataset)
      return calibrateQuantile({ score, sensitivity, lowerIndex, upperIndex }, entry(shares, part))
    })
    return {
      kind: 'quantile',
      query,
      dataset,
      loss: { ...NO_LOSS, epsilonNano: loss.epsilonNano },
      rho: rhoTogether(measurements.map(exponentialRho)),
      confidence: offer.confidence,
      counting,
      column,
      measurements,
      listed,
      ...defined({ percentages }),
      ...contribution,
    }
  }
  const halfWidthOf = (plan: QuantilePlan) => knownHalfWidth(accuracy(plan))
  return planAtOffer(offer, epsilonRange(parts), { planAt, halfWidthOf })
}

/** Returns the scores of ranks at an epsilon, on which an extreme rank depends. */
function scoring(
  ranks: Ranks,
  counted: Counted,
  column: GridColumn,
  dataset: Dataset,
  confidence: number,
): (epsilonNano: EpsilonNano) => readonly QuantileMeasurement['score'][] {
  if ('extreme' in ranks) {
    const { extreme } = ranks
    const { sensitivity } = stabilityOfRank(extreme(1n), counted, dataset)
    return (epsilonNano) => [extreme(extremeRank(gridPoints(column), sensitivity, epsilonNano, confidence))]
  }
  const { percentages, listed = false } = ranks
  const scores = percentages.map((each, place) => percentageScore(each, listed ? `p.${place}` : 'p'))
  return () => scores
}

/** The values that a quantile ranks, of rows or of people, and their grid. */
function rankedValues(
  { column: name, perPerson: kind, contribution, clamp }: QuantileQuery,
  dataset: Dataset,
  bounding: Bounding,
): { readonly column: GridColumn; readonly summand: Summand } {
  if (kind === undefined) {
    const { column } = requireRankable(dataset, { column: name, clamp }, 'column')
    return { column, summand: clampedName(column) }
  }
  const { value, column } = planPersonValue(
    { kind, column: name, field: 'column', contribution, clamp },
    dataset,
    bounding,
  )
  requireRankedPeople(column, dataset)
  return { column, summand: { perPerson: value } }
}

/**
 * Returns the score of the quantile at or below which this percentage of the rows lies.
 * @throws Refusal `invalid-request` for a percentage out of range, or with more than 2 fractional digits.
 */
export function percentageScore(percentage: number, field: string): QuantileMeasurement['score'] {
  const hundredths = decimalFromNumber(percentage, 2)
  if (!(percentage > 0 && percentage < 100)) {
    const rule = 'must be between 0 and 100, exclusive; use minimum or maximum for the ends'
    throw refuseField('invalid-request', field, rule)
  }
  if (hundredths === undefined)
    throw refuseField('invalid-request', field, 'must have at most 2 fractional digits')
  const { numerator, denominator } = rational(hundredths, 10_000n)
  return percentileScore(numerator, denominator)
}

/** Quantiles of one column. */
export const quantile: PlanKind<QuantilePlan, QuantileExact, QuantileRelease> = {
  readings: ({ counting }) => [{ method: 'countIndexes', counting }],
  exact: (_, { countIndexes }) => ({ kind: 'quantile', values: entry(countIndexes, 0) }),
  release: ({ measurements }, { values }) =>
    function* (noiseSource) {
      const indexes: bigint[] = []
      for (const each of measurements) indexes.push(yield* quantileSteps(each, values, noiseSource))
      return { kind: 'quantile', indexes }
    },
  chosen: () => ({}),
  rowsThatCount: ({ counting }) => counting.where,
  mostValues: () => 0,
  leastHalfWidthRows: ({ measurements }) =>
    Math.min(...measurements.map((each) => quantileHalfWidth(each, DEFAULT_CONFIDENCE))),
  replacementLoss: replacementLossInTwoSteps,
  noise: (plan) => ({
    mechanism: 'exponential',
    neighbours: plan.dataset.neighbours,
    quantiles: plan.measurements.map(quantileNoise(plan)),
  }),
  accuracy,
  reporter:
    (plan) =>
    ({ indexes }) => ({ result: reportQuantiles(plan, indexes) }),
}

function accuracy({ query, confidence, measurements }: QuantilePlan): AccuracyReport {
  // Several are sorted, so that one with a large error can move another: the half-width holds for all together.
  const shared = 1 - (1 - confidence) / measurements.length
  const each = measurements.map((measurement) => quantileHalfWidth(measurement, shared))
  const unit = query.perPerson === undefined ? 'rows' : 'people'
  return { confidence, halfWidth: Math.max(...each), expectedAbsoluteError: null, unit }
}

function quantileNoise({ percentages }: QuantilePlan) {
  return (measurement: QuantileMeasurement, place: number) => ({
    ...(percentages === undefined
      ? // Counted from the upper end, the target of a maximum is negative.
        { rank: Math.abs(Number(measurement.score.target)) }
      : { p: entry(percentages, place) }),
    ...statedExponential(measurement),
  })
}

/** The noise of a quantile as it is stated. */
export function statedExponential({ exponent, sensitivity, loss }: QuantileMeasurement) {
  return {
    scale: Number(exponent.denominator) / Number(exponent.numerator),
    sensitivity: Number(sensitivity),
    epsilon: epsilonNumber(loss.epsilonNano),
  }
}

function reportQuantiles(
  { percentages = [], listed, column }: QuantilePlan,
  indexes: readonly bigint[],
): Result {
  if (!listed) return { value: valueOfIndex(column, entry(indexes, 0)) }
  // Percentiles increase with p. Sorting values that noise has put out of order moves none of them further from the
  // truth.
  const increasing = indexes.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const order = percentages.map((_, position) => position)
  order.sort((a, b) => entry(percentages, a) - entry(percentages, b))
  const percentiles = percentages.map((p, position) => ({
    p,
    value: valueOfIndex(column, entry(increasing, order.indexOf(position))),
  }))
  return { percentiles }
}
