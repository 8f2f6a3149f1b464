import type { Query } from '../../../schemas/query.ts'
import type { Dataset, GridColumn } from '../../catalog/dataset.ts'
import { shownValue } from '../../catalog/grid-value.ts'
import {
  extremeRank,
  maximumScore,
  minimumScore,
  percentileScore,
  type QuantileMeasurement,
  quantileMechanism,
} from '../../mechanisms/quantile.ts'
import { decimalFromNumber, numberFromDecimal } from '../../privacy/decimal.ts'
import { DEFAULT_CONFIDENCE, epsilonNumber, NO_LOSS, type PrivacyLoss } from '../../privacy/loss.ts'
import { rational } from '../../privacy/rational.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { epsilonRange, knownHalfWidth, type Offer, planAtOffer } from '../accuracy-first.ts'
import type { Bounding, Summand, ValueCounting } from '../aggregate.ts'
import {
  contributionReport,
  ONE_ROW_PER_PERSON,
  planBounding,
  quotient,
  requireNoClamp,
} from '../contribution.ts'
import { rhoTogether, splitEpsilon } from '../measure.ts'
import { planPersonValue } from '../person-value.ts'
import type { PlanFacts, PlanKind } from '../plan-kind.ts'
import { planRows } from '../predicate.ts'
import { replacementLossInTwoSteps } from '../price.ts'
import { requireRankable, requireRankedPeople } from '../ranked-values.ts'
import type { AccuracyReport, Result } from '../report-kinds.ts'
import { type Counted, stabilityOfRank } from '../stability.ts'

export type QuantileQuery = Extract<Query, { kind: 'median' | 'percentile' | 'minimum' | 'maximum' }>

/** Plan that selects grid points of one column by their ranks. */
export interface QuantilePlan extends PlanFacts {
  readonly kind: 'quantile'
  readonly query: QuantileQuery
  readonly counting: ValueCounting
  readonly column: GridColumn
  readonly measurements: readonly QuantileMeasurement[]
}

/** Grid indexes, one per measurement. */
export interface QuantileRelease {
  readonly kind: 'quantile'
  readonly indexes: readonly bigint[]
}

/** @throws Refusal `query-does-not-fit` for a column without an order, or an invalid percentile. */
export function planQuantiles(query: QuantileQuery, dataset: Dataset, offer: Offer): QuantilePlan {
  requireNoClamp(query.contribution, query.perPerson !== undefined)
  const bounding = planBounding(query.contribution, dataset, 'one')
  const { column, summand } = rankedValues(query, dataset, bounding)
  const { lowerIndex, upperIndex } = column
  const points = upperIndex - lowerIndex + 1n
  const counting = { ...planRows(query.where, dataset, bounding), ...summand }
  const counted = { of: query.perPerson === undefined ? 'rows' : 'people', bounding } as const
  const scoresAt = scoresOf(query, counted, dataset, points, offer.confidence)
  const planAt = (loss: PrivacyLoss): QuantilePlan => {
    const scores = scoresAt(loss)
    const shares = splitEpsilon(loss.epsilonNano, scores.length)
    const measurements = scores.map((score, part) => {
      const { sensitivity } = stabilityOfRank(score, counted, dataset)
      const share = { ...NO_LOSS, epsilonNano: shares[part] ?? NO_LOSS.epsilonNano }
      return quantileMechanism.calibrate({ score, sensitivity, lowerIndex, upperIndex }, share)
    })
    const rhos = measurements.map((measurement) =>
      quantileMechanism.zeroConcentratedMap(measurement, measurement),
    )
    return {
      kind: 'quantile',
      query,
      dataset,
      loss: { ...NO_LOSS, epsilonNano: loss.epsilonNano },
      rho: rhoTogether(rhos),
      confidence: offer.confidence,
      counting,
      column,
      measurements,
      ...contributionOf(scores, counted, dataset),
    }
  }
  const parts = query.kind === 'percentile' ? percentagesOf(query).length : 1
  const halfWidthOf = (plan: QuantilePlan) => knownHalfWidth(accuracy(plan))
  return planAtOffer(offer, epsilonRange(parts), { planAt, halfWidthOf })
}

/** The values that a quantile ranks, of rows or of people, and their grid. */
function rankedValues(
  { column: name, perPerson: kind, contribution }: QuantileQuery,
  dataset: Dataset,
  bounding: Bounding,
): { readonly column: GridColumn; readonly summand: Summand } {
  if (kind === undefined) {
    const { column } = requireRankable(dataset, name, 'column')
    return { column, summand: { column: name } }
  }
  const { value, column } = planPersonValue(
    { kind, column: name, field: 'column', contribution },
    dataset,
    bounding,
  )
  requireRankedPeople(column, dataset)
  return { column, summand: { perPerson: value } }
}

/** The contribution of each person. The sensitivity of every score grows by the same factor. */
function contributionOf(
  [score]: RankScores,
  counted: Counted,
  dataset: Dataset,
): Pick<PlanFacts, 'contribution'> {
  if (score === undefined) throw new RangeError('a quantile has a score')
  const sensitivityWith = (bounding: Bounding) =>
    stabilityOfRank(score, { ...counted, bounding }, dataset).sensitivity
  const contribution = contributionReport(counted.bounding, () =>
    quotient(sensitivityWith(counted.bounding), sensitivityWith(ONE_ROW_PER_PERSON)),
  )
  return contribution === undefined ? {} : { contribution }
}

type RankScores = readonly QuantileMeasurement['score'][]

function scoresOf(
  query: QuantileQuery,
  counted: Counted,
  dataset: Dataset,
  points: bigint,
  confidence: number,
): (loss: PrivacyLoss) => RankScores {
  switch (query.kind) {
    case 'median':
      return () => [percentileScore(1n, 2n)]
    case 'percentile': {
      const scores = percentagesOf(query).map((percentage, position) =>
        percentageScore(percentage, Array.isArray(query.p) ? `p.${position}` : 'p'),
      )
      return () => scores
    }
    case 'minimum':
    case 'maximum': {
      const scoreOf = query.kind === 'minimum' ? minimumScore : maximumScore
      const { sensitivity } = stabilityOfRank(scoreOf(1n), counted, dataset)
      return ({ epsilonNano }) => [scoreOf(extremeRank(points, sensitivity, epsilonNano, confidence))]
    }
  }
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

/** The percentages that a query asks for. */
export function percentagesOf({ p }: Extract<QuantileQuery, { kind: 'percentile' }>): readonly number[] {
  return Array.isArray(p) ? p : [p]
}

/** Quantiles of one column. */
export const quantile: PlanKind<QuantilePlan, QuantileRelease> = {
  rowsThatCount: ({ counting }) => counting.where,
  mostValues: () => 0,
  leastHalfWidthRows: ({ measurements }) =>
    Math.min(...measurements.map((each) => quantileMechanism.accuracy(each, DEFAULT_CONFIDENCE).halfWidth)),
  replacementLoss: replacementLossInTwoSteps,
  noise: (plan) => ({
    mechanism: 'exponential',
    neighbours: plan.dataset.neighbours,
    quantiles: plan.measurements.map(quantileNoise(plan)),
  }),
  accuracy,
  reporter(plan) {
    const accuracyOfAll = accuracy(plan)
    return ({ indexes }) => ({ result: reportQuantiles(plan, indexes), accuracy: accuracyOfAll })
  },
}

function accuracy({ query, confidence, measurements }: QuantilePlan): AccuracyReport {
  // Several are sorted, so that one with a large error can move another: the half-width holds for all together.
  const shared = 1 - (1 - confidence) / measurements.length
  const each = measurements.map((measurement) => quantileMechanism.accuracy(measurement, shared).halfWidth)
  const unit = query.perPerson === undefined ? 'rows' : 'people'
  return { confidence, halfWidth: Math.max(...each), expectedAbsoluteError: null, unit }
}

function quantileNoise({ query }: QuantilePlan) {
  const percentages = query.kind === 'percentile' ? percentagesOf(query) : [50]
  return (measurement: QuantilePlan['measurements'][number], position: number) => {
    const { exponent, sensitivity, loss, score } = measurement
    const p = percentages[position]
    return {
      ...(query.kind === 'minimum' || query.kind === 'maximum'
        ? // Counted from the upper end, the target of a maximum is negative.
          { rank: Math.abs(Number(score.target)) }
        : p === undefined
          ? {}
          : { p }),
      scale: Number(exponent.denominator) / Number(exponent.numerator),
      sensitivity: Number(sensitivity),
      epsilon: epsilonNumber(loss.epsilonNano),
    }
  }
}

function reportQuantiles({ query, column }: QuantilePlan, indexes: readonly bigint[]): Result {
  const values = indexes.map((index) => numberFromDecimal(index * column.stepNano, 9))
  if (query.kind !== 'percentile' || !Array.isArray(query.p)) {
    const [value] = values
    if (value === undefined) throw new RangeError('a quantile was not released')
    return { value: shownValue(column.type, value) }
  }
  // Percentiles increase with p. Sorting values that noise has put out of order moves none of them further from the
  // truth.
  const increasing = values.toSorted((a, b) => a - b)
  const percentages = percentagesOf(query)
  const order = percentages.map((_, position) => position)
  order.sort((a, b) => (percentages[a] ?? 0) - (percentages[b] ?? 0))
  const percentiles = percentages.map((p, position) => {
    const value = increasing[order.indexOf(position)]
    if (value === undefined) throw new RangeError('a quantile was not released')
    return { p, value: shownValue(column.type, value) }
  })
  return { percentiles }
}
