import { describe, expect, it } from 'vitest'
import {
  discreteLaplaceMass,
  discreteLaplaceSampler,
  laplaceAttemptInBigInts,
  laplaceAttemptInDoubles,
} from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { scriptedSource } from '../scripted-source.ts'

// exact-distributions.test.ts shows that every outcome has its probability.

describe('the discrete Laplace mass', () => {
  const of = (numerator: bigint, denominator: bigint) => ({ numerator, denominator })

  it('has the published values at 0', () => {
    // Computed: tanh(1 / (2 scale)).
    expect(discreteLaplaceMass(0n, of(1n, 1n))).toBeCloseTo(0.4621171572600098, 15)
    expect(discreteLaplaceMass(0n, of(2n, 1n))).toBeCloseTo(0.24491866240370913, 15)
  })

  it.each([
    [1n, 1n],
    [10n, 3n],
    [1n, 7n],
  ])('of scale %d/%d adds up to 1 and is symmetric', (numerator, denominator) => {
    let sum = discreteLaplaceMass(0n, of(numerator, denominator))
    for (let value = 1n; value < 200n; value += 1n) {
      const mass = discreteLaplaceMass(value, of(numerator, denominator))
      expect(discreteLaplaceMass(-value, of(numerator, denominator))).toBe(mass)
      sum += 2 * mass
    }
    expect(sum).toBeCloseTo(1, 14)
  })
})

describe('the discrete Laplace sampler', () => {
  const largest = 2 ** 53 - 1

  it('leaves doubles for big integers before a sum or product loses a bit', () => {
    // u = t - 1; then the coin of u / t fails at k = 1, so u is accepted.
    const low = [largest - 1, largest - 1]
    // The coin of exp(-1) succeeds three times, then fails. So v = 3.
    const high = [1, 1, 1, 119]
    const negative = [1]
    const tape = [...low, ...high, ...negative]
    const expected = -(BigInt(largest) * 4n - 1n)
    expect(laplaceAttemptInDoubles(largest, 1, scriptedSource(tape))).toBe(expected)
    expect(laplaceAttemptInBigInts(BigInt(largest), 1n, scriptedSource(tape))).toBe(expected)
    expect(laplaceAttemptInDoubles(largest, 7, scriptedSource(tape))).toBe(expected / 7n)
  })

  it('refuses a scale of 0', () => {
    expect(() => discreteLaplaceSampler({ numerator: 0n, denominator: 1n }, scriptedSource([]))).toThrow(
      RangeError,
    )
  })
})
