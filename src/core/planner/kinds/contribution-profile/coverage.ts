import { entry } from '../../../../privacy/must.ts'
import { type PersonUnit, plausibleRowsOf } from '../../../../privacy/neighbours.ts'
import type { Coverage, Interval } from '../../../dataset/dataset.ts'
import { halfWidthBound, noiseOf, tailBound } from '../../../mechanisms/noise/combined-noise.ts'
import type { Noise } from '../../../mechanisms/noise/weighted-noise.ts'
import type { AdditivePlan } from '../../additive/shape.ts'
import { type Band, bandsOf } from './bands.ts'

/*
 * What follows from a profile of all people about the rows that `maxRows` leaves out. Post-processing of one release.
 *
 * The people of a band have between its first and its last number of rows, so that a sum over people lies between two
 * linear combinations of the true counts. Each is the same combination of the noisy counts up to noise, whose tails are
 * bounded by `combined-noise.ts`. One end of an interval fails with at most half of what the confidence leaves.
 * Rows beyond `plausibleRows` of a person do not count: how many there are is unknown.
 */

/** The coverage, without the id of its release. */
export type MeasuredCoverage = Omit<Coverage, 'release'>

/**
 * Computes the coverage of a dataset.
 * @param plan that of the profile of all rows
 * @param counts the noisy number of people in each band
 */
export function coverageOf(
  { measurements, confidence }: Pick<AdditivePlan, 'measurements' | 'confidence'>,
  counts: readonly number[],
  unit: PersonUnit,
): MeasuredCoverage {
  const profile = profileOf({ measurements, confidence }, counts, unit)
  return {
    confidence,
    shareRead: shareRead(profile),
    rowsLeftOut: sumOverPeople(profile, ({ rows, read }, end) => rows[end] - read[end]),
    people: sumOverPeople(profile, () => 1),
    peopleBeyond: sumOverPeople(profile, ({ rows, read }) => (rows.most > read.most ? 1 : 0)),
    implausiblePeople: sumOverPeople(profile, ({ isImplausible }) => (isImplausible ? 1 : 0)),
  }
}

/** Estimates the rows beyond a number of rows of each person, up to `plausibleRows`; as {@link coverageOf}. */
export function leftOutBeyond(
  most: number,
  plan: Pick<AdditivePlan, 'measurements' | 'confidence'>,
  counts: readonly number[],
  unit: PersonUnit,
): Interval {
  return sumOverPeople(profileOf(plan, counts, unit), ({ rows }, end) => Math.max(0, rows[end] - most))
}

function profileOf(
  { measurements, confidence }: Pick<AdditivePlan, 'measurements' | 'confidence'>,
  counts: readonly number[],
  unit: PersonUnit,
): Profile {
  return {
    bands: bandsOf(unit).map((band, place) => ({ ...rowsOf(band, unit), count: entry(counts, place) })),
    noise: noiseOf(entry(measurements, 0), 1),
    confidence,
  }
}

/** A number of rows of one person: the least and the most that a person of the band can have. */
interface Range {
  readonly least: number
  readonly most: number
}

interface CountedBand {
  /** Up to `plausibleRows`. */
  readonly rows: Range
  /** Those of them that queries read. */
  readonly read: Range
  readonly isImplausible: boolean
  /** The noisy number of people. */
  readonly count: number
}

interface Profile {
  readonly bands: readonly CountedBand[]
  readonly noise: Noise
  readonly confidence: number
}

function rowsOf({ lower, upper }: Band, unit: PersonUnit): Omit<CountedBand, 'count'> {
  const plausible = plausibleRowsOf(unit)
  const range = (limit: number) => ({
    least: Math.min(lower, limit),
    most: Math.min(upper ?? plausible, limit),
  })
  return { rows: range(plausible), read: range(unit.maxRows), isImplausible: upper === undefined }
}

/** A sum over people that is never negative. */
function sumOverPeople(
  profile: Profile,
  amountOf: (band: CountedBand, end: keyof Range) => number,
): Interval {
  const [least, most] = [
    combined(profile, (band) => amountOf(band, 'least')),
    combined(profile, (band) => amountOf(band, 'most')),
  ]
  // Noise is symmetric, so that one end fails half as often as both.
  const halfWidth = halfWidthBound(1 - profile.confidence)
  return {
    value: Math.max(0, Math.round((least.sum + most.sum) / 2)),
    lower: Math.max(0, Math.ceil(least.sum - halfWidth(least.weights))),
    upper: Math.max(0, Math.floor(most.sum + halfWidth(most.weights))),
  }
}

/** Shares are tested in steps of this. */
const SHARE_STEPS = 1_000

/**
 * The share of the rows that queries read. A share s is too low if (1 - s) times the rows that are read exceeds s times the
 * others, which is a sum over people; so it is tested by the bounds of that sum, as Fieller 1954 does for the quotient of
 * two means. The interval ends at the first share, from each side, that is not excluded.
 */
function shareRead(profile: Profile): Interval {
  const excess = (share: number) => (band: CountedBand, end: keyof Range) =>
    (1 - share) * band.read[end] - share * (band.rows[end] - band.read[end])
  const isTooLow = (share: number) => {
    const ends = excess(share)
    return exceedsNoise(profile, (band) => Math.min(ends(band, 'least'), ends(band, 'most')))
  }
  const isTooHigh = (share: number) => {
    const ends = excess(share)
    return exceedsNoise(profile, (band) => -Math.max(ends(band, 'least'), ends(band, 'most')))
  }
  let [lower, upper] = [0, SHARE_STEPS]
  while (lower < SHARE_STEPS && isTooLow(lower / SHARE_STEPS)) lower += 1
  while (upper > lower && isTooHigh(upper / SHARE_STEPS)) upper -= 1
  const middle = (amountOf: (band: CountedBand) => Range) =>
    combined(profile, (band) => (amountOf(band).least + amountOf(band).most) / 2).sum
  const estimate = Math.round((SHARE_STEPS * middle(({ read }) => read)) / middle(({ rows }) => rows))
  // Few people and much noise can make the estimate anything; it lies within the interval.
  const value = Number.isFinite(estimate) ? Math.min(upper, Math.max(lower, estimate)) : upper
  return { value: value / SHARE_STEPS, lower: lower / SHARE_STEPS, upper: upper / SHARE_STEPS }
}

/** True if noise makes a combination of counts this large with at most half of the probability that the confidence leaves. */
function exceedsNoise({ confidence, ...profile }: Profile, weightOf: (band: CountedBand) => number): boolean {
  const { sum, weights } = combined(profile, weightOf)
  return sum > 0 && tailBound(weights, sum) <= (1 - confidence) / 2
}

/** A linear combination of the noisy counts. */
function combined(
  { bands, noise }: Pick<Profile, 'bands' | 'noise'>,
  weightOf: (band: CountedBand) => number,
) {
  const weights = bands.map((band) => ({ noise, weight: weightOf(band) }))
  return {
    sum: bands.reduce((sum, { count }, place) => sum + entry(weights, place).weight * count, 0),
    weights,
  }
}
