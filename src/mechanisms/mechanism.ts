import type { PrivacyLoss, RhoPico } from '../privacy/loss.ts'
import type { Sensitivity } from '../privacy/sensitivity.ts'
import {
  gaussianAccuracy,
  gaussianMass,
  gaussianPrivacyMap,
  gaussianZeroConcentratedMap,
} from './gaussian.ts'
import { laplaceAccuracy, laplaceMass, laplacePrivacyMap, laplaceZeroConcentratedMap } from './geometric.ts'
import type { Accuracy, Measurement, MechanismName, NoiseLaw } from './measurement.ts'
import { discreteGaussianSampler } from './samplers/discrete-gaussian.ts'
import { discreteLaplaceSampler } from './samplers/discrete-laplace.ts'
import type { UniformSource } from './samplers/uniform-source.ts'

/** What every mechanism can tell about a measurement of its own. */
interface Mechanism {
  readonly privacyMap: (measurement: Measurement, sensitivity: Sensitivity) => PrivacyLoss
  readonly zeroConcentratedMap: (measurement: Measurement, sensitivity: Sensitivity) => RhoPico
  readonly accuracy: (measurement: Measurement, confidence: number) => Accuracy
  readonly mass: (measurement: Measurement, noise: bigint) => number
}

/** Both mechanisms have the same law; only their grids differ. */
const discreteLaplace = {
  privacyMap: laplacePrivacyMap,
  zeroConcentratedMap: laplaceZeroConcentratedMap,
  accuracy: laplaceAccuracy,
  mass: laplaceMass,
} as const satisfies Mechanism

const mechanisms = {
  geometric: discreteLaplace,
  laplace: discreteLaplace,
  gaussian: {
    privacyMap: gaussianPrivacyMap,
    zeroConcentratedMap: gaussianZeroConcentratedMap,
    accuracy: gaussianAccuracy,
    mass: gaussianMass,
  },
} as const satisfies Record<MechanismName, Mechanism>

/** Every mechanism's name. */
export const MECHANISM_NAMES = Object.keys(mechanisms) as readonly MechanismName[]

/**
 * Release a vector: each entry scaled to output units, plus independent noise of the measurement's law, exactly.
 *
 * @param values the aggregate, in grid units.
 * @returns the noisy aggregate, in output units of 2^-`fractionBits` grid units.
 * @throws whatever the source throws: a failure of randomness is fatal, and nothing is released.
 */
export function addNoise(
  { fractionBits, noise }: Measurement,
  values: readonly bigint[],
  source: UniformSource,
): bigint[] {
  const sample = noiseSampler(noise, source)
  const shift = BigInt(fractionBits)
  return values.map((value) => (value << shift) + sample())
}

/** A sampler of the law, in output units. */
export function noiseSampler(noise: NoiseLaw, source: UniformSource): () => bigint {
  switch (noise.kind) {
    case 'discrete-laplace':
      return discreteLaplaceSampler(noise.scale, source)
    case 'discrete-gaussian':
      return discreteGaussianSampler(noise.sigma, source)
  }
}

/**
 * The privacy loss of releasing an aggregate of this sensitivity with the measurement's noise, rounded up.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function privacyMap(measurement: Measurement, sensitivity: Sensitivity): PrivacyLoss {
  return mechanisms[measurement.mechanism].privacyMap(measurement, sensitivity)
}

/**
 * The rho of zero-concentrated differential privacy that releasing an aggregate of this sensitivity with the
 * measurement's noise costs, rounded up to 1e-12.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function zeroConcentratedMap(measurement: Measurement, sensitivity: Sensitivity): RhoPico {
  return mechanisms[measurement.mechanism].zeroConcentratedMap(measurement, sensitivity)
}

/**
 * The probability that the noise of one entry is `noise` output units, as a double: for tests and for people, never for
 * sampling.
 * @throws RangeError for a measurement that its mechanism cannot have made.
 */
export function mass(measurement: Measurement, noise: bigint): number {
  return mechanisms[measurement.mechanism].mass(measurement, noise)
}

/**
 * How far off each entry of a release is, in grid units, without looking at data.
 * @throws RangeError for a confidence that is not strictly between 0 and 1.
 */
export function accuracy(measurement: Measurement, confidence: number): Accuracy {
  return mechanisms[measurement.mechanism].accuracy(measurement, confidence)
}
