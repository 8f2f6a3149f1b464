import {
  epsilonNano as brandEpsilon,
  type EpsilonNano,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { divideRoundingUp, rational } from '../../../privacy/rational.ts'
import type { ScoreSensitivity } from '../../../privacy/sensitivity.ts'
import { pureRho } from '../../../privacy/zero-concentrated.ts'
import { fineFractionBits } from '../fine-grid.ts'
import { requireConfidence, requireWithin } from '../preconditions.ts'
import { discreteLaplaceSampler } from '../samplers/discrete-laplace.ts'
import type { UniformSource } from '../samplers/uniform-source.ts'

/**
 * The sparse vector technique ("above threshold") answers whether counts reach a public threshold. The threshold has one
 * noise for the whole sequence, and each question has fresh noise. Any number of questions is answered until `positives`
 * of them were "above"; each of these also releases how far the noisy value was above the noisy threshold (the free gap).
 *
 * | what             | valid                                                      | unit                |
 * |------------------|------------------------------------------------------------|---------------------|
 * | input            | a sequence of integers, each may depend on the answers     | grid units          |
 * | input metric     | L-infinity over the sequence, at least 1; `monotonic` where| grid units          |
 * |                  | between neighbours all values move in the same direction   |                     |
 * | output           | below, or above with a gap of 0 or more                    | 2^-`fractionBits`   |
 * | privacy measure  | pure differential privacy, epsilon of 2e-9 or more         | 1e-9, rounded up    |
 * | threshold scale  | sensitivity / (the threshold's epsilon), rounded up        | 2^-`fractionBits`   |
 * | question scale   | k positives sensitivity / (the questions' epsilon), rounded| 2^-`fractionBits`   |
 * |                  | up; k = 1 where monotonic, else 2                          |                     |
 *
 * `fractionBits` is the smallest number for which both scales are 2^40 or more. Privacy map: epsilon = sensitivity /
 * threshold scale + k positives sensitivity / question scale, for the whole sequence however long it is.
 *
 * Sources: Dwork and Roth 2014, "The Algorithmic Foundations of Differential Privacy", section 3.6; Lyu, Su, Li 2017,
 * "Understanding the Sparse Vector Technique for Differential Privacy" (arXiv 1603.01699), algorithms 1 and 7 and section
 * 4, for the one threshold and for the shares; Ding, Wang, Zhang, Kifer 2019, "Free Gap Information from the
 * Differentially Private Sparse Vector and Noisy Max Mechanisms" (arXiv 1904.12773), for the gap. Proof, and the
 * published variants that are wrong: src/core/mechanisms/selection/sparse-vector.md.
 */

/** Shape of a sequence of questions. */
export interface SparseVectorShape extends ScoreSensitivity {
  /** Number of answers "above" after which the sequence ends. */
  readonly positives: number
}

/** The sparse vector technique bound to a shape and an epsilon. */
export interface SparseVectorMeasurement extends SparseVectorShape {
  readonly fractionBits: number
  /** Scale of the threshold's noise, in output units. */
  readonly thresholdScale: bigint
  /** Scale of each question's noise, in output units. */
  readonly questionScale: bigint
  /** Loss of the whole sequence. */
  readonly loss: PrivacyLoss
}

/** One question, in grid units except for the noise. */
export interface ThresholdQuestion {
  readonly threshold: bigint
  /** Noise that {@link drawThresholdNoise} drew for this sequence, in output units. Secret. */
  readonly thresholdNoise: bigint
  /** Number of answers of the sequence that were "above" so far. */
  readonly positivesFound: number
  readonly value: bigint
}

/** Answer to one question. `gap`: how far the noisy value exceeds the noisy threshold, in output units; 0 or more. */
export type ThresholdAnswer = { readonly above: false } | { readonly above: true; readonly gap: bigint }

/** Least epsilon: threshold and questions have a share each. */
export const LEAST_SPARSE_VECTOR_EPSILON_NANO = 2n

/**
 * Binds the sparse vector technique to a shape and an epsilon. The shares of the threshold and of the questions are in
 * the ratio 1 to (k positives)^(2/3), which minimises the variance of their difference (Lyu, Su, Li 2017, section 4).
 * @throws RangeError for no positives, a sensitivity of 0, or an epsilon below 2e-9.
 */
export function calibrateSparseVector(
  shape: SparseVectorShape,
  epsilonNano: EpsilonNano,
): SparseVectorMeasurement {
  requireShape(shape)
  if (epsilonNano < LEAST_SPARSE_VECTOR_EPSILON_NANO)
    throw new RangeError('the sparse vector technique needs an epsilon of at least 2e-9')
  const { positives, sensitivity, monotonic } = shape
  const thresholdEpsilonNano = thresholdShare(shape, epsilonNano)
  const thresholdNano = sensitivity * ONE_EPSILON_NANO
  const questionNano = questionDistance(shape) * ONE_EPSILON_NANO
  const questionEpsilonNano = epsilonNano - thresholdEpsilonNano
  const fractionBits = Math.max(
    fineFractionBits(thresholdNano, thresholdEpsilonNano),
    fineFractionBits(questionNano, questionEpsilonNano),
  )
  const measurement: SparseVectorMeasurement = {
    positives,
    sensitivity,
    monotonic,
    fractionBits,
    thresholdScale: divideRoundingUp(thresholdNano << BigInt(fractionBits), thresholdEpsilonNano),
    questionScale: divideRoundingUp(questionNano << BigInt(fractionBits), questionEpsilonNano),
    loss: { ...NO_LOSS, epsilonNano },
  }
  requireWithin(sparseVectorPrivacyMap(measurement), measurement.loss)
  return measurement
}

function requireShape({ positives, sensitivity }: SparseVectorShape): void {
  if (!Number.isSafeInteger(positives) || positives < 1)
    throw new RangeError('the sparse vector technique needs at least one positive')
  if (sensitivity < 1n)
    throw new RangeError('the sparse vector technique needs a sensitivity of at least one grid unit')
}

/** Largest total shift of the noise of all answers "above" between neighbours, in grid units. */
function questionDistance({ positives, sensitivity, monotonic }: SparseVectorShape): bigint {
  return (monotonic ? 1n : 2n) * BigInt(positives) * sensitivity
}

/** Share of the threshold. Every share is private and the best one only affects accuracy, so doubles suffice. */
function thresholdShare(shape: SparseVectorShape, epsilonNano: EpsilonNano): bigint {
  const ratio = Math.cbrt(Number(questionDistance(shape) / shape.sensitivity)) ** 2
  const share = BigInt(Math.floor(Number(epsilonNano) / (1 + ratio)))
  return share < 1n ? 1n : share
}

/**
 * Loss of answering a whole sequence of questions: sensitivity / threshold scale + k positives sensitivity / question
 * scale, exact, rounded up to 1e-9.
 * @throws RangeError for scales below 1.
 */
export function sparseVectorPrivacyMap(measurement: SparseVectorMeasurement): PrivacyLoss {
  const { sensitivity, thresholdScale, questionScale, fractionBits } = measurement
  requireShape(measurement)
  if (thresholdScale < 1n || questionScale < 1n) throw new RangeError('the scale of noise must be above 0')
  const dividend = sensitivity * questionScale + questionDistance(measurement) * thresholdScale
  return {
    ...NO_LOSS,
    epsilonNano: brandEpsilon(
      divideRoundingUp((dividend << BigInt(fractionBits)) * ONE_EPSILON_NANO, thresholdScale * questionScale),
    ),
  }
}

/** Price of a whole sequence in zCDP: that of any mechanism of its epsilon. */
export function sparseVectorRho(measurement: SparseVectorMeasurement): RhoPico {
  return pureRho(sparseVectorPrivacyMap(measurement).epsilonNano)
}

/** Shares of the loss for the two noises, in nano-epsilons, rounded up. */
export function sparseVectorShares({
  sensitivity,
  thresholdScale,
  loss,
  fractionBits,
}: SparseVectorMeasurement): { readonly threshold: EpsilonNano; readonly questions: EpsilonNano } {
  const threshold = divideRoundingUp((sensitivity << BigInt(fractionBits)) * ONE_EPSILON_NANO, thresholdScale)
  return { threshold: brandEpsilon(threshold), questions: brandEpsilon(loss.epsilonNano - threshold) }
}

/** Draws the threshold's noise, in output units: once for each sequence, with which it is stored, and never shown. */
export function drawThresholdNoise(measurement: SparseVectorMeasurement, source: UniformSource): bigint {
  return discreteLaplaceSampler(rational(measurement.thresholdScale, 1n), source)()
}

/**
 * Answers one question of a sequence: "above", with the gap, if the value plus fresh noise is at least the threshold plus
 * the sequence's noise. The answer must be counted before the next question is answered.
 *
 * @throws RangeError if the sequence has no positive left; and any error of the source.
 */
export function compareWithThreshold(
  measurement: SparseVectorMeasurement,
  { threshold, thresholdNoise, positivesFound, value }: ThresholdQuestion,
  source: UniformSource,
): ThresholdAnswer {
  if (!(positivesFound < measurement.positives)) throw new RangeError('no positive is left')
  const questionNoise = discreteLaplaceSampler(rational(measurement.questionScale, 1n), source)()
  const distance = (value - threshold) << BigInt(measurement.fractionBits)
  const gap = distance + questionNoise - thresholdNoise
  return gap >= 0n ? { above: true, gap } : { above: false }
}

/**
 * Margin around the threshold, in grid units: with this confidence, all of `questions` answers are right whose values are
 * further than this from the threshold.
 * @throws RangeError for a confidence outside (0, 1) or fewer than one question.
 */
export function sparseVectorMargin(
  measurement: SparseVectorMeasurement,
  confidence: number,
  questions: number,
): number {
  requireConfidence(confidence)
  if (!(questions >= 1)) throw new RangeError('a margin needs at least one question')
  // A value is on one side of the threshold, so only one of the two tails can make the answer wrong.
  return differenceQuantile(measurement, (2 * (1 - confidence)) / questions) * 2 ** -measurement.fractionBits
}

/**
 * Accuracy of threshold + gap as an estimate of the value, in grid units, from the distribution of the difference of both
 * noises. It does not condition on the answer: given "above", large differences are likelier, because values below the
 * threshold appear only if they are overestimated.
 * @throws RangeError for a confidence outside (0, 1).
 */
export function sparseVectorGapAccuracy(measurement: SparseVectorMeasurement, confidence: number) {
  requireConfidence(confidence)
  const [a, b] = scales(measurement)
  const outputUnit = 2 ** -measurement.fractionBits
  return {
    halfWidth: differenceQuantile(measurement, 1 - confidence) * outputUnit,
    // Expected error of continuous noise; the grid changes it by less than two output units.
    expectedAbsoluteError: ((a * a + a * b + b * b) / (a + b)) * outputUnit,
  }
}

/**
 * Number of output units that the difference of the two noises exceeds in magnitude with at most this probability. With
 * continuous Laplace noises of scales a <= b that is (b^2 exp(-t / b) - a^2 exp(-t / a)) / (b^2 - a^2) = exp(-t / b) (1
 * + a t phi / (b (a + b))), phi = (1 - exp(-t u)) / (t u), u = 1 / a - 1 / b; each discrete noise is within one unit of
 * a continuous one (src/core/mechanisms/selection/sparse-vector.md).
 */
function differenceQuantile(measurement: SparseVectorMeasurement, probability: number): number {
  const [a, b] = scales(measurement)
  const inverse = (b - a) / (a * b)
  const exceeds = (t: number) => {
    const phi = inverse === 0 || t === 0 ? 1 : -Math.expm1(-t * inverse) / (t * inverse)
    return Math.exp(-t / b) * (1 + ((a / (a + b)) * t * phi) / b) > probability
  }
  let [lower, upper] = [0, b]
  while (exceeds(upper)) [lower, upper] = [upper, 2 * upper]
  for (let bisection = 0; bisection < 60; bisection += 1) {
    const middle = (lower + upper) / 2
    if (exceeds(middle)) lower = middle
    else upper = middle
  }
  // The factor covers the roundings of this function: they can overstate the result, never understate it.
  return Math.ceil(upper * (1 + 1e-12)) + 2
}

/** Both scales as doubles, the smaller first. */
function scales({ thresholdScale, questionScale }: SparseVectorMeasurement): readonly [number, number] {
  const [threshold, question] = [Number(thresholdScale), Number(questionScale)]
  return threshold < question ? [threshold, question] : [question, threshold]
}
