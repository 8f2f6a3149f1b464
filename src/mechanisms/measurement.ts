import type { PrivacyLoss } from '../privacy/loss.ts'
import type { Rational } from '../privacy/rational.ts'
import type { Sensitivity } from '../privacy/sensitivity.ts'

/** The mechanisms a query may name. */
export type MechanismName = 'geometric' | 'laplace' | 'gaussian'

/** How (epsilon, delta) becomes the standard deviation of the Gaussian mechanism. */
export type GaussianCalibration = 'classic' | 'analytic'

/**
 * The law of the integer noise, in output units. Discrete Laplace: P(y) proportional to exp(-|y| / scale).
 * Discrete Gaussian: P(y) proportional to exp(-y^2 / (2 sigma^2)).
 */
export type NoiseLaw =
  | { readonly kind: 'discrete-laplace'; readonly scale: Rational }
  | { readonly kind: 'discrete-gaussian'; readonly sigma: bigint }

/**
 * A mechanism bound to one vector of integers: everything that is needed to sample it, to price it and to state its
 * accuracy, and nothing about data.
 *
 * The aggregate is an integer vector in *grid units*. An output unit is 2^-`fractionBits` of a grid unit: the
 * aggregate is multiplied by 2^`fractionBits` (exactly), then integer noise of the stated law is added to each entry.
 */
export interface Measurement {
  readonly mechanism: MechanismName
  /** Only for the Gaussian mechanism. */
  readonly calibration?: GaussianCalibration
  /** In grid units. */
  readonly sensitivity: Sensitivity
  readonly fractionBits: number
  readonly noise: NoiseLaw
  /** What a release costs. */
  readonly loss: PrivacyLoss
}

/** How far off one entry of a release can be, in grid units, computed without data. */
export interface Accuracy {
  /** The probability that the error is at most `halfWidth`, at least. */
  readonly confidence: number
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
  readonly standardDeviation: number
}

/** The sensitivity that the released vector has, in output units: multiplying by a power of two loses nothing. */
export function sensitivityInOutputUnits(sensitivity: Sensitivity, fractionBits: number): Sensitivity {
  const shift = BigInt(fractionBits)
  return {
    l1: sensitivity.l1 << shift,
    l2Squared: sensitivity.l2Squared << (2n * shift),
    lInfinity: sensitivity.lInfinity << shift,
  }
}
