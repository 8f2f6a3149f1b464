import { type EpsilonNano, NO_LOSS, ONE_EPSILON_NANO } from '../../../privacy/loss.ts'
import { divideRoundingUp, rational } from '../../../privacy/rational.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import { fineFractionBits } from '../fine-grid.ts'
import type { Measurement } from '../measurement.ts'
import { requireEpsilon, requireSensitivity, requireWithin } from '../preconditions.ts'
import { laplacePrivacyMap } from './geometric.ts'

/**
 * The Laplace mechanism: discrete Laplace noise on a grid that is much finer than the noise. The distribution equals the
 * continuous one to within the grid. No floating-point number is involved, so no low-order bit can reveal anything.
 *
 * | what             | valid                                                      | unit                |
 * |------------------|------------------------------------------------------------|---------------------|
 * | input            | a vector of integers of any size                           | grid units          |
 * | input metric     | L1 sensitivity, at least 1                                 | grid units          |
 * | output           | a vector of integers                                       | 2^-`fractionBits`   |
 * | privacy measure  | pure differential privacy, epsilon above 0                 | 1e-9, rounded up    |
 * | scale            | L1 / epsilon rounded up to a whole number, 2^40 or more    | 2^-`fractionBits`   |
 *
 * `fractionBits` is the smallest number for which the scale is 2^40 or more: it follows from L1 and epsilon, which are
 * public. Privacy maps, mass and accuracy: those of the geometric mechanism, on the finer grid. Source: Dwork, McSherry,
 * Nissim, Smith 2006, "Calibrating Noise to Sensitivity in Private Data Analysis". Proof: src/core/mechanisms/noise/laplace.md.
 */

/**
 * Binds the Laplace mechanism to a sensitivity and an epsilon.
 * @param leastScale the scale has at least this number of output units. A coarser grid than the usual one takes less
 * space and loses nothing in privacy.
 * @throws RangeError for a sensitivity or an epsilon of 0.
 */
export function calibrateLaplace(
  sensitivity: Sensitivity,
  epsilonNano: EpsilonNano,
  leastScale?: number,
): Measurement {
  requireSensitivity(sensitivity)
  requireEpsilon(epsilonNano)
  const l1Nano = sensitivity.l1 * ONE_EPSILON_NANO
  const fractionBits = fineFractionBits(l1Nano, epsilonNano, leastScale)
  const scale = divideRoundingUp(l1Nano << BigInt(fractionBits), epsilonNano)
  const measurement: Measurement = {
    mechanism: 'laplace',
    sensitivity,
    fractionBits,
    noise: { kind: 'discrete-laplace', scale: rational(scale, 1n) },
    loss: { ...NO_LOSS, epsilonNano },
  }
  requireWithin(laplacePrivacyMap(measurement, sensitivity), measurement.loss)
  return measurement
}
