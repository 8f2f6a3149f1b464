import { describe, expect, it } from 'vitest'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { chooseExponentially } from '../../src/core/mechanisms/selection/exponential.ts'
import {
  calibrateNoisyMax,
  type SelectionNoise,
  selectNoisyMax,
} from '../../src/core/mechanisms/selection/noisy-max.ts'
import { epsilonNano } from '../../src/privacy/loss.ts'
import { rational } from '../../src/privacy/rational.ts'

/*
 * Compares the production selections, with the operating system's randomness, with their stated distribution. Under
 * the true distribution a test fails less than once in 1e20 runs. The same test must detect a distribution whose
 * scale is off by 30%.
 */
const SIGNIFICANCE = 1e-20
const OFF = 1.3
const SAMPLES = 40_000

const source = systemEntropy()

/** A random event, and its probability at a scale for comparison. */
interface Claim {
  readonly name: string
  readonly happens: () => boolean
  readonly probability: (scaleFactor: number) => number
}

/** Two candidates, the better one ahead by one and a half scales. */
const noisyMax = (noise: SelectionNoise, ahead: (scales: number) => number): Claim => {
  const measurement = calibrateNoisyMax(
    { candidates: 2, k: 1, gap: false, noise, sensitivity: 2n, monotonic: false },
    epsilonNano(4_000_000n),
  )
  return {
    name: `report noisy max with ${noise} noise`,
    happens: () => selectNoisyMax(measurement, [-500n, 1000n], source)[0]?.candidate === 1,
    probability: (factor) => ahead(1.5 / factor),
  }
}

/** Few outcomes near and many far away. */
const exponential: Claim = {
  name: 'the exponential mechanism',
  happens: () =>
    chooseExponentially([1007, 7, 4007, 3007], [1e12, 1e12, 9e12, 3e12], rational(1n, 1500n), source) === 1,
  probability: (factor) => {
    const weight = (distance: number) => Math.exp(-distance / (1500 * factor))
    return 1 / (1 + weight(1000) + 3 * weight(3000) + 9 * weight(4000))
  },
}

const CLAIMS: readonly Claim[] = [
  noisyMax('laplace', (scales) => 1 - ((2 + scales) / 4) * Math.exp(-scales)),
  noisyMax('exponential', (scales) => 1 - Math.exp(-scales) / 2),
  noisyMax('gumbel', (scales) => 1 / (1 + Math.exp(-scales))),
  exponential,
]

/**
 * Upper bound on the probability that a share of independent trials deviates this much from its probability
 * (Hoeffding 1963).
 */
function hoeffdingTail(share: number, probability: number): number {
  return 2 * Math.exp(-2 * SAMPLES * (share - probability) ** 2)
}

describe.each(CLAIMS)('$name', ({ happens, probability }) => {
  const share = Array.from({ length: SAMPLES }, happens).filter((happened) => happened).length / SAMPLES

  it('follows its stated distribution', () => {
    expect(hoeffdingTail(share, probability(1))).toBeGreaterThan(SIGNIFICANCE)
  })

  it.each([OFF, 1 / OFF])('differs from that distribution at %f times the scale', (factor) => {
    expect(hoeffdingTail(share, probability(factor))).toBeLessThan(SIGNIFICANCE)
  })
})
