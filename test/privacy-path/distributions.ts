import type { Measurement } from '../../src/core/mechanisms/measurement.ts'
import {
  type KeySelectionMeasurement,
  keepProbability,
} from '../../src/core/mechanisms/selection/key-selection.ts'
import type { NoisyMaxMeasurement } from '../../src/core/mechanisms/selection/noisy-max.ts'
import type { QuantileMeasurement } from '../../src/core/mechanisms/selection/quantile.ts'
import type { IndexCounts } from '../../src/core/planner/language/reading.ts'
import { type Plan, planKindOf } from '../../src/core/planner/plans/plan-kinds.ts'
import { haarNodes } from '../../src/core/workloads/ordered.ts'
import {
  deltaNumber,
  epsilonNano,
  epsilonNumber,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
} from '../../src/privacy/loss.ts'
import { numberFromRational, type Rational } from '../../src/privacy/rational.ts'
import { keyCountMass } from '../core/mechanisms/selection/masses.ts'
import {
  aggregateRows,
  countCellIndexesOf,
  countIndexesOf,
  countTextsOf,
  type StoredRow,
} from '../engines/reference-engine.ts'
import { atLeast, atMost, massAt, type Piecewise, sumOverIntegers } from './integer-sums.ts'
import { indexesOf, personValuesOf } from './tiny-datasets.ts'

/*
 * The distribution of a plan's release, from the data that it reads and from the noise that its measurements publish
 * (scale, sigma, threshold, exponent), and the share of a price that two such distributions spend. It uses neither the
 * claimed sensitivities nor the losses of single measurements.
 */

/** Data that a plan reads. Its release depends on nothing else. */
export type Observed =
  | { readonly kind: 'integers'; readonly integers: readonly (readonly bigint[])[] }
  /** Number of rows with each grid index that occurs. */
  | { readonly kind: 'indexes'; readonly rowsAt: ReadonlyMap<bigint, number> }
  /** The integers of sums and counts, and of each quantile the number of rows with each grid index in each cell. */
  | {
      readonly kind: 'groups'
      readonly integers: readonly (readonly bigint[])[]
      readonly rowsAt: readonly (readonly ReadonlyMap<bigint, number>[])[]
    }
  /** Number of rows with each text that occurs. */
  | { readonly kind: 'texts'; readonly rowsWith: ReadonlyMap<string, number> }

/** Reads the data that a plan needs from these rows, by definition. */
export function observe(plan: Plan, rows: readonly StoredRow[]): Observed {
  switch (plan.kind) {
    case 'additive':
    case 'noisy-max':
      return { kind: 'integers', integers: aggregateRows(plan.aggregate, rows) }
    case 'cumulative':
      return { kind: 'integers', integers: haarNodes(aggregateRows(plan.aggregate, rows)[0] ?? []) }
    case 'quantile':
      return { kind: 'indexes', rowsAt: rowsAtIndexes(countIndexesOf(plan.counting, rows)) }
    case 'groups':
      return {
        kind: 'groups',
        integers: plan.sums === undefined ? [] : aggregateRows(plan.sums.aggregate, rows),
        rowsAt: plan.quantiles.map(({ counting }) => countCellIndexesOf(counting, rows).map(rowsAtIndexes)),
      }
    case 'marginals': {
      const read = plan.scans.map(({ aggregate }) => aggregateRows(aggregate, rows))
      const none = { countIndexes: [], countIndexesInCells: [], countTexts: [] }
      return {
        kind: 'integers',
        integers: planKindOf(plan).exact(plan, { aggregate: read, ...none }).integers,
      }
    }
    case 'key-selection': {
      const { texts, counts } = countTextsOf(plan.counting, rows)
      return { kind: 'texts', rowsWith: new Map(texts.map((text, place) => [text, counts[place] ?? 0])) }
    }
  }
}

function rowsAtIndexes({ indexes, counts }: IndexCounts): ReadonlyMap<bigint, number> {
  return new Map(Array.from(indexes, (index, place) => [BigInt(index), counts[place] ?? 0] as const))
}

/** The distribution of a release, in a form in which two releases of one plan can be compared. */
export type Distribution =
  /** The noise of the measurements around these integers. */
  | { readonly kind: 'noise'; readonly integers: readonly (readonly bigint[])[] }
  /**
   * Independent parts, each with the logarithm of the probability of every outcome, and its number of equal outcomes,
   * if not one each.
   */
  | {
      readonly kind: 'outcomes'
      readonly parts: readonly (readonly number[])[]
      readonly alike?: readonly number[]
    }
  /** Noise around integers, and independent parts with outcomes. */
  | {
      readonly kind: 'groups'
      readonly integers: readonly (readonly bigint[])[]
      readonly parts: readonly (readonly number[])[]
      /** For each part, the number of equivalent grid points of each outcome. */
      readonly alike: readonly (readonly number[])[]
    }
  /** Each key is kept or not, independently, by the number of its rows. */
  | { readonly kind: 'keys'; readonly rowsWith: ReadonlyMap<string, number> }

/** The distribution of a plan's release for the observed data. */
export function distributionOf(plan: Plan, observed: Observed): Distribution {
  if (
    (plan.kind === 'additive' || plan.kind === 'marginals' || plan.kind === 'cumulative') &&
    observed.kind === 'integers'
  )
    return { kind: 'noise', integers: observed.integers }
  if (plan.kind === 'noisy-max' && observed.kind === 'integers')
    return { kind: 'outcomes', parts: [noisyMaxDistribution(plan.measurement, observed.integers.flat())] }
  if (plan.kind === 'quantile' && observed.kind === 'indexes') {
    const { counting, column } = plan
    const indexes =
      counting.perPerson === undefined ? indexesOf(column.name) : personValuesOf(counting.perPerson)
    const places = placesOf(column.lowerIndex, column.upperIndex, indexes)
    const parts = plan.measurements.map((measurement) =>
      quantileDistribution(measurement, places, observed.rowsAt),
    )
    return { kind: 'outcomes', parts, alike: places.map(({ points }) => points) }
  }
  if (plan.kind === 'groups' && observed.kind === 'groups') {
    const cells = plan.quantiles.flatMap(({ column, measurement }, part) => {
      const places = placesOf(column.lowerIndex, column.upperIndex, indexesOf(column.name))
      return (observed.rowsAt[part] ?? []).map((rowsAt) => ({
        part: quantileDistribution(measurement, places, rowsAt),
        alike: places.map(({ points }) => points),
      }))
    })
    return {
      kind: 'groups',
      integers: observed.integers,
      parts: cells.map(({ part }) => part),
      alike: cells.map(({ alike }) => alike),
    }
  }
  if (plan.kind === 'key-selection' && observed.kind === 'texts')
    return { kind: 'keys', rowsWith: observed.rowsWith }
  throw new Error('a plan observes something else')
}

/** Share of a claimed price that two distributions spend. */
export interface Spent {
  /** True if the claim holds in both directions. */
  readonly within: boolean
  /**
   * The share of epsilon that is spent; if a delta is claimed, the share of delta that is spent at that epsilon.
   */
  readonly share: number
}

/** A log-probability here is a sum of at most a few dozen doubles below 1e3, each with one or two roundings. */
const LOGARITHM_ROUNDING = 1e-11

/** Computes the share of a claim that two distributions of one plan's release spend. */
export function spentOn(
  plan: Plan,
  one: Distribution,
  other: Distribution,
  claim: PrivacyLoss = plan.loss,
): Spent {
  if (
    (plan.kind === 'additive' || plan.kind === 'marginals' || plan.kind === 'cumulative') &&
    one.kind === 'noise' &&
    other.kind === 'noise'
  )
    return spentByNoise(plan.measurements, one.integers, other.integers, claim)
  if (plan.kind === 'key-selection' && one.kind === 'keys' && other.kind === 'keys')
    return spentByKeys(plan.measurement, one.rowsWith, other.rowsWith, claim)
  if (plan.kind === 'groups' && one.kind === 'groups' && other.kind === 'groups') {
    const lost = Math.max(largestLogRatio(one.parts, other.parts), largestLogRatio(other.parts, one.parts))
    const epsilon = epsilonNumber(claim.epsilonNano)
    if (plan.sums === undefined)
      return { within: lost <= epsilon + LOGARITHM_ROUNDING, share: lost / epsilon }
    // The sums may spend only what the quantiles leave.
    const left = claim.epsilonNano - BigInt(Math.floor(lost * 1e9))
    if (left <= 0n) return { within: false, share: lost / epsilon }
    const rest = { ...claim, epsilonNano: epsilonNano(left) }
    const { within, share } = spentByNoise(plan.sums.measurements, one.integers, other.integers, rest)
    return { within, share: (lost + share * epsilonNumber(rest.epsilonNano)) / epsilon }
  }
  if (one.kind === 'outcomes' && other.kind === 'outcomes') {
    const lost = Math.max(largestLogRatio(one.parts, other.parts), largestLogRatio(other.parts, one.parts))
    const epsilon = epsilonNumber(claim.epsilonNano)
    return { within: lost <= epsilon + LOGARITHM_ROUNDING, share: lost / epsilon }
  }
  throw new Error('a release has a distribution of one kind')
}

/** Total over independent parts: the sum of the largest of each. */
function largestLogRatio(one: Extract<Distribution, { parts: unknown }>['parts'], other: typeof one): number {
  return one.reduce((sum, part, index) => {
    const ratios = part.map((logMass, outcome) => logMass - (other[index]?.[outcome] ?? Number.NaN))
    return sum + Math.max(...ratios)
  }, 0)
}

function spentOfDelta(delta: number, claim: PrivacyLoss, rounding: number): Spent {
  const claimed = deltaNumber(claim.deltaAtto)
  return { within: delta <= claimed + rounding, share: delta / claimed }
}

/*
 * Noise on every entry of every statistic, all independent: their joint distribution.
 */

function spentByNoise(
  measurements: readonly Measurement[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
  claim: PrivacyLoss,
): Spent {
  let laplaceNano: Rational = { numerator: 0n, denominator: 1n }
  let [distanceSquared, curvature, smallestVariance] = [0, 0, Number.POSITIVE_INFINITY]
  for (const [statistic, { noise, fractionBits }] of measurements.entries()) {
    const shifts = (one[statistic] ?? [])
      .map((value, cell) => (value - (other[statistic]?.[cell] ?? 0n)) << BigInt(fractionBits))
      .filter((shift) => shift !== 0n)
    if (shifts.length === 0) continue
    if (noise.kind === 'discrete-laplace') {
      const { numerator, denominator } = noise.scale
      // Without noise the two distributions are distinguished with certainty.
      if (numerator === 0n) return { within: false, share: Number.POSITIVE_INFINITY }
      const l1 = shifts.reduce((sum, shift) => sum + (shift < 0n ? -shift : shift), 0n)
      laplaceNano = plus(laplaceNano, l1 * denominator * ONE_EPSILON_NANO, numerator)
    } else {
      const variance = Number(noise.sigma) ** 2
      distanceSquared += shifts.reduce((sum, shift) => sum + Number(shift) ** 2 / variance, 0)
      curvature += shifts.length / variance
      smallestVariance = Math.min(smallestVariance, variance)
    }
  }
  if (distanceSquared === 0) {
    // Exact: two distributions of discrete Laplace noise that are a whole number apart differ by up to |shift| / scale
    // in the logarithm, and by just that beyond both.
    const { numerator, denominator } = laplaceNano
    return {
      within: numerator <= claim.epsilonNano * denominator,
      share: numberFromRational(laplaceNano) / Number(claim.epsilonNano),
    }
  }
  if (laplaceNano.numerator > 0n) throw new Error('a query uses noise of one kind')
  const epsilon = epsilonNumber(claim.epsilonNano)
  // Upper bound on what the grid adds (src/core/mechanisms/noise/gaussian.md), each entry in its own sigma.
  const grid = Math.expm1(distanceSquared / smallestVariance / 24) + curvature / 24
  const delta = Math.exp(curvature / 8) * (gaussianHockeyStick(epsilon, Math.sqrt(distanceSquared)) + grid)
  // Calibration leaves a margin of 1e-8 of delta, more than the error of the integral.
  return spentOfDelta(delta, claim, 0)
}

function plus(sum: Rational, numerator: bigint, denominator: bigint): Rational {
  return {
    numerator: sum.numerator * denominator + numerator * sum.denominator,
    denominator: sum.denominator * denominator,
  }
}

const hockeySticks = new Map<string, number>()

/**
 * The smallest delta of Gaussian noise at an epsilon, from the distribution of the privacy loss: of two normal
 * distributions of variance 1 at a distance d, the loss is normal with mean d^2 / 2 and variance d^2, and delta is the
 * mean of max(0, 1 - exp(epsilon - loss)). No term is negative, so nothing cancels. Integrated by Simpson's rule, with
 * a relative error of 1e-9.
 */
export function gaussianHockeyStick(epsilon: number, distance: number): number {
  const name = `${epsilon} ${distance}`
  const known = hockeySticks.get(name)
  if (known !== undefined) return known
  const mean = distance ** 2 / 2
  // The mass beyond nine standard deviations is negligible.
  const end = Math.max(epsilon, mean) + 9 * distance
  const intervals = 4000
  const step = (end - epsilon) / intervals
  let sum = 0
  for (let index = 0; index <= intervals; index += 1) {
    const beyond = index * step
    const density = Math.exp(-0.5 * ((epsilon + beyond - mean) / distance) ** 2)
    const weight = index === 0 || index === intervals ? 1 : index % 2 === 1 ? 4 : 2
    sum += weight * density * -Math.expm1(-beyond)
  }
  const delta = (sum * step) / 3 / (distance * Math.sqrt(2 * Math.PI))
  hockeySticks.set(name, delta)
  return delta
}

/*
 * Report noisy max. Outcomes are the ordered selections, with gaps if they are released.
 */

function noisyMaxDistribution(measurement: NoisyMaxMeasurement, scores: readonly bigint[]): number[] {
  const orders = selections(measurement.candidates, measurement.k)
  if (!measurement.gap) return orders.map((order) => noisyMaxLogMass(measurement, scores, order))
  const gaps = tuples(gapsOf(measurement), measurement.k)
  return orders.flatMap((order) => gaps.map((each) => noisyMaxLogMass(measurement, scores, order, each)))
}

/** Ordered selections of this number of candidates. */
export function selections(candidates: number, k: number): number[][] {
  return tuples(
    Array.from({ length: candidates }, (_, candidate) => candidate),
    k,
  ).filter((order) => new Set(order).size === k)
}

function tuples<T>(values: readonly T[], length: number): T[][] {
  if (length === 0) return [[]]
  return tuples(values, length - 1).flatMap((tuple) => values.map((value) => [...tuple, value]))
}

/**
 * The examined gaps, in output units: 0 and the next ones, where ties matter; whole score units, at which the
 * distribution has its corners, and points between them; and multiples of the scale, far beyond. For several gaps,
 * fewer of each.
 */
function gapsOf({ fractionBits, scale, k }: NoisyMaxMeasurement): readonly bigint[] {
  const unit = 1n << BigInt(fractionBits)
  const whole = scale.numerator / scale.denominator
  const few = [0n, unit / 2n, unit, 2n * unit, 100n * whole]
  return k > 1
    ? few
    : [...few, 1n, 2n, (3n * unit) / 2n, 3n * unit, whole, 5n * whole, 25n * whole, 400n * whole]
}

/**
 * The logarithm of the probability that these candidates are selected in this order, with these gaps (in output units)
 * if they are released.
 */
export function noisyMaxLogMass(
  { noise, scale, fractionBits }: NoisyMaxMeasurement,
  scores: readonly bigint[],
  order: readonly number[],
  gaps?: readonly bigint[],
): number {
  if (noise === 'laplace') {
    const centers = scores.map((score) => score << BigInt(fractionBits))
    return Math.log(
      gaps === undefined ? orderMass(centers, scale, order) : orderAndGapsMass(centers, scale, order, gaps),
    )
  }
  const perUnit = 1 / numberFromRational(scale)
  const choose = noise === 'exponential' ? permuteAndFlipLogMass : exponentialLogMass
  // One choice after the other, each among the candidates that are left.
  return order.reduce((sum, chosen, rank) => {
    const left = scores.flatMap((score, candidate) =>
      order.slice(0, rank).includes(candidate) ? [] : [{ score, candidate }],
    )
    const best = left.reduce((most, { score }) => (score > most ? score : most), scores[chosen] ?? 0n)
    const exponents = left.map(({ score }) => perUnit * Number(best - score))
    const place = left.findIndex(({ candidate }) => candidate === chosen)
    return sum + choose(exponents, place)
  }, 0)
}

function exponentialLogMass(exponents: readonly number[], place: number): number {
  const weights = exponents.reduce((sum, exponent) => sum + Math.exp(-exponent), 0)
  return -(exponents[place] ?? 0) - Math.log(weights)
}

/**
 * Every candidate is visited at an independent uniform time from 0 to 1. Another candidate of success probability w
 * stops the visits before time t with probability t w. So a candidate is chosen with its own w times the integral over
 * t of the product of all 1 - t w, a polynomial.
 */
function permuteAndFlipLogMass(exponents: readonly number[], place: number): number {
  let polynomial = [1]
  for (const [candidate, exponent] of exponents.entries()) {
    if (candidate === place) continue
    const success = Math.exp(-exponent)
    polynomial = [...polynomial, 0].map(
      (coefficient, degree) => coefficient - success * (polynomial[degree - 1] ?? 0),
    )
  }
  const integral = polynomial.reduce((sum, coefficient, degree) => sum + coefficient / (degree + 1), 0)
  return -(exponents[place] ?? 0) + Math.log(integral)
}

/**
 * The least lead that a candidate needs over another. On a tie, the candidate with the lower index is ahead.
 */
function lead(candidate: number, rival: number): bigint {
  return rival < candidate ? 1n : 0n
}

/** For one selected candidate or two: the sum over the noisy score v of the last one. */
function orderMass(centers: readonly bigint[], scale: Rational, order: readonly number[]): number {
  const [first = 0, last = first, ...more] = order
  if (more.length > 0) throw new Error('there is no closed form for more than two')
  return sumOverIntegers(
    centers.map((center, candidate) => {
      if (candidate === last) return massAt(center, scale)
      // center + N >= v + lead, and v >= center + N + lead.
      if (candidate === first) return atLeast(center - lead(first, last), scale)
      return atMost(center + lead(last, candidate), scale)
    }),
  )
}

/** The sum over who is next, and over the next one's noisy score v: the selected ones lie at given heights above it. */
function orderAndGapsMass(
  centers: readonly bigint[],
  scale: Rational,
  order: readonly number[],
  gaps: readonly bigint[],
): number {
  let sum = 0
  for (const next of centers.keys()) {
    if (order.includes(next)) continue
    const heights = new Map([[next, 0n]])
    let [height, below] = [0n, next]
    for (const [fromLast, candidate] of [...order].reverse().entries()) {
      height += (gaps.at(-1 - fromLast) ?? 0n) + lead(candidate, below)
      heights.set(candidate, height)
      below = candidate
    }
    sum += sumOverIntegers(
      centers.map((center, candidate): Piecewise => {
        const own = heights.get(candidate)
        return own === undefined ? atMost(center + lead(next, candidate), scale) : massAt(center - own, scale)
      }),
    )
  }
  return sum
}

/*
 * Quantiles. Outcomes are the points of the column's grid; those between two values that occur are all alike.
 */

/** A grid point and the number of equivalent points. */
interface Place {
  readonly point: bigint
  readonly points: number
}

/** The points at some indexes, and one point for each range between them. */
function placesOf(lowerIndex: bigint, upperIndex: bigint, indexes: readonly bigint[]): readonly Place[] {
  const places: Place[] = []
  let next = lowerIndex
  for (const index of [...indexes, upperIndex + 1n]) {
    if (index > next) places.push({ point: next, points: Number(index - next) })
    if (index <= upperIndex) places.push({ point: index, points: 1 })
    next = index + 1n
  }
  return places
}

/** The logarithm of the probability of a point at each place, from the definition of the score. */
function quantileDistribution(
  { score, exponent }: QuantileMeasurement,
  places: readonly Place[],
  rowsAt: ReadonlyMap<bigint, number>,
): number[] {
  const exponents = places.map(({ point }) => {
    // A row at the point has the weight of one below it, that of one above it, or anything between.
    let [least, most] = [-score.target, -score.target]
    for (const [index, count] of rowsAt) {
      least += BigInt(count) * (index < point ? score.below : score.above)
      most += BigInt(count) * (index <= point ? score.below : score.above)
    }
    const distance = least > 0n ? least : most < 0n ? -most : 0n
    return numberFromRational(exponent) * Number(distance)
  })
  const smallest = Math.min(...exponents)
  const weights = places.map(({ points }, place) => points * Math.exp(smallest - (exponents[place] ?? 0)))
  const total = Math.log(weights.reduce((sum, weight) => sum + weight, 0))
  return exponents.map((value) => smallest - value - total)
}

/*
 * Key selection. Keys are independent, and one with as many rows in both datasets cancels out: the rest is the product
 * of the distributions of one or two keys, each with few different ratios of probabilities.
 */

/**
 * Outcomes with the same ratio of probabilities, taken together: their probabilities in both datasets.
 */
interface Atom {
  readonly one: number
  readonly other: number
}

/** Probabilities are off by a few roundings of 1. */
const PROBABILITY_ROUNDING = 4 * Number.EPSILON

function spentByKeys(
  measurement: KeySelectionMeasurement,
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
  claim: PrivacyLoss,
): Spent {
  let atoms: readonly Atom[] = [{ one: 1, other: 1 }]
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    const [count, countOfOther] = [one.get(key) ?? 0, other.get(key) ?? 0]
    if (count === countOfOther) continue
    const own = keyAtoms(measurement, count, countOfOther)
    atoms = atoms.flatMap((atom) =>
      own.map((factor) => ({ one: atom.one * factor.one, other: atom.other * factor.other })),
    )
  }
  const growth = Math.exp(epsilonNumber(claim.epsilonNano))
  const deltas = [
    atoms.reduce((sum, atom) => sum + Math.max(0, atom.one - growth * atom.other), 0),
    atoms.reduce((sum, atom) => sum + Math.max(0, atom.other - growth * atom.one), 0),
  ]
  return spentOfDelta(Math.max(...deltas), claim, PROBABILITY_ROUNDING * (1 + growth))
}

/** Outcomes of one key with these numbers of rows in two datasets. */
function keyAtoms(measurement: KeySelectionMeasurement, count: number, countOfOther: number): Atom[] {
  const both = (distribution: (rows: number) => number): Atom => ({
    one: distribution(count),
    other: distribution(countOfOther),
  })
  const kept = (rows: number) => keepProbability(measurement, rows)
  const dropped = both((rows) => 1 - kept(rows))
  if (measurement.mechanism === 'near-truncated-geometric') return [dropped, both(kept)]
  // Beyond both counts, all noisy counts have the same ratio, so they are added up.
  const beyond = Number(measurement.threshold) + Math.max(count, countOfOther)
  const q = Math.exp(-1 / numberFromRational(measurement.scale))
  const massOf = (noisyCount: number) => (rows: number) => keyCountMass(measurement, rows, BigInt(noisyCount))
  const each = Array.from({ length: beyond }, (_, noisyCount) => both(massOf(noisyCount)))
  return [dropped, ...each, both((rows) => massOf(beyond)(rows) / (1 - q))]
}
