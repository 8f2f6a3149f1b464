import type { PrivacyLoss, RhoPico } from '../../privacy/loss.ts'
import type { Sensitivity } from '../../privacy/sensitivity.ts'
import type { Accuracy, Measurement } from './measurement.ts'
import { gaussianAccuracy, gaussianPrivacyMap, gaussianZeroConcentratedMap } from './noise/gaussian.ts'
import { laplaceAccuracy, laplacePrivacyMap, laplaceZeroConcentratedMap } from './noise/geometric.ts'

/** Privacy loss of releasing an aggregate of this sensitivity with the measurement's noise, rounded up. */
export function privacyMap(measurement: Measurement, sensitivity: Sensitivity): PrivacyLoss {
  return measurement.mechanism === 'gaussian'
    ? gaussianPrivacyMap(measurement, sensitivity)
    : laplacePrivacyMap(measurement, sensitivity)
}

/**
 * Price in zero-concentrated differential privacy (rho) of releasing an aggregate of this sensitivity with the
 * measurement's noise, rounded up to 1e-12.
 */
export function zeroConcentratedMap(measurement: Measurement, sensitivity: Sensitivity): RhoPico {
  return measurement.mechanism === 'gaussian'
    ? gaussianZeroConcentratedMap(measurement, sensitivity)
    : laplaceZeroConcentratedMap(measurement, sensitivity)
}

/**
 * Error bounds for each entry of a release, in grid units, computed without data.
 * @throws RangeError for a confidence that is not strictly between 0 and 1.
 */
export function accuracy(measurement: Measurement, confidence: number): Accuracy {
  return measurement.mechanism === 'gaussian'
    ? gaussianAccuracy(measurement, confidence)
    : laplaceAccuracy(measurement, confidence)
}
