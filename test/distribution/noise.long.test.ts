import { describe, expect, it } from 'vitest'
import type { IntegerNoise } from '../../src/core/mechanisms/measurement.ts'
import { noiseSampler } from '../../src/core/mechanisms/measurement.ts'
import {
  discreteGaussianSampler,
  discreteGaussianSamplerOfSquare,
} from '../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import { discreteLaplaceSampler } from '../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { chiSquareTail, kolmogorovTail, laplaceCumulative, normalCumulative } from './goodness-of-fit.ts'

/*
 * Compares the production samplers, with the operating system's randomness, with their stated distribution. Under the
 * true distribution a test fails less than once in 1e20 runs. The same test must detect a distribution whose scale is
 * off by 30%.
 */
const SIGNIFICANCE = 1e-20
const OFF = 1.3
const SAMPLES = 40_000

const source = systemEntropy()

/** Distribution of the noise at a scale, for comparison: P(Y <= y). */
interface Claim {
  readonly name: string
  readonly sample: () => bigint
  readonly cumulative: (value: number, scaleFactor: number) => number
}

const laplace = (scale: bigint): Claim => ({
  name: `discrete Laplace of scale ${scale}`,
  sample: noiseSampler({ kind: 'discrete-laplace', scale: { numerator: scale, denominator: 1n } }, source),
  cumulative: (value, factor) => laplaceCumulative(value, Number(scale) * factor),
})

const gaussian = (sigma: bigint): Claim => ({
  name: `discrete Gaussian of sigma ${sigma}`,
  sample: noiseSampler({ kind: 'discrete-gaussian', sigma } satisfies IntegerNoise, source),
  cumulative: (value, factor) => normalCumulative(value, Number(sigma) * factor),
})

const CLAIMS: readonly Claim[] = [
  // Scales used in production for counts, and on both sides of 2^53, where BigInt arithmetic takes over.
  ...[1n, 10n, 1n << 40n, (1n << 41n) - 1n, (1n << 53n) - 1n, (1n << 60n) + 1n].flatMap((scale) => [
    laplace(scale),
    gaussian(scale),
  ]),
  {
    name: 'discrete Laplace of scale 10/3',
    sample: discreteLaplaceSampler({ numerator: 10n, denominator: 3n }, source),
    cumulative: (value, factor) => laplaceCumulative(value, (10 / 3) * factor),
  },
  {
    name: 'discrete Gaussian of sigma^2 4, the general sampler',
    sample: discreteGaussianSamplerOfSquare({ numerator: 4n, denominator: 1n }, source),
    cumulative: (value, factor) => normalCumulative(value, 2 * factor),
  },
]

describe.each(CLAIMS)('$name', ({ sample, cumulative }) => {
  const samples = Array.from({ length: SAMPLES }, sample)

  it('follows its distribution, and differs from one that is 30% wider or narrower', () => {
    const distance = (factor: number) => kolmogorovTail(samples, (value) => cumulative(value, factor))
    expect(distance(1)).toBeGreaterThan(SIGNIFICANCE)
    expect(distance(OFF)).toBeLessThan(SIGNIFICANCE)
    expect(distance(1 / OFF)).toBeLessThan(SIGNIFICANCE)
  })
})

describe.each([
  ['discrete Laplace', discreteLaplaceSampler({ numerator: 1n << 40n, denominator: 1n }, source)],
  ['discrete Gaussian', discreteGaussianSampler((1n << 40n) + 12_345n, source)],
] as const)('the low bits of %s noise on a fine grid', (_, sample) => {
  it('are uniform, and a missing one of 16 values is detected', () => {
    const counts = Array.from({ length: 16 }, () => 0)
    for (let draw = 0; draw < SAMPLES; draw += 1) {
      const low = Number(BigInt.asUintN(4, sample()))
      counts[low] = (counts[low] ?? 0) + 1
    }
    expect(chiSquareTail(counts)).toBeGreaterThan(SIGNIFICANCE)
    expect(chiSquareTail(counts.map((count, index) => (index === 7 ? 0 : count)))).toBeLessThan(SIGNIFICANCE)
  })
})
