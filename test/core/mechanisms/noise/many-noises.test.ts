import fc from 'fast-check'
import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { halfWidthBound } from '../../../../src/core/mechanisms/noise/combined-noise.ts'
import { deviationOfMany, halfWidthOfMany } from '../../../../src/core/mechanisms/noise/many-noises.ts'
import type { CountedNoise, Noise } from '../../../../src/core/mechanisms/noise/weighted-noise.ts'
import { discreteGaussianSampler } from '../../../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import { discreteLaplaceSampler } from '../../../../src/core/mechanisms/samplers/discrete-laplace.ts'

const laplace = (scale: number, unit = 2 ** -12): Noise => ({
  kind: 'laplace',
  unit,
  scaleUnits: scale / unit,
})
const normal = (sigma: number, unit = 2 ** -12): Noise => ({ kind: 'normal', unit, sigma })

const separate = (terms: readonly CountedNoise[]) =>
  terms.flatMap(({ noise, weight, count }) => Array.from({ length: count }, () => ({ noise, weight })))

const terms = (noiseOf: (scale: number, unit: number) => Noise, unit: number) =>
  fc.array(
    fc.record({
      noise: fc.integer({ min: 1, max: 50 }).map((scale) => noiseOf(scale, unit)),
      weight: fc.integer({ min: -20, max: 20 }).map((weight) => weight / 10),
      count: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 6 },
  )

describe('the half-width of a combination of many noises', () => {
  // On a fine grid the bound for a few noises is almost exact, and found in another way.
  test.each([
    { noise: 'laplace', noiseOf: laplace },
    { noise: 'normal', noiseOf: normal },
  ])('of $noise noise is at most 2 % above the least', ({ noiseOf }) => {
    fc.assert(
      fc.property(terms(noiseOf, 2 ** -40), fc.constantFrom(0.1, 0.05, 0.001), (combination, alpha) => {
        const few = halfWidthBound(alpha)(separate(combination))
        const many = halfWidthOfMany(combination, alpha)
        expect(many).toBeGreaterThanOrEqual(few * 0.99)
        expect(many).toBeLessThanOrEqual(few * 1.02)
      }),
      { numRuns: 60 },
    )
  })

  test('is that of the distribution for a single one', () => {
    expect(halfWidthOfMany([{ noise: laplace(10), weight: 1, count: 1 }], 0.05)).toBeGreaterThan(
      10 * Math.log(20),
    )
    expect(halfWidthOfMany([{ noise: laplace(10), weight: 1, count: 1 }], 0.05)).toBeLessThan(
      10.1 * Math.log(20),
    )
    expect(halfWidthOfMany([{ noise: normal(10), weight: -1, count: 1 }], 0.05)).toBeGreaterThan(19.59963)
    expect(halfWidthOfMany([{ noise: normal(10), weight: -1, count: 1 }], 0.05)).toBeLessThan(19.7)
    expect(halfWidthOfMany([], 0.05)).toBe(0)
  })

  test.each([
    { noise: 'laplace', noiseOf: (scale: number) => laplace(scale, 1 / 128) },
    { noise: 'normal', noiseOf: (scale: number) => normal(scale, 1 / 128) },
  ])('covers 95 % of the sums of $noise noise, and of no larger one', ({ noiseOf }) => {
    const combination = [
      { noise: noiseOf(8), weight: 0.7, count: 4 },
      { noise: noiseOf(20), weight: -0.2, count: 10 },
      { noise: noiseOf(40), weight: 0.01, count: 6 },
    ]
    const halfWidth = halfWidthOfMany(combination, 0.05)
    const random = seedrandom('many noises')
    const source = {
      below: (bound: number) => Math.floor(random() * bound),
      belowBig: (bound: bigint) => BigInt(Math.floor(random() * Number(bound))),
    }
    const samplers = separate(combination).map(({ noise, weight }) => {
      const sample =
        noise.kind === 'normal'
          ? discreteGaussianSampler(BigInt(noise.sigma / noise.unit), source)
          : discreteLaplaceSampler({ numerator: BigInt(noise.scaleUnits), denominator: 1n }, source)
      return () => Number(sample()) * noise.unit * weight
    })
    const sums = Array.from({ length: 12_000 }, () => samplers.reduce((sum, sample) => sum + sample(), 0))
    const missed = (factor: number) =>
      sums.filter((sum) => Math.abs(sum) * factor > halfWidth).length / sums.length
    // Four standard deviations of a share of 5 % of 12,000.
    expect(Math.abs(missed(1) - 0.05)).toBeLessThan(0.008)
    expect(missed(1.2)).toBeGreaterThan(0.07)
    expect(Math.sqrt(sums.reduce((sum, each) => sum + each ** 2, 0) / sums.length)).toBeCloseTo(
      deviationOfMany(combination),
      0,
    )
  })

  test('refuses noises that it does not hold for', () => {
    const coarse = { kind: 'normal', unit: 1, sigma: 1 } as const
    expect(() => halfWidthOfMany([{ noise: coarse, weight: 1, count: 1 }], 0.05)).toThrow('too coarse')
  })
})
