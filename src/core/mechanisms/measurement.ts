import type { PrivacyLoss } from '../../privacy/loss.ts'
import { entry } from '../../privacy/must.ts'
import { numberFromRational, type Rational } from '../../privacy/rational.ts'
import type { Sensitivity } from '../../privacy/sensitivity.ts'
import { discreteGaussianSampler } from './samplers/discrete-gaussian.ts'
import { discreteLaplaceSampler } from './samplers/discrete-laplace.ts'
import type { UniformSource } from './samplers/uniform-source.ts'

/** The mechanisms a query may name. */
export type MechanismName = 'geometric' | 'laplace' | 'gaussian'

/** Formula that turns (epsilon, delta) into the standard deviation of the Gaussian mechanism. */
export type GaussianCalibration = 'classic' | 'analytic'

/**
 * Distribution of the integer noise, in output units. Discrete Laplace: P(y) proportional to exp(-|y| / scale).
 * Discrete Gaussian: P(y) proportional to exp(-y^2 / (2 sigma^2)).
 */
export type IntegerNoise =
  | { readonly kind: 'discrete-laplace'; readonly scale: Rational }
  | { readonly kind: 'discrete-gaussian'; readonly sigma: bigint }

/**
 * An additive mechanism bound to one vector of integers: everything that is needed to sample it, to price it and to
 * state its accuracy, and nothing about data.
 *
 * The aggregate is an integer vector in *grid units*. An output unit is 2^-`fractionBits` of a grid unit: the aggregate
 * is multiplied by 2^`fractionBits` (exactly), then integer noise with the stated distribution is added to each entry.
 */
export interface Measurement {
  readonly mechanism: MechanismName
  /** Only for the Gaussian mechanism. */
  readonly calibration?: GaussianCalibration
  /** In grid units. */
  readonly sensitivity: Sensitivity
  readonly fractionBits: number
  readonly noise: IntegerNoise
  /** Loss of one release. */
  readonly loss: PrivacyLoss
}

/** Error bounds for one entry of a release, in grid units, computed without data. */
export interface Accuracy {
  /** Lower bound on the probability that the error is at most `halfWidth`. */
  readonly confidence: number
  readonly halfWidth: number
  readonly expectedAbsoluteError: number
  readonly standardDeviation: number
}

/** Converts a sensitivity from grid units to output units, exactly. */
export function sensitivityInOutputUnits(sensitivity: Sensitivity, fractionBits: number): Sensitivity {
  const shift = BigInt(fractionBits)
  return {
    l0: sensitivity.l0,
    l1: sensitivity.l1 << shift,
    l2Squared: sensitivity.l2Squared << (2n * shift),
    lInfinity: sensitivity.lInfinity << shift,
  }
}

/**
 * Releases a vector: each entry scaled to output units, plus independent noise with exactly the measurement's
 * distribution.
 *
 * @param values the aggregate, in grid units.
 * @returns the noisy aggregate, in output units of 2^-`fractionBits` grid units.
 * @throws any error of the source: a failure of randomness is fatal, and nothing is released.
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

/** Entries that take one step of {@link addNoises}. */
const ENTRIES_IN_A_STEP = 20_000

/**
 * Releases several vectors as {@link addNoise} does, each by its own measurement, in steps between which other work can be done.
 * The return value of the generator is the result.
 */
export function* addNoises(
  measurements: readonly Measurement[],
  vectors: readonly (readonly bigint[])[],
  source: UniformSource,
): Generator<void, readonly (readonly bigint[])[]> {
  const noisy: bigint[][] = []
  for (const [place, measurement] of measurements.entries()) {
    const exact = entry(vectors, place)
    const released: bigint[] = []
    for (let first = 0; first < exact.length; first += ENTRIES_IN_A_STEP) {
      if (place + first > 0) yield
      for (const integer of addNoise(measurement, exact.slice(first, first + ENTRIES_IN_A_STEP), source))
        released.push(integer)
    }
    noisy.push(released)
  }
  return noisy
}

/**
 * The noise of each entry of a release as it is stated: its scale, the sensitivity to which that is proportional, and the distance
 * between neighbouring outputs.
 * @param gridUnit one grid unit, in the unit of the result
 */
export function statedNoise({ noise, fractionBits, sensitivity }: Measurement, gridUnit = 1) {
  const granularity = gridUnit / 2 ** fractionBits
  const stated = (scale: number, proportionalTo: number) => ({
    scale: scale * granularity,
    sensitivity: proportionalTo * gridUnit,
    granularity,
  })
  switch (noise.kind) {
    case 'discrete-laplace':
      return stated(numberFromRational(noise.scale), sensitivityFor('laplace', sensitivity))
    case 'discrete-gaussian':
      return stated(Number(noise.sigma), sensitivityFor('gaussian', sensitivity))
  }
}

/**
 * The shape of noise, on which it depends to which sensitivity its scale is proportional, and how its variance follows from a share
 * of a price: gaussian, 1 / share (of rho); laplace, 1 / share^2 (of epsilon).
 */
export type NoiseShape = 'gaussian' | 'laplace'

/** Returns the sensitivity to which the scale of a noise is proportional. */
export function sensitivityFor(shape: NoiseShape, { l1, l2Squared }: Sensitivity): number {
  switch (shape) {
    case 'laplace':
      return Number(l1)
    case 'gaussian':
      return Math.sqrt(Number(l2Squared))
  }
}

/** Creates a sampler of the noise, in output units. */
export function noiseSampler(noise: IntegerNoise, source: UniformSource): () => bigint {
  switch (noise.kind) {
    case 'discrete-laplace':
      return discreteLaplaceSampler(noise.scale, source)
    case 'discrete-gaussian':
      return discreteGaussianSampler(noise.sigma, source)
  }
}
