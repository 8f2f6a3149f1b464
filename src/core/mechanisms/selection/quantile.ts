import type { EpsilonNano } from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { rational } from '../../../privacy/rational.ts'
import type { UniformSource } from '../samplers/uniform-source.ts'
import {
  calibrateExponential,
  type ExponentialMeasurement,
  exponentialAttempt,
  exponentialHalfWidth,
} from './exponential.ts'

/**
 * A quantile of a numeric column over its declared grid, by the exponential mechanism: the probability of a grid point
 * falls exponentially with the distance of its rank from the target rank.
 *
 * | what             | valid                                                      | unit                |
 * |------------------|------------------------------------------------------------|---------------------|
 * | input            | rows on a grid of 1 to 2^53 points with ends within +-2^53 | grid indexes        |
 * | input metric     | L-infinity sensitivity of the score, at least 1            | units of the score  |
 * | output           | one grid point                                             | grid index          |
 * | privacy measure  | pure differential privacy, epsilon above 0                 | 1e-9, rounded up    |
 * | exponent         | epsilon / (2 sensitivity of the score), an exact fraction  | per unit of score   |
 *
 * Privacy map: epsilon = 2 sensitivity exponent; rho is that of a bounded range, a little below epsilon^2 / 8. All
 * points between two neighbouring values have the same score, so the work grows with the number of distinct values, not
 * of grid points. Sources: McSherry and Talwar 2007, "Mechanism Design via Differential Privacy"; Smith 2011,
 * "Privacy-preserving Statistical Estimation with Optimal Convergence Rates", section 3, for quantiles by intervals.
 * Proof: src/core/mechanisms/selection/quantile.md.
 */

/**
 * Score of a grid point: minus its {@link rankDistance}. Every row has a weight, `below` if it lies below the point and
 * `above` if above, and the weights should add up to `target`. A row at the point may count as either or partly as
 * each, so as to bring the sum closest to the target.
 */
export interface RankScore {
  /** Greater than `above`. */
  readonly below: bigint
  readonly above: bigint
  readonly target: bigint
}

/** The exponential mechanism bound to a score and a grid. The sensitivity is that of the score. */
export interface QuantileMeasurement extends ExponentialMeasurement {
  readonly score: RankScore
  readonly lowerIndex: bigint
  readonly upperIndex: bigint
}

/** Rows of a column, grouped by value. */
export interface ValueCounts {
  /** Distinct grid indexes, increasing. */
  readonly indexes: Float64Array
  /** Number of rows at each: whole numbers above 0. */
  readonly counts: Float64Array
}

/** Largest magnitude of a grid index: doubles are exact up to here. */
const LARGEST_INDEX = 2n ** 53n
/** Largest number of grid points. Beyond it, offsets from the first point are not exact doubles. */
export const MAX_QUANTILE_POINTS = 2n ** 53n
/** Larger distances are reduced to this one: every distance is then an exact double, and no sensitivity grows. */
const LARGEST_DISTANCE = 2 ** 53

/**
 * Score of the quantile that a share numerator / denominator of the rows lies at or below. The median is 1 / 2.
 * @throws RangeError for a share outside 0 to 1.
 */
export function percentileScore(numerator: bigint, denominator: bigint): RankScore {
  if (numerator < 0n || denominator < 1n || numerator > denominator)
    throw new RangeError('a share must lie between 0 and 1')
  const share = rational(numerator, denominator)
  return { below: share.denominator - share.numerator, above: -share.numerator, target: 0n }
}

/**
 * Score of the value with rank `rank` from below: the minimum as an extreme quantile ({@link extremeRank}).
 * @throws RangeError for a rank below 1.
 */
export function minimumScore(rank: bigint): RankScore {
  requireRank(rank)
  return { below: 1n, above: 0n, target: rank }
}

/**
 * Score of the value with rank `rank` from above: the maximum as an extreme quantile ({@link extremeRank}).
 * @throws RangeError for a rank below 1.
 */
export function maximumScore(rank: bigint): RankScore {
  requireRank(rank)
  return { below: 0n, above: -1n, target: -rank }
}

/**
 * Distance of the target from the sums that the weights of these numbers of rows below, at and above a grid point can add
 * up to. It is never negative.
 */
export function rankDistance(
  { below, above, target }: RankScore,
  rowsBelow: bigint,
  rowsEqual: bigint,
  rowsAbove: bigint,
): bigint {
  const least = below * rowsBelow + above * (rowsEqual + rowsAbove) - target
  const most = below * (rowsBelow + rowsEqual) + above * rowsAbove - target
  if (least > 0n) return least
  return most < 0n ? -most : 0n
}

/**
 * Binds the exponential mechanism to a score, a grid and an epsilon.
 * @throws RangeError for a sensitivity or an epsilon of 0, a score whose `below` is not above its `above`, an empty grid, one of more than
 * 2^53 points, or one with an end beyond +-2^53.
 */
export function calibrateQuantile(
  setting: Pick<QuantileMeasurement, 'score' | 'sensitivity' | 'lowerIndex' | 'upperIndex'>,
  epsilonNano: EpsilonNano,
): QuantileMeasurement {
  const { score, sensitivity, lowerIndex, upperIndex } = setting
  if (score.below <= score.above) throw new RangeError('a row below must weigh more than one above')
  requireGrid(lowerIndex, upperIndex)
  // Some points gain while others lose, so the scores are never monotonic.
  const outcomes = upperIndex - lowerIndex + 1n
  const measurement = calibrateExponential({ sensitivity, monotonic: false, outcomes }, epsilonNano)
  return { ...measurement, score, lowerIndex, upperIndex }
}

/**
 * Draws a grid point, each with its exact probability. Without rows, all points are equally likely.
 * @returns a grid index.
 * @throws RangeError, with a message that is independent of the data, for values that are not increasing grid indexes with a
 * whole number of rows at each; and any error of the source.
 */
export function selectQuantile(
  measurement: QuantileMeasurement,
  values: ValueCounts,
  source: UniformSource,
): bigint {
  const steps = quantileSteps(measurement, values, source)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/**
 * {@link selectQuantile} in steps, each a pass over the values, so that a caller with many values can do other work in
 * between. The return value of the generator is the result.
 */
export function* quantileSteps(
  measurement: QuantileMeasurement,
  values: ValueCounts,
  source: UniformSource,
): Generator<void, bigint> {
  const { offsets, points, distances } = intervals(measurement, values)
  yield
  const attempt = exponentialAttempt(distances, points, measurement.exponent, source)
  let chosen: number | undefined
  while (chosen === undefined) {
    yield
    chosen = attempt()
  }
  return measurement.lowerIndex + BigInt(entry(offsets, chosen)) + BigInt(source.below(entry(points, chosen)))
}

/**
 * Error bound for the rank of the point drawn. With at least this confidence, for a share p of n rows, at most n p +
 * halfWidth rows lie below the point, and at least n p - halfWidth rows at or below it. The same holds for a minimum of
 * rank r, with r in place of n p, and for a maximum, with above in place of below, if there are r rows.
 * @returns the half-width in rows.
 * @throws RangeError for a confidence outside (0, 1).
 */
export function quantileHalfWidth(measurement: QuantileMeasurement, confidence: number): number {
  const { below, above } = measurement.score
  return exponentialHalfWidth(measurement, confidence) / Number(below - above)
}

/**
 * Smallest rank for which the extreme quantile is reliable: with at least this confidence, the point drawn by {@link
 * minimumScore} of this rank has a row at or below it, and that of {@link maximumScore} one at or above it, if there
 * are as many rows as the rank. It depends on public facts only. (The distance of a point without such a row is the
 * rank, and the row of that rank lies at a point of distance 0.)
 *
 * @param points the number of grid points, 1 to 2^53.
 * @param sensitivity that of the score, which does not depend on the rank.
 * @throws RangeError for a sensitivity or an epsilon of 0, or a confidence outside (0, 1).
 */
export function extremeRank(
  points: bigint,
  sensitivity: bigint,
  epsilonNano: EpsilonNano,
  confidence: number,
): bigint {
  const setting = { sensitivity, monotonic: false, outcomes: points }
  return BigInt(exponentialHalfWidth(calibrateExponential(setting, epsilonNano), confidence)) + 1n
}

/** Grid points in order, in runs of equal distance: the number of points before each run and in it, and the distance. */
interface Intervals {
  readonly offsets: Float64Array
  readonly points: Float64Array
  readonly distances: Float64Array
}

/** Returns the runs of the grid. Works with offsets from the lower end, which are exact doubles; an index plus one might not be. */
export function intervals(
  { score, lowerIndex, upperIndex }: QuantileMeasurement,
  { indexes, counts }: ValueCounts,
): Intervals {
  const rows = requireValues(indexes, counts, Number(lowerIndex), Number(upperIndex))
  const distanceOf = distanceFunction(score, rows)
  const column = () => new Float64Array(2 * indexes.length + 1)
  const [offsets, points, distances] = [column(), column(), column()]
  let length = 0
  let covered = 0
  let rowsBelow = 0
  const append = (end: number, rowsEqual: number) => {
    if (end === covered) return
    offsets[length] = covered
    points[length] = end - covered
    distances[length] = distanceOf(rowsBelow, rowsEqual)
    length += 1
    covered = end
    rowsBelow += rowsEqual
  }
  const lower = Number(lowerIndex)
  for (let position = 0; position < indexes.length; position += 1) {
    const offset = entry(indexes, position) - lower
    append(offset, 0)
    append(offset + 1, entry(counts, position))
  }
  append(Number(upperIndex - lowerIndex + 1n), 0)
  return {
    offsets: offsets.subarray(0, length),
    points: points.subarray(0, length),
    distances: distances.subarray(0, length),
  }
}

/**
 * {@link rankDistance} for a known number of rows, at most {@link LARGEST_DISTANCE}: in doubles if every step is an exact
 * integer, otherwise in big integers.
 */
function distanceFunction(score: RankScore, rows: number): (rowsBelow: number, rowsEqual: number) => number {
  const weights = magnitude(score.below) + magnitude(score.above)
  // One row more, so that the weights themselves are exact even without rows.
  if (weights * BigInt(rows + 1) + magnitude(score.target) > BigInt(LARGEST_DISTANCE))
    return (rowsBelow, rowsEqual) => {
      const [below, equal] = [BigInt(rowsBelow), BigInt(rowsEqual)]
      const distance = rankDistance(score, below, equal, BigInt(rows) - below - equal)
      return distance > BigInt(LARGEST_DISTANCE) ? LARGEST_DISTANCE : Number(distance)
    }
  const [below, above, target] = [Number(score.below), Number(score.above), Number(score.target)]
  return (rowsBelow, rowsEqual) => {
    const atOrBelow = rowsBelow + rowsEqual
    const least = below * rowsBelow + above * (rows - rowsBelow) - target
    const most = below * atOrBelow + above * (rows - atOrBelow) - target
    return Math.max(0, least, -most)
  }
}

/** Counts the rows, after checking that the values are a valid input of the mechanism. */
function requireValues(indexes: Float64Array, counts: Float64Array, lower: number, upper: number): number {
  let rows = 0
  let previous = Number.NEGATIVE_INFINITY
  let sound = indexes.length === counts.length
  for (let position = 0; position < indexes.length; position += 1) {
    const [index = Number.NaN, count = Number.NaN] = [indexes[position], counts[position]]
    sound &&= Number.isInteger(index) && index > previous && index >= lower && index <= upper
    rows += count
    // The sum of two such numbers is exact, or too large as well.
    sound &&= Number.isInteger(count) && count >= 1 && rows <= Number.MAX_SAFE_INTEGER
    previous = index
  }
  if (!sound) throw new RangeError('a quantile needs increasing grid indexes and the rows at each')
  return rows
}

function requireGrid(lowerIndex: bigint, upperIndex: bigint): void {
  if (lowerIndex < -LARGEST_INDEX || upperIndex > LARGEST_INDEX)
    throw new RangeError('a grid for quantiles must lie within 2^53 of zero')
  const points = upperIndex - lowerIndex + 1n
  if (points < 1n || points > MAX_QUANTILE_POINTS) throw new RangeError('a grid must have 1 to 2^53 points')
}

function requireRank(rank: bigint): void {
  if (rank < 1n) throw new RangeError('a rank must be at least 1')
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
