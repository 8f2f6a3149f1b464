import type { PrivacyLoss, RhoPico } from '../../privacy/loss.ts'
import type { Sensitivity } from '../../privacy/sensitivity.ts'
import type { Accuracy, AdditiveMechanism, Measurement, MechanismName } from './measurement.ts'
import { gaussianMechanism } from './noise/gaussian.ts'
import { geometricMechanism } from './noise/geometric.ts'
import { laplaceMechanism } from './noise/laplace.ts'

const mechanisms = {
  geometric: geometricMechanism,
  laplace: laplaceMechanism,
  gaussian: gaussianMechanism,
} as const satisfies Record<MechanismName, AdditiveMechanism>

/** Names of all additive mechanisms. */
export const MECHANISM_NAMES = Object.keys(mechanisms) as readonly MechanismName[]

/**
 * Privacy loss of releasing an aggregate of this sensitivity with the measurement's noise, rounded up.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function privacyMap(measurement: Measurement, sensitivity: Sensitivity): PrivacyLoss {
  return mechanisms[measurement.mechanism].privacyMap(measurement, sensitivity)
}

/**
 * Price in zero-concentrated differential privacy (rho) of releasing an aggregate of this sensitivity with the
 * measurement's noise, rounded up to 1e-12.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function zeroConcentratedMap(measurement: Measurement, sensitivity: Sensitivity): RhoPico {
  return mechanisms[measurement.mechanism].zeroConcentratedMap(measurement, sensitivity)
}

/**
 * Probability, as a double, that the noise of one entry is `noise` output units: never for sampling.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function mass(measurement: Measurement, noise: bigint): number {
  return mechanisms[measurement.mechanism].mass(measurement, noise)
}

/**
 * Error bounds for each entry of a release, in grid units, computed without data.
 * @throws RangeError for a confidence that is not strictly between 0 and 1.
 */
export function accuracy(measurement: Measurement, confidence: number): Accuracy {
  return mechanisms[measurement.mechanism].accuracy(measurement, confidence)
}
