import type { Measurement } from '../../core/mechanisms/measurement.ts'
import { accuracy } from '../../core/mechanisms/mechanism.ts'
import { discreteGaussianMass } from '../../core/mechanisms/samplers/discrete-gaussian.ts'
import { discreteLaplaceMass } from '../../core/mechanisms/samplers/discrete-laplace.ts'

/** Largest number of points; more cannot be distinguished on a page. */
const MOST_POINTS = 401
/** Probability that the noise lies within the range of the points. */
const SHOWN = 0.9999

/**
 * Computes the distribution of the noise of one entry, in grid units, at enough points to plot it: all values within
 * their range if `discrete`, otherwise evenly spaced ones with the density per grid unit as their `probability`.
 */
export function noiseDistribution(measurement: Measurement) {
  const outputUnit = 2 ** -measurement.fractionBits
  const farthest = BigInt(Math.max(1, Math.round(accuracy(measurement, SHOWN).halfWidth / outputUnit)))
  const half = BigInt((MOST_POINTS - 1) / 2)
  const discrete = farthest <= half
  const places = discrete ? farthest : half
  const points = Array.from({ length: 2 * Number(places) + 1 }, (_, index) => {
    const noise = ((BigInt(index) - places) * farthest) / places
    const probability = mass(measurement, noise)
    return {
      noise: Number(noise) * outputUnit,
      probability: discrete ? probability : probability / outputUnit,
    }
  })
  return { discrete, points }
}

/** Probability, as a double, that the noise of one entry is `noise` output units. */
export function mass({ noise: distribution }: Measurement, noise: bigint): number {
  return distribution.kind === 'discrete-laplace'
    ? discreteLaplaceMass(noise, distribution.scale)
    : discreteGaussianMass(noise, { numerator: distribution.sigma ** 2n, denominator: 1n })
}
