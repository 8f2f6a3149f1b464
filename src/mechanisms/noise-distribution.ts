import type { Measurement } from './measurement.ts'
import { accuracy, mass } from './mechanism.ts'

/** How the noise of one entry is distributed, in grid units. */
export interface NoiseDistribution {
  /** Whether the points are all values there are within their range; else they are evenly spaced among many more. */
  readonly discrete: boolean
  /** In the order of the noise. `probability`: of the value, or, where it is one of many, its density per grid unit. */
  readonly points: readonly { readonly noise: number; readonly probability: number }[]
}

/** More than this cannot be told apart on a page. */
const MOST_POINTS = 401
/** Of the noise, what lies within the points' range. */
const SHOWN = 0.9999

/** The law of a measurement's noise, at points that are enough to draw it. */
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
