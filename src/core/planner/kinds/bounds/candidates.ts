import { entry } from '../../../../privacy/must.ts'
import type { GridColumn } from '../../../dataset/dataset.ts'
import { type GridValue, unitsOfValue, valueOfIndex } from '../../../dataset/grid-value.ts'
import { halfWidthBound, laplaceOf } from '../../../mechanisms/noise/combined-noise.ts'
import type { Result } from '../../report-kinds.ts'
import { type CountedBand, cutBy } from './clamping-error.ts'

/*
 * Candidate clamps with the noise of a sum and of a mean and what clamping cuts off. Post-processing of a paid histogram.
 */

/** A clamp between two edges of bands, and how far one person then moves a sum, in the unit of the column. */
export interface Candidate {
  readonly lower: bigint
  readonly upper: bigint
  /** Absent for dates and timestamps, which have no sum. */
  readonly ofSum?: number
  /** Of the sum about the middle. */
  readonly ofMean: number
}

/** What the answer of a `bounds` question is made from, besides its noisy counts. */
export interface ClampFacts {
  readonly column: GridColumn
  readonly edges: readonly bigint[]
  readonly candidates: readonly Candidate[]
  /** How far one person moves the number of rows that a mean is divided by; 0 if that is public. */
  readonly ofRows: number
  /** Epsilon of the sum or mean that is to be asked next. */
  readonly nextEpsilon: number
}

/** The clamps of an answer. */
type StatedClamps = NonNullable<Extract<Result, { cells: unknown }>['clamps']>
type StatedCandidate = StatedClamps['candidates'][number]

/**
 * Weighs the candidates.
 * @param counts the noisy number of rows in each band
 * @param seenAbove a band stands out from the noise if its noisy number exceeds this
 */
export function clampsOfBands(
  facts: ClampFacts,
  counts: readonly number[],
  seenAbove: number,
  confidence: number,
): StatedClamps {
  const { nextEpsilon, candidates } = facts
  const bands = bandsOf(facts, counts, seenAbove)
  const weighed = bands.every(({ rows }) => rows === 0)
    ? []
    : candidates.map((candidate) => weigh(facts, bands, candidate, confidence))
  return withRecommendation(
    nextEpsilon,
    weighed.filter((each) => !weighed.some((other) => dominates(other, each))),
  )
}

function bandsOf(
  { column, edges }: ClampFacts,
  counts: readonly number[],
  seenAbove: number,
): readonly CountedBand[] {
  const units = (index: bigint) => unitsOfValue(valueOfIndex(column, index))
  return counts.map((count, band) => {
    const [lower, next] = [entry(edges, band), entry(edges, band + 1)]
    const step = units(lower + 1n) - units(lower)
    return {
      lower: units(lower),
      // The last band ends at the upper bound, which belongs to it.
      upper: band === counts.length - 1 ? units(next - 1n) : units(next),
      middle: units(lower) + (Number(next - lower - 1n) * step) / 2,
      rows: count > seenAbove ? count : 0,
    }
  })
}

function weigh(
  { column, nextEpsilon, ofRows }: ClampFacts,
  bands: readonly CountedBand[],
  { lower, upper, ofSum, ofMean }: Candidate,
  confidence: number,
): StatedCandidate {
  const [least, most] = [lower, upper].map((index) => valueOfIndex(column, index)) as [GridValue, GridValue]
  const { amount, shareBeyond, rows } = cutBy(bands, unitsOfValue(least), unitsOfValue(most))
  const halfWidthAt = halfWidthBound(1 - confidence)
  const laplace = (sensitivity: number, parts: number) => laplaceOf((sensitivity * parts) / nextEpsilon)
  // With m at most half the range from the middle, an error e of the count moves the mean as half the range times e does the sum.
  const halfRange = (unitsOfValue(most) - unitsOfValue(least)) / 2
  const ofCount = ofRows === 0 ? [] : [laplace(ofRows * halfRange, 2)]
  const meanNoise = halfWidthAt([laplace(ofMean, ofRows === 0 ? 1 : 2), ...ofCount]) / rows
  return {
    lower: least,
    upper: most,
    shareBeyond,
    ...(ofSum === undefined ? {} : { sum: errorOf(halfWidthAt([laplace(ofSum, 1)]), amount) }),
    mean: errorOf(meanNoise, amount / rows),
  }
}

/** Estimates are stated with as many digits as they are worth. */
const SIGNIFICANT_DIGITS = 6

function errorOf(noise: number, bias: number) {
  const rounded = (value: number) => Number(value.toPrecision(SIGNIFICANT_DIGITS))
  return { noise: rounded(noise), bias: rounded(bias), total: rounded(noise + bias) }
}

/** True if a clamp has no more noise and cuts off no more than another, and less of one of them. */
function dominates(one: StatedCandidate, other: StatedCandidate): boolean {
  const pairs = [
    [one.mean.noise, other.mean.noise],
    [one.mean.bias, other.mean.bias],
    [one.sum?.noise ?? 0, other.sum?.noise ?? 0],
  ] as const
  return pairs.every(([mine, its]) => mine <= its) && pairs.some(([mine, its]) => mine < its)
}

function withRecommendation(nextEpsilon: number, candidates: readonly StatedCandidate[]): StatedClamps {
  const least = (errorIn: (candidate: StatedCandidate) => number | undefined) => {
    const [first, ...others] = candidates.filter((each) => errorIn(each) !== undefined)
    if (first === undefined) return undefined
    const error = (each: StatedCandidate) => errorIn(each) ?? Number.POSITIVE_INFINITY
    const { lower, upper } = others.reduce((best, next) => (error(next) < error(best) ? next : best), first)
    return { lower, upper }
  }
  const [sum, mean] = [least((each) => each.sum?.total), least((each) => each.mean.total)]
  const recommended = { ...(sum === undefined ? {} : { sum }), ...(mean === undefined ? {} : { mean }) }
  return { nextEpsilon, candidates: [...candidates], recommended }
}

/** The same clamps for a sum or mean at another epsilon: its noise is as many times smaller as the epsilon is larger. */
export function clampsAt(clamps: StatedClamps, nextEpsilon: number): StatedClamps {
  const factor = clamps.nextEpsilon / nextEpsilon
  if (factor === 1) return clamps
  const scaledError = ({ noise, bias }: StatedCandidate['mean']) => errorOf(noise * factor, bias)
  const candidates = clamps.candidates.map(({ sum, mean, ...candidate }) => ({
    ...candidate,
    ...(sum === undefined ? {} : { sum: scaledError(sum) }),
    mean: scaledError(mean),
  }))
  return withRecommendation(nextEpsilon, candidates)
}
