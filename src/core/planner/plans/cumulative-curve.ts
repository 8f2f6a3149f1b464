import { entry } from '../../../privacy/must.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { GridValue } from '../../dataset/grid-value.ts'
import type { Measurement, NoiseShape } from '../../mechanisms/measurement.ts'
import { halfWidthBound, noiseOf } from '../../mechanisms/noise/combined-noise.ts'
import { deviationOfMany, halfWidthOfMany } from '../../mechanisms/noise/many-noises.ts'
import type { CountedNoise, Noise } from '../../mechanisms/noise/weighted-noise.ts'
import { nodeFactors, type WeightedPrefix } from '../../workloads/ordered.ts'
import type { Bin } from '../language/bin-text.ts'

/* Errors of cumulative counts, and of what follows from them. */

/** The noise of the number of all rows and of the differences of each level, in rows. */
export function noisesOf(measurements: readonly Measurement[]): readonly Noise[] {
  return measurements.map((measurement) => noiseOf(measurement, 1))
}

/** The error of a linear combination of cumulative counts, from the noise of each level. */
export function errorOf(
  combination: readonly WeightedPrefix[],
  noises: readonly Noise[],
): readonly CountedNoise[] {
  return nodeFactors(combination, noises.length - 1).flatMap((factors, level) =>
    factors.map((weight) => ({ noise: entry(noises, level), weight, count: 1 })),
  )
}

/** Few noises have a tail in closed form, which takes far less time than the inversion of their transform. */
const FEW_NOISES = 3

/** A number that the absolute value of an error exceeds with a probability of at most `alpha`. */
export function halfWidthOf(error: readonly CountedNoise[], alpha: number): number {
  return error.length <= FEW_NOISES ? halfWidthBound(alpha)(error) : halfWidthOfMany(error, alpha)
}

/** Digits of noise at which half-widths are computed once, far more than a double has of the noise that is chosen. */
const UNITS = 2 ** 40

/** Half-widths of the last curves: a preview, its question and repeats need the same ones. */
const known = new Map<string, readonly number[]>()
const MOST_KNOWN = 16

/**
 * Prepares the errors of the count up to the end of each cell, at any price. Half-widths are computed once, for noise that is exactly in proportion to `scales`;
 * those of noise that is nowhere more than `times` as wide are at most `times` as wide.
 */
export function curveErrors(cells: number, shape: NoiseShape, scales: readonly number[], confidence: number) {
  const ideal = scales.map(
    (scale): Noise =>
      shape === 'gaussian'
        ? { kind: 'normal', unit: scale / UNITS, sigma: scale }
        : { kind: 'laplace', unit: scale / UNITS, scaleUnits: UNITS },
  )
  const prefixes = Array.from({ length: cells }, (_, cell) => [{ prefix: cell + 1, factor: 1 }])
  const name = JSON.stringify([shape, cells, scales, confidence])
  const once =
    known.get(name) ?? prefixes.map((prefix) => halfWidthOf(errorOf(prefix, ideal), 1 - confidence))
  // The newest is the last.
  known.delete(name)
  known.set(name, once)
  for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest)
  return (noises: readonly Noise[]) => {
    const times = Math.max(...noises.map((noise, level) => scaleOf(noise) / entry(scales, level)))
    return {
      halfWidths: once.map((halfWidth) => halfWidth * times * (1 + 1e-9)),
      deviations: prefixes.map((prefix) => deviationOfMany(errorOf(prefix, noises))),
    }
  }
}

function scaleOf(noise: Noise): number {
  return noise.kind === 'normal' ? noise.sigma : noise.scaleUnits * noise.unit
}

/** Cumulative counts as an answer states them, and the noise that they were made from. */
export interface Curve {
  /** For each cell, the span that its count is about, which begins at the first cell. */
  readonly spans: readonly Bin<GridValue>[]
  readonly counts: readonly number[]
  readonly noises: readonly Noise[]
  readonly confidence: number
}

/** Half-widths of one quantile that are computed closely; others are wider bounds from the fourth moment. */
const MOST_CLOSE = 40

/**
 * Reads a quantile from a curve, with the interval in which the cell of the true quantile lies at the confidence of the curve:
 * where the count less p per cent of all rows, g(j), changes its sign. With one fixed place j, |g - its true value| is at most
 * h(j) with the stated confidence, and each sign of the error has half of the rest. The interval takes all places from the first
 * with g >= -h through the last with g <= h, so that it misses either end of the true cell with at most half of the rest.
 * Proof: src/core/workloads/workloads.md, "Quantiles of a curve".
 */
export function quantileOf({ spans, counts, noises, confidence }: Curve, p: number) {
  const cells = counts.length
  const [all, part, alpha] = [entry(counts, cells - 1), p / 100, 1 - confidence]
  const differenceAt = (place: number) => (place === 0 ? 0 : entry(counts, place - 1)) - part * all
  let computed = 0
  const widest = momentBound(
    noises.flatMap((noise) => [one(noise), one(noise)]),
    alpha,
  )
  const isWithin = (place: number, sign: 1 | -1) => {
    const beyond = sign * differenceAt(place)
    if (beyond <= 0 || beyond > widest) return beyond <= 0
    const error = errorOf(
      [
        { prefix: place, factor: 1 },
        { prefix: cells, factor: -part },
      ],
      noises,
    )
    if (beyond > momentBound(error, alpha)) return false
    computed += 1
    return computed > MOST_CLOSE || beyond <= halfWidthOf(error, alpha)
  }
  let first = 0
  while (first < cells && !isWithin(first, -1)) first += 1
  let last = cells
  while (last > first && !isWithin(last, 1)) last -= 1
  const edgeAt = (place: number) => (place === 0 ? entry(spans, 0).lower : entry(spans, place - 1).upper)
  const [lower, upper] = [Math.max(0, first - 1), Math.min(cells, last + 1)]
  return {
    p,
    value: edgeAt(crossing(cells, differenceAt)),
    interval: { lower: edgeAt(isNamed(spans) ? lower + 1 : lower), upper: edgeAt(upper) },
  }
}

/** True for cells that are named by a value or a period, with which they begin; a bin begins where the one before ends. */
function isNamed([first]: Curve['spans']): boolean {
  return first !== undefined && first.lower === first.upper
}

/** Consecutive cells: the edges of bins, or the names of the first and the last cell. */
export interface Range {
  readonly lower: GridValue
  readonly upper: GridValue
}

/**
 * Finds the cells of a range: the number of cells before it, and of those through its end.
 * @throws Refusal `query-does-not-fit` for a range that does not begin and end where cells do.
 */
export function cellsOfRange(
  { lower, upper }: Range,
  spans: Curve['spans'],
  field: string,
): readonly [before: number, through: number] {
  const ends = spans.map((span) => span.upper)
  const starts = isNamed(spans) ? ends : [...spans.slice(0, 1).map((span) => span.lower), ...ends]
  const placeOf = (value: GridValue, among: readonly GridValue[], name: string) => {
    const place = among.indexOf(value)
    if (place !== -1) return place
    const [first, last] = [among[0], among.at(-1)].map((each) => JSON.stringify(each))
    const what = isNamed(spans) ? 'a cell' : 'an edge'
    throw refuseQuery(
      `${field}.${name}`,
      `must be ${what} of the column, written as in the answer, from ${first} to ${last}`,
    )
  }
  const [before, through] = [placeOf(lower, starts, 'lower'), placeOf(upper, ends, 'upper') + 1]
  if (before >= through)
    throw refuseQuery(`${field}.upper`, 'must not be before lower, and a range has at least one cell')
  return [before, through]
}

/**
 * Counts the rows in a range, with a half-width at the confidence of the curve: the difference of two cumulative counts, in
 * which most nodes cancel.
 */
export function rangeCountOf({ spans, counts, noises, confidence }: Curve, range: Range) {
  const [before, through] = cellsOfRange(range, spans, 'ranges')
  const value = entry(counts, through - 1) - (before === 0 ? 0 : entry(counts, before - 1))
  const error = errorOf(
    [
      { prefix: before, factor: -1 },
      { prefix: through, factor: 1 },
    ],
    noises,
  )
  const halfWidth = halfWidthOf(error, 1 - confidence)
  return {
    range: { ...entry(spans, through - 1), lower: range.lower },
    value,
    halfWidth,
    interval: { lower: Math.max(0, value - halfWidth), upper: Math.max(0, value + halfWidth) },
  }
}

/**
 * A number that a combination exceeds with a probability of at most alpha, by Markov's inequality for its fourth power. With one noise of
 * every kind that enters a quantile, and larger factors, it bounds all places.
 */
function momentBound(combination: readonly CountedNoise[], alpha: number): number {
  const excess = combination.reduce(
    (sum, { noise, weight }) => sum + (noise.kind === 'normal' ? 0 : 12 * (weight * scaleOf(noise)) ** 4),
    0,
  )
  return ((3 * deviationOfMany(combination) ** 4 + excess) / alpha) ** 0.25 * (1 + 1e-9)
}

function one(noise: Noise): CountedNoise {
  return { noise, weight: 1, count: 1 }
}

/** The middle between the first place at which a difference is not negative and the last at which it is. */
function crossing(cells: number, differenceAt: (place: number) => number): number {
  let [first, last] = [cells, 0]
  for (let place = 1; place <= cells; place += 1) {
    const isBelow = differenceAt(place) < 0
    if (isBelow) last = place
    else first = Math.min(first, place)
  }
  return Math.min(cells, Math.max(1, Math.round((first + last + 1) / 2)))
}
