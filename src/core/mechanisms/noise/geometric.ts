import {
  epsilonNano as brandEpsilon,
  type EpsilonNano,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { divideRoundingUp, numberFromRational, type Rational, rational } from '../../../privacy/rational.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import { discreteLaplaceRho } from '../../../privacy/zero-concentrated.ts'
import { type Accuracy, type Measurement, sensitivityInOutputUnits } from '../measurement.ts'
import { requireConfidence, requireEpsilon, requireSensitivity, requireWithin } from '../preconditions.ts'

/**
 * The geometric mechanism: discrete Laplace noise on the aggregate's own grid.
 *
 * | what             | valid                                                      | unit                |
 * |------------------|------------------------------------------------------------|---------------------|
 * | input            | a vector of integers of any size                           | grid units          |
 * | input metric     | L1 sensitivity, at least 1                                 | grid units          |
 * | output           | a vector of integers; `fractionBits` is 0                  | grid units          |
 * | privacy measure  | pure differential privacy, epsilon above 0                 | 1e-9, rounded up    |
 * | scale            | L1 / epsilon, an exact fraction: nothing is rounded        | grid units          |
 *
 * Privacy map: epsilon = L1 / scale; the least rho, from L1 and L-infinity. Source: Ghosh, Roughgarden, Sundararajan
 * 2009, "Universally Utility-Maximizing Privacy Mechanisms" (arXiv 0811.2841). Proof: src/core/mechanisms/noise/geometric.md.
 */

/**
 * Binds the geometric mechanism to a sensitivity and an epsilon.
 * @throws RangeError for a sensitivity or an epsilon of 0.
 */
export function calibrateGeometric(sensitivity: Sensitivity, epsilonNano: EpsilonNano): Measurement {
  requireSensitivity(sensitivity)
  requireEpsilon(epsilonNano)
  const measurement: Measurement = {
    mechanism: 'geometric',
    sensitivity,
    fractionBits: 0,
    noise: {
      kind: 'discrete-laplace',
      scale: rational(sensitivity.l1 * ONE_EPSILON_NANO, epsilonNano),
    },
    loss: { ...NO_LOSS, epsilonNano },
  }
  requireWithin(laplacePrivacyMap(measurement, sensitivity), measurement.loss)
  return measurement
}

/**
 * Loss of releasing an aggregate of this sensitivity with discrete Laplace noise on any grid: epsilon = L1 / scale,
 * rounded up to 1e-9.
 * @throws RangeError for a measurement with other noise.
 */
export function laplacePrivacyMap(measurement: Measurement, sensitivity: Sensitivity): PrivacyLoss {
  const scale = laplaceScale(measurement)
  const { l1 } = sensitivityInOutputUnits(sensitivity, measurement.fractionBits)
  return {
    ...NO_LOSS,
    epsilonNano: brandEpsilon(divideRoundingUp(l1 * ONE_EPSILON_NANO * scale.denominator, scale.numerator)),
  }
}

/**
 * Price of such a release in zero-concentrated differential privacy: the least rho, rounded up to 1e-12. It depends on
 * the grid: a coarse grid costs more than a fine one at the same epsilon. Proof: src/core/mechanisms/noise/geometric.md.
 * @throws RangeError for a measurement with other noise.
 */
export function laplaceZeroConcentratedMap(measurement: Measurement, sensitivity: Sensitivity): RhoPico {
  const inOutputUnits = sensitivityInOutputUnits(sensitivity, measurement.fractionBits)
  return discreteLaplaceRho(laplaceScale(measurement), inOutputUnits)
}

/**
 * Parameter of the geometric distribution of which discrete Laplace noise of this scale, in units of the noise, is the
 * difference of two independent draws: the probability of success 1 - exp(-1 / scale), as a double, never for sampling.
 */
export function geometricParameter(scale: Rational): number {
  return -Math.expm1(-1 / numberFromRational(scale))
}

/** The least whole h for which P(|X| > h) = 2 q^(h + 1) / (1 + q) is at most alpha, q = exp(-1 / scale). */
export function discreteLaplaceHalfWidth(scale: number, alpha: number): number {
  // The factor covers the roundings of this line: they can overstate the half-width, never understate it.
  const successor = scale * Math.log(2 / (alpha * (1 + Math.exp(-1 / scale)))) * (1 + 4 * Number.EPSILON)
  return Math.max(0, Math.ceil(successor) - 1)
}

/**
 * Error bounds of discrete Laplace noise on any grid. With q = exp(-1 / scale), P(|X| > h) = 2 q^(h + 1) / (1 + q)
 * for whole h, so the half-width is the smallest h with h + 1 >= scale * ln(2 / (alpha (1 + q))); E|X| = 1 / sinh(1 /
 * scale); the variance is 1 / (2 sinh(1 / (2 scale))^2).
 * @throws RangeError for a confidence outside (0, 1), or a measurement with other noise.
 */
export function laplaceAccuracy(measurement: Measurement, confidence: number): Accuracy {
  requireConfidence(confidence)
  const scale = numberFromRational(laplaceScale(measurement))
  const outputUnit = 2 ** -measurement.fractionBits
  return {
    confidence,
    halfWidth: discreteLaplaceHalfWidth(scale, 1 - confidence) * outputUnit,
    expectedAbsoluteError: outputUnit / Math.sinh(1 / scale),
    standardDeviation: (outputUnit * Math.SQRT1_2) / Math.sinh(0.5 / scale),
  }
}

function laplaceScale({ noise }: Measurement): Rational {
  if (noise.kind !== 'discrete-laplace')
    throw new RangeError('this measurement has no discrete Laplace noise')
  return noise.scale
}
