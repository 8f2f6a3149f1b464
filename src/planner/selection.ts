import type { Dataset } from '../catalog/dataset.ts'
import { calibrateKeyCounts, calibrateKeyPresence } from '../mechanisms/key-selection.ts'
import { calibrateNoisyMax, noisyMaxRho } from '../mechanisms/noisy-max.ts'
import {
  calibrateQuantile,
  extremeRank,
  MAX_QUANTILE_POINTS,
  maximumScore,
  minimumScore,
  percentileScore,
  type QuantileMeasurement,
  quantileRho,
} from '../mechanisms/quantile.ts'
import { decimalFromNumber } from '../privacy/decimal.ts'
import { NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { rational } from '../privacy/rational.ts'
import { refuseField } from '../privacy/refusal.ts'
import { requireNumericColumn } from './additive.ts'
import type { Aggregate, Predicate, ValueCounting } from './aggregate.ts'
import { type CellLabel, planGrouping } from './grouping.ts'
import { rhoTogether, splitEpsilon } from './measure.ts'
import type {
  KeySelectionPlan,
  KeySelectionQuery,
  NoisyMaxPlan,
  NoisyMaxQuery,
  QuantilePlan,
  QuantileQuery,
} from './plan-kinds.ts'
import { LARGEST_ANSWER, type PlanLimits } from './plan-limits.ts'
import { planPredicate, requireColumn } from './predicate.ts'
import { stabilityOfCounts, stabilityOfRank, stabilityOfValueCounts } from './stability.ts'

/** @throws Refusal `query-does-not-fit` for candidates that the dataset does not have, or too many. */
export function planNoisyMax(
  query: NoisyMaxQuery,
  dataset: Dataset,
  { maxCells }: PlanLimits,
  confidence: number,
): (loss: PrivacyLoss) => NoisyMaxPlan {
  const { aggregate, candidates } = candidatesOf(query, dataset)
  if (candidates.length > maxCells) {
    const rule = `has ${candidates.length} candidates; at most ${maxCells} are compared`
    throw refuseField('query-does-not-fit', 'candidates', rule)
  }
  const { lInfinity, monotonic } = stabilityOfCounts(dataset)
  const setting = {
    candidates: candidates.length,
    k: query.k,
    gap: query.gap,
    noise: query.noise ?? (query.gap ? 'laplace' : 'exponential'),
    sensitivity: lInfinity,
    monotonic,
  } as const
  return (loss) => {
    // Refuses an epsilon that does not go round.
    splitEpsilon(loss.epsilonNano, query.k)
    const measurement = calibrateNoisyMax(setting, loss.epsilonNano)
    return {
      kind: 'noisy-max',
      query,
      dataset,
      loss: measurement.loss,
      rho: noisyMaxRho(measurement, setting.sensitivity, setting.monotonic),
      confidence,
      aggregate,
      measurement,
      candidates,
    }
  }
}

function candidatesOf(
  { candidates, where }: NoisyMaxQuery,
  dataset: Dataset,
): { readonly aggregate: Aggregate; readonly candidates: readonly CellLabel[] } {
  const rows = {
    ...(where === undefined ? {} : { where: planPredicate(where, dataset, 'where') }),
    bounding: { kind: 'one-row-each' },
  } as const
  if ('column' in candidates) {
    const { key, labels } = planGrouping(candidates.column, dataset, 'candidates.column')
    return { aggregate: { ...rows, groupBy: [key], statistics: [{ kind: 'count' }] }, candidates: labels }
  }
  const names = candidates.predicates.map(({ name }) => name)
  const repeated = names.findIndex((name, position) => names.indexOf(name) !== position)
  if (repeated !== -1)
    throw refuseField('query-does-not-fit', `candidates.predicates.${repeated}.name`, 'is given twice')
  const statistics = candidates.predicates.map((candidate, position) => ({
    kind: 'count' as const,
    where: planPredicate(candidate.where, dataset, `candidates.predicates.${position}.where`),
  }))
  return { aggregate: { ...rows, groupBy: [], statistics }, candidates: names }
}

/** @throws Refusal `query-does-not-fit` for a column that is not numeric, or a percentile that cannot be. */
export function planQuantiles(
  query: QuantileQuery,
  dataset: Dataset,
  confidence: number,
): (loss: PrivacyLoss) => QuantilePlan {
  const column = requireNumericColumn(dataset, query.column, 'column')
  const { lowerIndex, upperIndex } = column
  const points = upperIndex - lowerIndex + 1n
  if (points > MAX_QUANTILE_POINTS) {
    const rule = `has ${points} grid points between its bounds; a quantile is chosen among at most ${MAX_QUANTILE_POINTS}`
    throw refuseField('query-does-not-fit', 'column', rule)
  }
  const counting = countingOf(query.where, column.name, dataset)
  const scoresAt = scoresOf(query, dataset, points, confidence)
  return (loss) => {
    const scores = scoresAt(loss)
    const shares = splitEpsilon(loss.epsilonNano, scores.length)
    const measurements = scores.map((score, part) =>
      calibrateQuantile(
        { score, sensitivity: stabilityOfRank(score, dataset).lInfinity, lowerIndex, upperIndex },
        shares[part] ?? NO_LOSS.epsilonNano,
      ),
    )
    return {
      kind: 'quantile',
      query,
      dataset,
      loss: { ...NO_LOSS, epsilonNano: loss.epsilonNano },
      rho: rhoTogether(measurements.map((measurement) => quantileRho(measurement))),
      confidence,
      counting,
      column,
      measurements,
    }
  }
}

type RankScores = readonly QuantileMeasurement['score'][]

function scoresOf(
  query: QuantileQuery,
  dataset: Dataset,
  points: bigint,
  confidence: number,
): (loss: PrivacyLoss) => RankScores {
  switch (query.kind) {
    case 'median':
      return () => [percentileScore(1n, 2n)]
    case 'percentile': {
      const scores = percentagesOf(query).map((percentage, position) => {
        const hundredths = decimalFromNumber(percentage, 2)
        const field = Array.isArray(query.p) ? `p.${position}` : 'p'
        if (!(percentage > 0 && percentage < 100)) {
          const rule = 'must lie strictly between 0 and 100; for the ends ask for the minimum or the maximum'
          throw refuseField('invalid-request', field, rule)
        }
        if (hundredths === undefined)
          throw refuseField('invalid-request', field, 'must have at most 2 fractional digits')
        const { numerator, denominator } = rational(hundredths, 10_000n)
        return percentileScore(numerator, denominator)
      })
      return () => scores
    }
    case 'minimum':
    case 'maximum': {
      const scoreOf = query.kind === 'minimum' ? minimumScore : maximumScore
      const { lInfinity } = stabilityOfRank(scoreOf(1n), dataset)
      return ({ epsilonNano }) => [scoreOf(extremeRank(points, lInfinity, epsilonNano, confidence))]
    }
  }
}

/** The percentages that a query asks for. */
export function percentagesOf({ p }: Extract<QuantileQuery, { kind: 'percentile' }>): readonly number[] {
  return Array.isArray(p) ? p : [p]
}

/** @throws Refusal `query-does-not-fit` for a column whose values are declared, or numbers. */
export function planKeySelection(
  query: KeySelectionQuery,
  dataset: Dataset,
  { maxCells, maxCharacters = LARGEST_ANSWER }: PlanLimits,
  confidence: number,
): (loss: PrivacyLoss) => KeySelectionPlan {
  const column = requireColumn(dataset, query.column, 'column')
  if (column.type !== 'string') {
    const rule = `is for free text; ${column.name} is of type ${column.type}: use a histogram or noisyMax`
    throw refuseField('query-does-not-fit', 'column', rule)
  }
  const counting = countingOf(query.where, column.name, dataset)
  return ({ epsilonNano, deltaAtto }) => {
    const calibrate = query.counts ? calibrateKeyCounts : calibrateKeyPresence
    const measurement = calibrate(stabilityOfValueCounts(dataset), epsilonNano, deltaAtto)
    return {
      kind: 'key-selection',
      query,
      dataset,
      loss: measurement.loss,
      confidence,
      counting,
      measurement,
      maxKeys: maxCells,
      maxCharacters,
    }
  }
}

function countingOf(where: QuantileQuery['where'], column: string, dataset: Dataset): ValueCounting {
  const predicate: Predicate | undefined =
    where === undefined ? undefined : planPredicate(where, dataset, 'where')
  return {
    ...(predicate === undefined ? {} : { where: predicate }),
    column,
    bounding: { kind: 'one-row-each' },
  }
}
