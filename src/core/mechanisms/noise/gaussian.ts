import erfcx from '@stdlib/math-base-special-erfcx'
import {
  analyticGaussianRatio,
  classicGaussianRatio,
  gaussianDeltaUpperBound,
} from '../../../privacy/gaussian-calibration.ts'
import {
  type DeltaAtto,
  deltaAtto,
  deltaNumber,
  type EpsilonNano,
  epsilonNumber,
  NO_LOSS,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  ONE_RHO_PICO,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import { epsilonOfRho } from '../../../privacy/zcdp-conversion.ts'
import { discreteGaussianRho } from '../../../privacy/zero-concentrated.ts'
import {
  type Accuracy,
  type GaussianCalibration,
  type Measurement,
  sensitivityInOutputUnits,
} from '../measurement.ts'
import { requireConfidence, requireEpsilon, requireSensitivity, requireWithin } from '../preconditions.ts'

/**
 * The Gaussian mechanism: discrete Gaussian noise on a grid that is much finer than the noise. It protects as well as
 * the continuous distribution, up to a difference that is bounded and included in delta.
 *
 * | what             | valid                                                      | unit                |
 * |------------------|------------------------------------------------------------|---------------------|
 * | input            | a vector of integers of any size                           | grid units          |
 * | input metric     | L2 sensitivity, at least 1, given as its square            | grid units          |
 * |                  | L0 sensitivity: the number of entries that change          | entries             |
 * | output           | a vector of integers                                       | 2^-`fractionBits`   |
 * | privacy measure  | (epsilon, delta), epsilon above 0, 0 < delta < 1           | 1e-9, 1e-18 up      |
 * | sigma            | a whole number, rounded up, 2^40 or more, twice as much    | 2^-`fractionBits`   |
 * |                  | each time four times as many entries change, from 2^20 on  |                     |
 * | calibration      | `analytic`: the least noise; `classic`: epsilon at most 1  |                     |
 *
 * `fractionBits` is the smallest number for which sigma is that large: it follows from L2, L0, epsilon and delta, which
 * are public. Privacy map: at the measurement's epsilon, the analytic delta (Balle and Wang 2018, arXiv 1805.06530,
 * theorem 8) of sigma / L2, plus what the grid and floating point can add, rounded up; rho = L2^2 / (2 sigma^2), exact,
 * rounded up. Proof: src/core/mechanisms/noise/gaussian.md.
 */

/**
 * Least sigma, in output units, where at most {@link FEW_ENTRIES} entries change. The grid then adds less than 4e-20 to
 * delta.
 */
const SMALLEST_SIGMA = 2 ** 40
const FEW_ENTRIES = 2 ** 20

/**
 * Calibration aims below the requested delta by the grid's share of it ({@link gridDelta}) and by these margins, which
 * cover what the privacy map adds for floating point: 1e-9 of delta and 1e-26.
 */
const RELATIVE_MARGIN = 1e-8
const ABSOLUTE_MARGIN = 1e-25

/**
 * Binds the Gaussian mechanism to a sensitivity, an epsilon and a delta.
 * @throws Refusal (`mechanism-not-applicable`) for a delta of 0, and for the classic calibration with an epsilon above 1.
 * @throws RangeError for a sensitivity or an epsilon of 0, or a delta of 1.
 */
export function calibrateGaussian(
  sensitivity: Sensitivity,
  epsilonNano: EpsilonNano,
  delta: DeltaAtto,
  calibration: GaussianCalibration,
): Measurement {
  return entry(calibrateGaussianJointly([sensitivity], epsilonNano, delta, calibration), 0)
}

/**
 * Binds the Gaussian mechanism to several vectors that are released together, at one epsilon and one delta for all of
 * them. Each measured in its own sigma, they form one vector, and each contributes its share to the square of its length, by default
 * the same. Every sigma therefore grows with the square root of their number; with shares of the epsilon it would grow with the
 * number. The loss of each measurement is that of releasing it alone.
 * @param joint where no unit moves all vectors as far as each by itself: for every move that a unit can make, the sensitivity of
 * each vector to it; and widths in proportion to the sigma of each vector, in which no move is longer than 1
 * @throws as {@link calibrateGaussian}.
 */
export function calibrateGaussianJointly(
  sensitivities: readonly Sensitivity[],
  epsilonNano: EpsilonNano,
  delta: DeltaAtto,
  calibration: GaussianCalibration,
  joint?: { readonly moves: readonly (readonly Sensitivity[])[]; readonly widths: readonly number[] },
): readonly Measurement[] {
  for (const sensitivity of sensitivities) requireSensitivity(sensitivity)
  requireEpsilon(epsilonNano)
  if (delta === 0n) {
    const rule = 'must be greater than 0 for the gaussian mechanism'
    throw refuseField('mechanism-not-applicable', 'delta', rule)
  }
  if (delta === ONE_DELTA_ATTO) throw new RangeError('delta must be below 1')
  requireCalibrationHolds(calibration, epsilonNano)
  const smallestSigma = smallestSigmaFor(sensitivities)
  const target = calibrationTarget(sensitivities, epsilonNano, delta, calibration)
  const ratio = ratioOf[calibration](epsilonNumber(epsilonNano), target)
  const measurements = sensitivities.map((sensitivity, place): Measurement => {
    let sigma =
      joint === undefined
        ? ratio * Math.sqrt(sensitivities.length) * Math.sqrt(Number(sensitivity.l2Squared))
        : ratio * entry(joint.widths, place)
    let fractionBits = 0
    for (; sigma < smallestSigma; fractionBits += 1) sigma *= 2
    const noise = { kind: 'discrete-gaussian', sigma: BigInt(Math.ceil(sigma)) } as const
    const unpriced = { mechanism: 'gaussian', calibration, sensitivity, fractionBits, noise } as const
    return { ...unpriced, loss: jointGaussianPrivacyMap([unpriced], epsilonNano) }
  })
  const allowed = { epsilonNano, deltaAtto: delta }
  for (const move of joint?.moves ?? [sensitivities]) {
    const moved = measurements.map((each, place) => ({ ...each, sensitivity: entry(move, place) }))
    requireWithin(jointGaussianPrivacyMap(moved, epsilonNano), allowed)
  }
  // A single vector costs the requested loss. Savings from the rounding of sigma are not passed on.
  return measurements.length === 1 ? measurements.map((only) => ({ ...only, loss: allowed })) : measurements
}

/**
 * Binds the Gaussian mechanism to a sensitivity and a rho. On whole numbers the grid adds nothing to a rho, so that it can be
 * coarse.
 * @param leastSigma sigma has at least this number of output units.
 * @param deltaAtto delta at which the loss is stated
 * @throws RangeError for a sensitivity, a rho or a delta of 0.
 */
export function calibrateGaussianByRho(
  sensitivity: Sensitivity,
  rho: RhoPico,
  leastSigma: number,
  delta: DeltaAtto,
): Measurement {
  requireSensitivity(sensitivity)
  if (rho < 1n) throw new RangeError('a mechanism needs a rho above 0')
  let sigma = Math.sqrt((Number(sensitivity.l2Squared) * Number(ONE_RHO_PICO)) / (2 * Number(rho)))
  let fractionBits = 0
  for (; sigma < leastSigma; fractionBits += 1) sigma *= 2
  const inOutputUnits = sensitivityInOutputUnits(sensitivity, fractionBits)
  let whole = BigInt(Math.ceil(sigma))
  while (discreteGaussianRho(whole, inOutputUnits) > rho) whole += 1n
  return {
    mechanism: 'gaussian',
    sensitivity,
    fractionBits,
    noise: { kind: 'discrete-gaussian', sigma: whole },
    loss: { epsilonNano: epsilonOfRho(rho, delta), deltaAtto: delta },
  }
}

/**
 * Delta of the continuous distribution for which delta, with the grid's share, is at most `delta`. The grid's share is
 * bounded before sigma is known: every sigma is at least {@link smallestSigmaFor} the entries, and the distance is at
 * most what it would be without the grid, because less delta means more noise.
 */
function calibrationTarget(
  sensitivities: readonly Sensitivity[],
  epsilonNano: EpsilonNano,
  delta: DeltaAtto,
  calibration: GaussianCalibration,
): number {
  const withoutGrid = deltaNumber(delta) * (1 - RELATIVE_MARGIN) - ABSOLUTE_MARGIN
  const distance = 1 / ratioOf[calibration](epsilonNumber(epsilonNano), withoutGrid)
  const smallestVariance = smallestSigmaFor(sensitivities) ** 2
  const grid = gridDelta(distance ** 2, smallestVariance, entriesOf(sensitivities) / smallestVariance)
  return withoutGrid - grid
}

/**
 * Least sigma in output units: the more entries change, the finer is the grid, so that its share of delta is bounded.
 */
function smallestSigmaFor(sensitivities: readonly Sensitivity[]): number {
  const entries = entriesOf(sensitivities)
  let sigma = SMALLEST_SIGMA
  for (let covered = FEW_ENTRIES; covered < entries; covered *= 4) sigma *= 2
  return sigma
}

/** Number of entries that change, at most. */
function entriesOf(sensitivities: readonly Sensitivity[]): number {
  return sensitivities.reduce((sum, { l0 }) => sum + Number(l0), 0)
}

/**
 * The classic formula adds too little noise for an epsilon above 1.
 * @throws Refusal (`mechanism-not-applicable`), saying to use the analytic calibration.
 */
export function requireCalibrationHolds(calibration: GaussianCalibration, epsilonNano: EpsilonNano): void {
  if (calibration === 'analytic' || epsilonNano <= ONE_EPSILON_NANO) return
  throw refuseField(
    'mechanism-not-applicable',
    'calibration',
    'the classic calibration adds too little noise for an epsilon above 1; use "analytic"',
  )
}

const ratioOf = {
  classic: classicGaussianRatio,
  analytic: analyticGaussianRatio,
} as const satisfies Record<GaussianCalibration, (epsilon: number, delta: number) => number>

/**
 * Loss of releasing an aggregate of this sensitivity with the measurement's noise: at the measurement's epsilon, an
 * upper bound on delta, rounded up to 1e-18.
 * @throws RangeError for a measurement with other noise.
 */
export function gaussianPrivacyMap(measurement: Measurement, sensitivity: Sensitivity): PrivacyLoss {
  return jointGaussianPrivacyMap([{ ...measurement, sensitivity }], measurement.loss.epsilonNano)
}

/**
 * Loss of releasing several aggregates together, each with its measurement's noise and sensitivity: at this epsilon, an
 * upper bound on delta, rounded up to 1e-18.
 *
 * Let d be the length of the change, each entry in its own sigma, and c the sum of 1 / sigma^2 over the entries that
 * change. With the smallest sigma, in output units, delta is at most exp(c / 8) (delta of the continuous distribution
 * at distance d + exp(d^2 / (24 sigma^2)) - 1 + c / 24) (src/core/mechanisms/noise/gaussian.md).
 * @throws RangeError for a measurement with other noise.
 */
export function jointGaussianPrivacyMap(
  measurements: readonly Omit<Measurement, 'loss'>[],
  epsilonNano: EpsilonNano,
): PrivacyLoss {
  let [distanceSquared, curvature, smallestVariance] = [0, 0, Number.POSITIVE_INFINITY]
  for (const { noise, sensitivity, fractionBits } of measurements) {
    const sigma = gaussianSigma({ noise })
    const variance = Number(sigma) ** 2
    distanceSquared += Number(sensitivityInOutputUnits(sensitivity, fractionBits).l2Squared) / variance
    curvature += Number(sensitivity.l0) / variance
    smallestVariance = Math.min(smallestVariance, variance)
  }
  if (distanceSquared === 0) return NO_LOSS
  const grid = gridDelta(distanceSquared, smallestVariance, curvature)
  const continuous = gaussianDeltaUpperBound(1 / Math.sqrt(distanceSquared), epsilonNano)
  const delta = Math.min(1, Math.exp(curvature / 8) * (continuous + grid))
  return { epsilonNano, deltaAtto: deltaAtto(BigInt(Math.ceil(delta * Number(ONE_DELTA_ATTO)))) }
}

/**
 * Upper bound on what the grid adds to the delta of the continuous distribution (src/core/mechanisms/noise/gaussian.md).
 * @param distanceSquared square of the distance, in sigmas.
 * @param smallestVariance smallest sigma squared, in output units.
 * @param curvature sum of 1 / sigma^2 over the entries that change, in output units.
 */
function gridDelta(distanceSquared: number, smallestVariance: number, curvature: number): number {
  return Math.expm1(distanceSquared / smallestVariance / 24) + curvature / 24
}

/**
 * Price of such a release in zero-concentrated differential privacy: rho = L2^2 / (2 sigma^2), in integers, rounded up
 * to 1e-12. On whole numbers nothing is added for the grid (Canonne, Kamath, Steinke 2020, arXiv 2004.00010, theorem
 * 4).
 * @throws RangeError for a measurement with other noise.
 */
export function gaussianZeroConcentratedMap(measurement: Measurement, sensitivity: Sensitivity): RhoPico {
  const inOutputUnits = sensitivityInOutputUnits(sensitivity, measurement.fractionBits)
  return discreteGaussianRho(gaussianSigma(measurement), inOutputUnits)
}

/**
 * Error bounds of the noise. For the discrete tail P(Y >= m) <= P(sigma N >= m - 1) for whole m above 0, so the
 * half-width is sigma z rounded up to an output unit, z the two-sided quantile of the standard normal distribution. The
 * standard deviation is at most sigma (Canonne, Kamath, Steinke 2020, arXiv 2004.00010).
 * @throws RangeError for a confidence outside (0, 1), or a measurement with other noise.
 */
export function gaussianAccuracy(measurement: Measurement, confidence: number): Accuracy {
  requireConfidence(confidence)
  const sigma = Number(gaussianSigma(measurement))
  const outputUnit = 2 ** -measurement.fractionBits
  return {
    confidence,
    halfWidth: Math.ceil(sigma * normalHalfWidth(1 - confidence)) * outputUnit,
    expectedAbsoluteError: sigma * Math.sqrt(2 / Math.PI) * outputUnit,
    standardDeviation: sigma * outputUnit,
  }
}

/** The z with P(|N| > z) = alpha, N standard normal, by bisection; rounded up. */
export function normalHalfWidth(alpha: number): number {
  let below = 0
  // exp(-z^2 / 2) at 39 is below the smallest double, so below any alpha.
  let enough = 39
  for (;;) {
    const middle = below + (enough - below) / 2
    if (middle === below || middle === enough) return enough * (1 + 1e-12)
    const tail = Math.exp(-0.5 * middle * middle) * erfcx(middle * Math.SQRT1_2)
    if (tail <= alpha) enough = middle
    else below = middle
  }
}

function gaussianSigma({ noise }: Pick<Measurement, 'noise'>): bigint {
  if (noise.kind !== 'discrete-gaussian')
    throw new RangeError('this measurement has no discrete Gaussian noise')
  return noise.sigma
}
