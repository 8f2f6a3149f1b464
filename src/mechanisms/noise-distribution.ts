import type { Measurement } from './measurement.ts'
import { accuracy, mass } from './mechanism.ts'

/** Distribution of the noise of one entry, in grid units, as points to plot. */
export interface NoiseDistribution {
  /** True if the points are all values within their range; false if they are evenly spaced among many more. */
  readonly discrete: boolean
  /** In increasing order of noise. `probability` is that of the value, or the density per grid unit if not `discrete`. */
  readonly points: readonly { readonly noise: number; readonly probability: number }[]
}

/** Largest number of points; more cannot be distinguished on a page. */
const MOST_POINTS = 401
/** Probability that the noise lies within the range of the points. */
const SHOWN = 0.9999

/** Computes the distribution of a measurement's noise at enough points to plot it. */
export function noiseDistribution(measurement: Measurement): NoiseDistribution {
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
