import {
  epsilonNano as brandEpsilon,
  type EpsilonNano,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { entry, must } from '../../../privacy/must.ts'
import { divideRoundingUp, numberFromRational, type Rational, rational } from '../../../privacy/rational.ts'
import type { ScoreSensitivity } from '../../../privacy/sensitivity.ts'
import { boundedRangeRho } from '../../../privacy/zero-concentrated.ts'
import { requireConfidence, requireEpsilon, requireWithin } from '../preconditions.ts'
import { bernoulliExpUnbounded } from '../samplers/bernoulli-unbounded.ts'
import { exponentialBounds, shiftRoundingUp } from '../samplers/exponential-bounds.ts'
import { type UniformSource, untilAccepted } from '../samplers/uniform-source.ts'

/**
 * The exponential mechanism: one of many outcomes, each with a probability that falls exponentially with its distance
 * from the best. It is the general primitive of private selection.
 *
 * | what             | valid                                                                | unit               |
 * |------------------|----------------------------------------------------------------------|--------------------|
 * | input            | for each entry a distance (the worse, the larger: minus its score)   | score units        |
 * |                  | and a multiplicity, how many outcomes share it; integers up to 2^53  | outcomes           |
 * | input metric     | L-infinity sensitivity of the scores, at least 1                     | score units        |
 * | output           | the index of one entry                                               |                    |
 * | privacy measure  | pure differential privacy, epsilon above 0                           | 1e-9, rounded up   |
 * |                  | zero-concentrated differential privacy, rho                          | 1e-12, rounded up  |
 * | exponent         | epsilon / spread, an exact fraction: nothing is rounded              | 1 / score units    |
 *
 * The spread is how far two scores can move against each other between neighbours: twice the sensitivity, and only once
 * where scores are monotonic (all move in the same direction, as counts do when one person is added).
 *
 * Privacy map: epsilon = exponent * spread; rho = x - 1 - ln(x), x = epsilon / (exp(epsilon) - 1), because its range is
 * bounded: a little below epsilon^2 / 8. The multiplicities are public or follow from a public outcome space: distances
 * may move between neighbours, outcomes may not. Source: McSherry and Talwar 2007, "Mechanism Design via Differential
 * Privacy"; rho: Cesar and Rogers 2021 (arXiv 2004.07223). Proof: src/core/mechanisms/selection/exponential.md; the
 * range's rho: src/privacy/zero-concentrated.md.
 */

/** The exponential mechanism bound to the sensitivity of its scores. */
export interface ExponentialMeasurement extends ScoreSensitivity {
  /** Number of outcomes, multiplicities counted: a public figure. */
  readonly outcomes: bigint
  /** P(outcome) is proportional to exp(-exponent * distance). */
  readonly exponent: Rational
  readonly loss: PrivacyLoss
}

/**
 * Binds the exponential mechanism to the sensitivity of scores and an epsilon.
 * @throws RangeError for a sensitivity or an epsilon of 0, or no outcomes.
 */
export function calibrateExponential(
  setting: Pick<ExponentialMeasurement, 'sensitivity' | 'monotonic' | 'outcomes'>,
  epsilonNano: EpsilonNano,
): ExponentialMeasurement {
  const { sensitivity, monotonic, outcomes } = setting
  requireScoreSensitivity(sensitivity)
  requireEpsilon(epsilonNano)
  if (outcomes < 1n) throw new RangeError('there is nothing to choose from')
  const exponent = rational(epsilonNano, scoreSpread(setting) * ONE_EPSILON_NANO)
  const measurement = { sensitivity, monotonic, outcomes, exponent, loss: { ...NO_LOSS, epsilonNano } }
  requireWithin(exponentialPrivacyMap(measurement), measurement.loss)
  return measurement
}

/** @throws RangeError for a sensitivity of 0, for which there would be no noise. */
export function requireScoreSensitivity(sensitivity: bigint): void {
  if (sensitivity < 1n) throw new RangeError('a selection needs scores with a sensitivity of at least one')
}

/** Largest change of the difference of two scores between neighbours, in score units. */
export function scoreSpread({ sensitivity, monotonic }: ScoreSensitivity): bigint {
  return monotonic ? sensitivity : 2n * sensitivity
}

/** An exponent, and the sensitivity of the scores that it is applied to. */
type Priced = Omit<ExponentialMeasurement, 'outcomes' | 'loss'>

/** Loss of one choice: epsilon = exponent * spread, rounded up to 1e-9. */
export function exponentialPrivacyMap({ exponent, ...sensitivity }: Priced): PrivacyLoss {
  const spread = scoreSpread(sensitivity)
  const epsilon = divideRoundingUp(spread * exponent.numerator * ONE_EPSILON_NANO, exponent.denominator)
  return { ...NO_LOSS, epsilonNano: brandEpsilon(epsilon) }
}

/** Price of one choice in zCDP: that of a bounded range, rounded up to 1e-12. */
export function exponentialRho(measurement: Priced): RhoPico {
  return boundedRangeRho(exponentialPrivacyMap(measurement).epsilonNano)
}

/**
 * Returns a bound of the distance of the chosen outcome from the best, in score units. With m outcomes besides the best,
 * P(distance > t) is largest where all of them are at t + 1: m q / (1 + m q), q = exp(-exponent (t + 1)). The half-width is
 * the smallest whole t for which that is at most 1 - confidence.
 *
 * @throws RangeError for a confidence outside (0, 1).
 */
export function exponentialHalfWidth(
  { exponent, outcomes }: Pick<ExponentialMeasurement, 'exponent' | 'outcomes'>,
  confidence: number,
): number {
  requireConfidence(confidence)
  const others = Number(outcomes - 1n)
  // The summand covers the roundings of this line: they can overstate the half-width, never understate it.
  const successor =
    (Math.log((others * confidence) / (1 - confidence)) + 2 ** -40) / numberFromRational(exponent)
  return Math.max(0, Math.ceil(successor) - 1)
}

/*
 * The sampler. Distances are taken from the smallest, and cut into levels of `width` score units each, width = ceil(1 /
 * exponent): level 0 holds the distances from 0, level 1 those from `width`, and so on. An attempt
 *
 * 1. chooses a level with a probability proportional to its outcomes times exp(-exponent * width * level),
 * 2. chooses one of its outcomes uniformly,
 * 3. accepts it with probability exp(-exponent * (distance - width * level)), which is above exp(-1).
 *
 * The product of the three is the required weight. Only step 1 involves real numbers, and there are few levels: the
 * weights fall by a factor of e or more from each to the next.
 *
 * Step 1 inverts the distribution function lazily. Weights are known as bounds in units of 2^-bits. The first `bits`
 * bits of a uniform real number are drawn. If every real number with these bits falls into the same level, for all
 * weights within their bounds, that is the level. Otherwise more bits *of the same number* are drawn, and the weights
 * are computed to as many bits. Levels whose weight is below 2^-bits form a tail, which counts in the total with its
 * upper bound; if the number may fall there, it is refined as well. So no weight is ever rounded to zero.
 */

/** Bits that step 1 draws at a time. A second draw happens less than once in 2^50 choices. */
const BITS_AT_A_TIME = 128
/** Largest distance: up to here, doubles are exact integers. */
const LARGEST_DISTANCE = 2 ** 53
/** Number of attempts of a choice by scores before it weighs all of them; one for every 16 scores if that is more. */
const FEWEST_ATTEMPTS = 64
/** Least bits at a time. With fewer, bounds could stop falling at one above 2^-bits. */
const FEWEST_BITS_AT_A_TIME = 4

/** Input of an attempt. */
interface Choice {
  readonly distances: ArrayLike<number>
  readonly multiplicities: ArrayLike<number>
  readonly exponent: Rational
  readonly smallest: number
  /** In score units. */
  readonly width: bigint
}

/** Weights of the levels, multiplicities included, as bounds in units of 2^-bits. */
interface LevelWeights {
  readonly bits: number
  /** Number of outcomes of each level; the last figure is that of the tail. */
  readonly outcomes: readonly bigint[]
  /** Total weight up to and including each level. */
  readonly cumulativeLower: readonly bigint[]
  readonly cumulativeUpper: readonly bigint[]
  readonly totalLower: bigint
  readonly totalUpper: bigint
}

/**
 * Chooses an entry with a probability proportional to its multiplicity times exp(-exponent * distance), exactly.
 *
 * @param distances whole numbers from 0 to 2^53, in score units; only their differences matter.
 * @param multiplicities as many whole numbers from 0 to 2^53.
 * @param exponent above 0, per score unit.
 * @param bitsAtATime bits of the lazy uniform number, at least 4. The distribution does not depend on it; tests use few.
 * @returns an index.
 * @throws RangeError for other input, or where every multiplicity is 0.
 */
export function chooseExponentially(
  distances: ArrayLike<number>,
  multiplicities: ArrayLike<number>,
  exponent: Rational,
  source: UniformSource,
  bitsAtATime = BITS_AT_A_TIME,
): number {
  return untilAccepted(exponentialAttempt(distances, multiplicities, exponent, source, bitsAtATime))()
}

/**
 * Chooses `k` different candidates, each with a probability proportional to exp(exponent * score) among those that are
 * left, exactly. Each choice is one release of the exponential mechanism.
 *
 * A choice begins with a bounded number of {@link scoreAttempt}s: if many scores are near the best, one of them soon
 * succeeds. If none does, {@link chooseExponentially} chooses anew, in a time that hardly depends on the scores. Both
 * have the same distribution, and so has the result.
 *
 * @param scores at least `k`, of any size, the larger the better.
 * @param bitsAtATime as for {@link chooseExponentially}.
 * @param attempts number of attempts before all scores are weighed. The distribution does not depend on it; tests use few.
 * @returns indices, in the order in which they were chosen.
 * @throws RangeError for an exponent of 0, or fewer scores than `k`.
 */
export function chooseByScores(
  scores: readonly bigint[],
  k: number,
  exponent: Rational,
  source: UniformSource,
  bitsAtATime = BITS_AT_A_TIME,
  attempts = Math.max(FEWEST_ATTEMPTS, scores.length >>> 4),
): number[] {
  const available = new Float64Array(scores.length).fill(1)
  let distances: Float64Array | undefined
  const chooseAnew = (attempt: () => number | undefined): number => {
    distances ??= exactDistances(scores)
    return distances.length === 0
      ? untilAccepted(attempt)()
      : chooseExponentially(distances, available, exponent, source, bitsAtATime)
  }
  return Array.from({ length: k }, () => {
    const attempt = scoreAttempt(scores, available, exponent, source)
    let chosen: number | undefined
    for (let count = 0; chosen === undefined && count < attempts; count += 1) chosen = attempt()
    chosen ??= chooseAnew(attempt)
    available[chosen] = 0
    return chosen
  })
}

/** Distance of each score from the best; empty if some distance is not an exact double. */
function exactDistances(scores: readonly bigint[]): Float64Array {
  const best = bestScore(scores)
  const distances = new Float64Array(scores.length)
  for (let index = 0; index < scores.length; index += 1) {
    const distance = best - (scores[index] ?? best)
    if (distance > LARGEST_DISTANCE) return new Float64Array(0)
    distances[index] = Number(distance)
  }
  return distances
}

/**
 * Creates attempts to choose without weighing all candidates: any candidate, accepted with probability exp(-exponent *
 * (best - score)) if it is available. They share only the coins with {@link chooseExponentially}. The best available
 * candidate is always accepted, so the expected number of attempts is at most that of candidates.
 * @throws RangeError for an exponent of 0, or if no candidate is available.
 */
export function scoreAttempt(
  scores: readonly bigint[],
  available: ArrayLike<number>,
  exponent: Rational,
  source: UniformSource,
): () => number | undefined {
  requireExponent(exponent)
  const best = bestScore(scores, available)
  return () => {
    const candidate = source.below(scores.length)
    if (available[candidate] !== 1) return undefined
    const distance = best - (scores[candidate] ?? best)
    if (distance === 0n) return candidate
    const accepted = bernoulliExpUnbounded(distance * exponent.numerator, exponent.denominator, source)
    return accepted ? candidate : undefined
  }
}

/**
 * Largest score among the available ones, by default all.
 * @throws RangeError if there are none.
 */
export function bestScore(scores: readonly bigint[], available?: ArrayLike<number>): bigint {
  let best: bigint | undefined
  // A loop, because a callback for each of 100,000 scores takes longer than a choice.
  for (let index = 0; index < scores.length; index += 1) {
    const score = scores[index]
    if (score === undefined || available?.[index] === 0) continue
    if (best === undefined || score > best) best = score
  }
  if (best === undefined) throw new RangeError('there is nothing to choose from')
  return best
}

/**
 * Creates attempts at {@link chooseExponentially}. Each returns `undefined` if it is rejected, and otherwise an index
 * with a probability proportional to its weight.
 * @throws RangeError as {@link chooseExponentially} does.
 */
export function exponentialAttempt(
  distances: ArrayLike<number>,
  multiplicities: ArrayLike<number>,
  exponent: Rational,
  source: UniformSource,
  bitsAtATime = BITS_AT_A_TIME,
): () => number | undefined {
  requireExponent(exponent)
  if (distances.length !== multiplicities.length)
    throw new RangeError('a choice needs a multiplicity for each distance')
  if (!(bitsAtATime >= FEWEST_BITS_AT_A_TIME))
    throw new RangeError('a choice draws at least 4 bits at a time')
  const choice: Choice = {
    distances,
    multiplicities,
    exponent,
    smallest: smallestDistance(distances, multiplicities),
    width: divideRoundingUp(exponent.denominator, exponent.numerator),
  }
  const firstWeights = weighLevels(choice, bitsAtATime)
  return () => {
    const { level, outcomes } = chooseLevel(choice, firstWeights, source)
    const index = chooseWithin(choice, level, source.belowBig(outcomes))
    const distance = BigInt(entry(distances, index) - choice.smallest)
    const rest = distance - BigInt(level) * choice.width
    if (rest === 0n) return index
    return bernoulliExpUnbounded(rest * exponent.numerator, exponent.denominator, source) ? index : undefined
  }
}

function requireExponent(exponent: Rational): void {
  if (exponent.numerator < 1n) throw new RangeError('the exponent of a choice is above 0')
}

function smallestDistance(distances: ArrayLike<number>, multiplicities: ArrayLike<number>): number {
  let smallest = Number.POSITIVE_INFINITY
  for (let index = 0; index < distances.length; index += 1) {
    const [distance, multiplicity] = [entry(distances, index), entry(multiplicities, index)]
    if (!isExactInteger(distance) || !isExactInteger(multiplicity))
      throw new RangeError('distances and multiplicities are whole numbers from 0 to 2^53')
    if (multiplicity > 0 && distance < smallest) smallest = distance
  }
  if (smallest === Number.POSITIVE_INFINITY) throw new RangeError('there is nothing to choose from')
  return smallest
}

function isExactInteger(value: number): boolean {
  return value >= 0 && value <= LARGEST_DISTANCE && Number.isInteger(value)
}

/** Step 1: chooses a level, and counts its outcomes. */
function chooseLevel(
  choice: Choice,
  firstWeights: LevelWeights,
  source: UniformSource,
): { readonly level: number; readonly outcomes: bigint } {
  const bitsAtATime = firstWeights.bits
  let weights = firstWeights
  let drawn = source.belowBig(1n << BigInt(bitsAtATime))
  for (;;) {
    const level = certainLevel(drawn, weights)
    if (level !== undefined) return { level, outcomes: entry(weights.outcomes, level) }
    drawn = (drawn << BigInt(bitsAtATime)) + source.belowBig(1n << BigInt(bitsAtATime))
    weights = weighLevels(choice, weights.bits + bitsAtATime)
  }
}

/** Level of every uniform number in [drawn, drawn + 1) * 2^-bits, if it is the same for all. */
function certainLevel(drawn: bigint, weights: LevelWeights): number | undefined {
  const bits = BigInt(weights.bits)
  const [position, end] = [drawn * weights.totalLower, (drawn + 1n) * weights.totalUpper]
  const level = weights.cumulativeLower.findIndex((lower) => end <= lower << bits)
  if (level === -1) return undefined
  return level === 0 || position >= entry(weights.cumulativeUpper, level - 1) << bits ? level : undefined
}

/** Weighs the levels whose weight may be above 2^-bits, and the rest as a tail. */
function weighLevels(choice: Choice, bits: number): LevelWeights {
  const { numerator, denominator } = choice.exponent
  const ratio = exponentialBounds({ numerator: numerator * choice.width, denominator }, bits)
  const shift = BigInt(bits)
  const [lowers, uppers]: [bigint[], bigint[]] = [[], []]
  let [lower, upper] = [1n << shift, 1n << shift]
  while (upper > 1n) {
    lowers.push(lower)
    uppers.push(upper)
    lower = (lower * ratio.lower) >> shift
    upper = shiftRoundingUp(upper * ratio.upper, shift)
  }
  const outcomes = outcomesByLevel(choice, lowers.length)
  const cumulativeLower = cumulativeWeights(lowers, outcomes)
  const cumulativeUpper = cumulativeWeights(uppers, outcomes)
  // Every outcome of the tail weighs at most 2^-bits.
  const tail = must(outcomes.at(-1), 'the outcomes of the tail')
  return {
    bits,
    outcomes,
    cumulativeLower,
    cumulativeUpper,
    totalLower: must(cumulativeLower.at(-1), 'the weight of a level'),
    totalUpper: must(cumulativeUpper.at(-1), 'the weight of a level') + tail,
  }
}

function cumulativeWeights(weights: readonly bigint[], outcomes: readonly bigint[]): bigint[] {
  let sum = 0n
  return weights.map((weight, level) => {
    sum += weight * entry(outcomes, level)
    return sum
  })
}

/** Number of outcomes of each of the first levels, and of all further levels together. */
function outcomesByLevel(choice: Choice, levelCount: number): bigint[] {
  const { distances, multiplicities } = choice
  const levelOf = levelLookup(choice)
  const sums = new Float64Array(levelCount + 1)
  const carried = Array.from(sums, () => 0n)
  for (let index = 0; index < distances.length; index += 1) {
    const multiplicity = entry(multiplicities, index)
    if (multiplicity === 0) continue
    const level = Math.min(levelOf(entry(distances, index)), levelCount)
    const sum = entry(sums, level) + multiplicity
    if (sum <= Number.MAX_SAFE_INTEGER) {
      sums[level] = sum
    } else {
      carried[level] = entry(carried, level) + BigInt(entry(sums, level))
      sums[level] = multiplicity
    }
  }
  return carried.map((carry, level) => carry + BigInt(entry(sums, level)))
}

/** Step 2: finds the entry with outcome number `position` of the level, counted in the order of the entries. */
function chooseWithin(choice: Choice, level: number, position: bigint): number {
  const { distances, multiplicities } = choice
  const levelOf = levelLookup(choice)
  let left = position
  // An exact double, or infinite: the sum below is then carried over before the comparison matters.
  let leftNumber = exactOrInfinite(left)
  let sum = 0
  for (let index = 0; index < distances.length; index += 1) {
    const multiplicity = entry(multiplicities, index)
    if (multiplicity === 0 || levelOf(entry(distances, index)) !== level) continue
    if (sum + multiplicity > Number.MAX_SAFE_INTEGER) {
      left -= BigInt(sum)
      leftNumber = exactOrInfinite(left)
      sum = 0
    }
    sum += multiplicity
    if (leftNumber < sum) return index
  }
  throw new Error('a level has fewer outcomes than were counted')
}

function exactOrInfinite(value: bigint): number {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : Number.POSITIVE_INFINITY
}

/**
 * Finds the level of a distance. The floor of a quotient of two whole doubles is exact up to 2^53, because the exact
 * quotient is further below the next whole number than rounding can move it.
 */
function levelLookup({ smallest, width }: Choice): (distance: number) => number {
  if (width > LARGEST_DISTANCE) return () => 0
  const exactWidth = Number(width)
  return (distance) => Math.floor((distance - smallest) / exactWidth)
}
