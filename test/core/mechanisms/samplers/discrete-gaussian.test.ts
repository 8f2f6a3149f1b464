import { describe, expect, it } from 'vitest'
import {
  discreteGaussianMass,
  discreteGaussianSampler,
  discreteGaussianSamplerOfSquare,
  gaussianAttemptInDoubles,
} from '../../../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import type { Rational } from '../../../../src/privacy/rational.ts'
import { scriptedSource } from '../scripted-source.ts'

// exact-distributions.test.ts shows that every outcome has its probability.

describe('the discrete Gaussian mass', () => {
  const variance = (square: Rational) => {
    let sum = 0
    for (let value = 1n; value < 100n; value += 1n)
      sum += 2 * Number(value * value) * discreteGaussianMass(value, square)
    return sum
  }

  it('has the published variances', () => {
    // Computed from the definition.
    expect(variance({ numerator: 1n, denominator: 2n })).toBeCloseTo(0.49897913083282047, 15)
    expect(variance({ numerator: 1n, denominator: 1n })).toBeCloseTo(0.9999997887677281, 14)
  })

  it.each([
    [1n, 3n],
    [1n, 1n],
    [399n, 100n],
    [4n, 1n],
    [100n, 1n],
  ])('of sigma^2 %d/%d adds up to 1 and is symmetric', (numerator, denominator) => {
    let sum = discreteGaussianMass(0n, { numerator, denominator })
    for (let value = 1n; value < 200n; value += 1n) {
      const mass = discreteGaussianMass(value, { numerator, denominator })
      expect(discreteGaussianMass(-value, { numerator, denominator })).toBe(mass)
      sum += 2 * mass
    }
    expect(sum).toBeCloseTo(1, 14)
  })
})

describe('the discrete Gaussian sampler', () => {
  it('leaves doubles for big integers before a sum or product loses a bit', () => {
    const largest = 2 ** 53 - 1
    // The coin of exp(-1/2) succeeds twice and then fails. So v = 2.
    const high = [1, 1, 3839]
    // v (v - 1) = 2 more successes; then u = t - 1, two successes of the coin of u / sigma, one of the half square.
    const accepted = [1, 1, largest - 1, largest - 1, largest - 1, 1]
    const negative = [1]
    const tape = [...high, ...accepted, ...negative]
    expect(gaussianAttemptInDoubles(largest, scriptedSource(tape))).toBe(-(BigInt(largest) * 3n - 1n))
  })

  it('refuses a sigma of 0', () => {
    expect(() => discreteGaussianSampler(0n, scriptedSource([]))).toThrow(RangeError)
    expect(() =>
      discreteGaussianSamplerOfSquare({ numerator: 0n, denominator: 1n }, scriptedSource([])),
    ).toThrow(RangeError)
  })
})
