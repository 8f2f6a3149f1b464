import { keySelectionAccuracy } from '../mechanisms/key-selection.ts'
import { noisyMaxAccuracy, noisyMaxGapAccuracy } from '../mechanisms/noisy-max.ts'
import { quantileAccuracy } from '../mechanisms/quantile.ts'
import { numberFromDecimal } from '../privacy/decimal.ts'
import { epsilonNumber } from '../privacy/loss.ts'
import { numberFromRational } from '../privacy/rational.ts'
import type { AdditivePlan, KeySelectionPlan, NoisyMaxPlan, Plan, QuantilePlan } from './plan-kinds.ts'
import type { AccuracyReport, NoiseReport, Released, Result } from './report-kinds.ts'
import { percentagesOf } from './selection.ts'

type SelectionPlan = Exclude<Plan, AdditivePlan>

/** How a selection is made noisy; public before the query is paid for. */
export function noiseOfSelection(plan: SelectionPlan): NoiseReport {
  const { neighbours } = plan.dataset
  switch (plan.kind) {
    case 'noisy-max': {
      const { noise, monotonic, scale, sensitivity, fractionBits, gap } = plan.measurement
      return {
        mechanism: 'noisy-max',
        noise,
        neighbours,
        monotonic,
        scale: numberFromRational(scale) / 2 ** fractionBits,
        sensitivity: Number(sensitivity),
        ...(gap ? { granularity: 2 ** -fractionBits } : {}),
      }
    }
    case 'quantile':
      return { mechanism: 'exponential', neighbours, quantiles: plan.measurements.map(quantileNoise(plan)) }
    case 'key-selection': {
      const { measurement } = plan
      if (measurement.mechanism === 'near-truncated-geometric')
        return { mechanism: 'near-truncated-geometric', neighbours }
      return {
        mechanism: 'thresholded-geometric',
        neighbours,
        scale: numberFromRational(measurement.scale),
        threshold: Number(measurement.threshold),
      }
    }
  }
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

/** How far a selection can be from the best one, in rows, computed without data. */
export function accuracyOfSelection(plan: SelectionPlan): AccuracyReport {
  const { confidence } = plan
  const inRows = { confidence, expectedAbsoluteError: null, unit: 'rows' } as const
  switch (plan.kind) {
    case 'noisy-max':
      return {
        ...inRows,
        halfWidth: noisyMaxAccuracy(plan.measurement, confidence).halfWidth,
        ...(plan.measurement.gap
          ? { gapHalfWidth: noisyMaxGapAccuracy(plan.measurement, confidence).halfWidth }
          : {}),
      }
    case 'quantile': {
      // Several are put in order, so that one which is far off can move another: all of them hold together.
      const shared = 1 - (1 - confidence) / plan.measurements.length
      const each = plan.measurements.map((measurement) => quantileAccuracy(measurement, shared).halfWidth)
      return { ...inRows, halfWidth: Math.max(...each) }
    }
    case 'key-selection': {
      const { rowsForConfidence, count } = keySelectionAccuracy(plan.measurement, confidence)
      return {
        ...inRows,
        halfWidth: count?.halfWidth ?? null,
        expectedAbsoluteError: count?.expectedAbsoluteError ?? null,
        rowsToAppear: rowsForConfidence,
      }
    }
  }
}

/** A selection as people read it. */
export function reportSelection(plan: Plan, released: Released): Result {
  if (plan.kind === 'noisy-max' && released.kind === 'noisy-max')
    return reportNoisyMax(plan, released.selected)
  if (plan.kind === 'quantile' && released.kind === 'quantile') return reportQuantiles(plan, released.indexes)
  if (plan.kind === 'key-selection' && released.kind === 'key-selection')
    return reportKeys(plan, released.keys)
  throw new RangeError('a release is that of its plan')
}

function reportNoisyMax(
  { candidates, measurement }: NoisyMaxPlan,
  selected: Extract<Released, { kind: 'noisy-max' }>['selected'],
): Result {
  return {
    selected: selected.map(({ candidate, gap }) => {
      const label = candidates[candidate]
      if (label === undefined) throw new RangeError('a candidate was selected that there is not')
      return {
        candidate: label,
        ...(gap === undefined ? {} : { gap: Number(gap) / 2 ** measurement.fractionBits }),
      }
    }),
  }
}

function reportQuantiles({ query, column }: QuantilePlan, indexes: readonly bigint[]): Result {
  const values = indexes.map((index) => numberFromDecimal(index * column.stepNano, 9))
  if (query.kind !== 'percentile' || !Array.isArray(query.p)) {
    const [value] = values
    if (value === undefined) throw new RangeError('a quantile was not released')
    return { value }
  }
  // A higher percentile is never lower: exchanging those that noise has put the wrong way round brings them no further
  // from the truth.
  const increasing = values.toSorted((a, b) => a - b)
  const percentages = percentagesOf(query)
  const order = percentages.map((_, position) => position)
  order.sort((a, b) => (percentages[a] ?? 0) - (percentages[b] ?? 0))
  const percentiles = percentages.map((p, position) => {
    const value = increasing[order.indexOf(position)]
    if (value === undefined) throw new RangeError('a quantile was not released')
    return { p, value }
  })
  return { percentiles }
}

/** In an order that follows from what is released: by noisy count, or by the keys themselves. */
function reportKeys(
  { maxKeys, maxCharacters }: KeySelectionPlan,
  keys: Extract<Released, { kind: 'key-selection' }>['keys'],
): Result {
  const ordered = keys.toSorted((a, b) => {
    const [first, second] = [a.noisyCount ?? 0n, b.noisyCount ?? 0n]
    if (first !== second) return first > second ? -1 : 1
    return a.key < b.key ? -1 : 1
  })
  const shown: { readonly key: string; readonly count?: number }[] = []
  let room = maxCharacters
  for (const { key, noisyCount } of ordered) {
    const entry = { key, ...(noisyCount === undefined ? {} : { count: Number(noisyCount) }) }
    const length = JSON.stringify(entry).length + 1
    // One key that is too long hides itself, and not those after it.
    if (shown.length === maxKeys || length > room) continue
    room -= length
    shown.push(entry)
  }
  return { keys: shown, truncated: shown.length < ordered.length }
}
