import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  expectedAbsoluteBound,
  halfWidthBound,
  tailBound,
} from '../../../../src/core/mechanisms/noise/combined-noise.ts'
import type { Noise, WeightedNoise } from '../../../../src/core/mechanisms/noise/weighted-noise.ts'
import { discreteGaussianMass } from '../../../../src/core/mechanisms/samplers/discrete-gaussian.ts'

const laplace = (scaleUnits: number, unit = 1): Noise => ({ kind: 'laplace', unit, scaleUnits })
/** Laplace noise on a grid so fine that it is practically continuous. */
const fine = (scale: number): Noise => laplace(scale * 2 ** 40, 2 ** -40)
const normal = (sigma: number): Noise => ({ kind: 'normal', unit: sigma * 2 ** -40, sigma })
const weighted = (...terms: readonly (readonly [Noise, number])[]): readonly WeightedNoise[] =>
  terms.map(([noise, weight]) => ({ noise, weight }))

/** All values of a noise with their probabilities. The omitted values have a total probability below 1e-13. */
function lawOf(noise: Noise): ReadonlyMap<number, number> {
  if (noise.kind === 'normal') {
    const sigma = Math.round(noise.sigma / noise.unit)
    const variance = { numerator: BigInt(sigma) ** 2n, denominator: 1n }
    const most = 8 * sigma
    return new Map(
      Array.from({ length: 2 * most + 1 }, (_, index) => [
        (index - most) * noise.unit,
        discreteGaussianMass(BigInt(index - most), variance),
      ]),
    )
  }
  const most = Math.ceil(noise.scaleUnits * Math.log(1e13))
  return new Map(
    Array.from({ length: 2 * most + 1 }, (_, index) => [
      (index - most) * noise.unit,
      Math.tanh(0.5 / noise.scaleUnits) * Math.exp(-Math.abs(index - most) / noise.scaleUnits),
    ]),
  )
}

/** The values of a combination with their probabilities, in increasing order. */
function combinedDistribution(combination: readonly WeightedNoise[]): readonly (readonly [number, number])[] {
  let sums = new Map([[0, 1]])
  for (const { noise, weight } of combination) {
    const next = new Map<number, number>()
    for (const [value, mass] of lawOf(noise))
      for (const [sum, before] of sums) {
        // Sums that are equal up to rounding are one value.
        const total = Math.round((sum + weight * value) * 1e9) / 1e9
        next.set(total, (next.get(total) ?? 0) + mass * before)
      }
    sums = next
  }
  return [...sums].toSorted(([a], [b]) => a - b)
}

/** The probability that a combination with this distribution exceeds each of its values: exact, from the far end. */
function exactTails(
  distribution: readonly (readonly [number, number])[],
): readonly (readonly [number, number])[] {
  let beyond = 0
  return distribution.toReversed().map(([value, mass]) => {
    const tail = [value, beyond] as const
    beyond += mass
    return tail
  })
}

const COMBINATIONS: readonly (readonly [string, readonly WeightedNoise[]])[] = [
  ['one', weighted([laplace(3), 2])],
  ['two of one scale', weighted([laplace(5), 1], [laplace(5), -1])],
  ['two', weighted([laplace(8), 1], [laplace(3), 2.5])],
  ['a wide one and a coarse one', weighted([laplace(20), 1], [laplace(0.4), 7])],
  ['two coarse ones', weighted([laplace(0.2), 3], [laplace(0.1), -5])],
  ['three', weighted([laplace(6), 1], [laplace(3, 0.5), -4], [laplace(1.5), 2])],
  ['three of one scale', weighted([laplace(2), 1], [laplace(2), 1], [laplace(2), -1])],
  [
    'twenty that are alike',
    weighted(...Array.from({ length: 20 }, (_, i) => [laplace(3), i < 3 ? 2 : 1] as const)),
  ],
  [
    'two normal ones',
    weighted([{ kind: 'normal', unit: 1, sigma: 30 }, 1], [{ kind: 'normal', unit: 1, sigma: 40 }, -2]),
  ],
]

/**
 * Coarse noise has no close continuous bound. The bound of normal noise is close only for a sigma of very many units.
 */
const isClose = (name: string) => !/coarse|normal/.test(name)

describe.each(COMBINATIONS)('%s', (name, combination) => {
  const distribution = combinedDistribution(combination)
  const tails = exactTails(distribution)

  test('the bound of the tail is not below the exact tail, and at most half a unit of each term away from it', () => {
    const slack = combination.reduce((sum, { noise, weight }) => sum + Math.abs(weight) * noise.unit, 0)
    for (const [value, exact] of tails) {
      if (value < 0 || exact < 1e-6) continue
      expect(tailBound(combination, value), `${value}`).toBeGreaterThanOrEqual(exact * (1 - 1e-6))
      if (value <= slack) continue
      // It is at most 1.1 times the exact tail one unit of each term nearer to 0.
      const nearer = tails.find(([other]) => other <= value - slack)?.[1] ?? 1
      if (isClose(name)) expect(tailBound(combination, value)).toBeLessThan(1.1 * nearer)
    }
  })

  test('half-widths hold', () => {
    for (const alpha of [0.5, 0.05, 0.001]) {
      const halfWidth = halfWidthBound(alpha)(combination)
      const exact = tails.find(([value]) => value <= halfWidth)?.[1] ?? 0
      expect(2 * exact).toBeLessThanOrEqual(alpha)
      // The half-width of many noises is smaller than their bound on the tail gives.
      if (combination.length < 9)
        expect(2 * tailBound(combination, halfWidth * (1 + 1e-6))).toBeLessThanOrEqual(alpha * 1.0001)
    }
  })

  test('the expected absolute value is bounded closely', () => {
    const exact = distribution.reduce((sum, [value, mass]) => sum + mass * Math.abs(value), 0)
    expect(expectedAbsoluteBound(combination)).toBeGreaterThanOrEqual(exact * (1 - 1e-9))
    if (isClose(name)) expect(expectedAbsoluteBound(combination)).toBeLessThan(1.05 * exact)
  })
})

describe('on a fine grid', () => {
  test('the tail of two Laplace variables is that of their sum', () => {
    // Scale a, b: (a^2 exp(-t / a) - b^2 exp(-t / b)) / (2 (a^2 - b^2)).
    for (const t of [0.5, 2, 10, 40])
      expect(
        tailBound(weighted([fine(3), 1], [fine(1), 2]), t) /
          ((9 * Math.exp(-t / 3) - 4 * Math.exp(-t / 2)) / 10),
      ).toBeCloseTo(1, 6)
    // The bound exceeds the limit of equal scales, exp(-t) (1 + t / 2) / 2, because it moves the scales apart.
    for (const t of [0.5, 2, 10]) {
      const quotient = tailBound(weighted([fine(1), 1], [fine(1), -1]), t) / (Math.exp(-t) * (0.5 + t / 4))
      expect(quotient).toBeGreaterThanOrEqual(1)
      expect(quotient).toBeLessThan(1 + 0.01 * t)
    }
  })

  test('the half-width of normal variables is 1.96 of their standard deviation', () => {
    const halfWidth = halfWidthBound(0.05)(weighted([normal(3), 1], [normal(2), -2]))
    expect(halfWidth / 5).toBeCloseTo(1.959963984540054, 9)
    expect(halfWidth / 5).toBeGreaterThan(1.959963984540054)
  })

  const scale = fc.double({ min: 1e-3, max: 1e3, noNaN: true })
  test('half-widths meet their alpha, and no smaller ones do', () => {
    const alphas = fc.constantFrom(0.999, 0.5, 0.05, 1e-6, 1e-12)
    fc.assert(
      fc.property(fc.array(scale, { minLength: 1, maxLength: 3 }), alphas, (scales, alpha) => {
        const combination = weighted(...scales.map((each) => [fine(each), 1] as const))
        const halfWidth = halfWidthBound(alpha)(combination)
        expect(2 * tailBound(combination, halfWidth)).toBeLessThanOrEqual(alpha * (1 + 1e-8))
        expect(2 * tailBound(combination, halfWidth * (1 - 1e-4))).toBeGreaterThan(alpha)
      }),
    )
  })

  test('more of any noise is never less likely to exceed a threshold', () => {
    fc.assert(
      fc.property(fc.array(scale, { minLength: 1, maxLength: 3 }), scale, fc.nat(2), (scales, t, which) => {
        const tailOf = (each: readonly number[]) =>
          tailBound(weighted(...each.map((scale) => [fine(scale), 1] as const)), t)
        const more = scales.map((each, place) => (place === which ? 1.01 * each : each))
        expect(tailOf(more)).toBeGreaterThanOrEqual(tailOf(scales) * (1 - 1e-8))
      }),
    )
  })
})

test('the tail of a Laplace and a normal variable is that of their sum', () => {
  // The integral of the normal density times the Laplace tail, for scale 1 and sigma 1, at 2.
  const density = (x: number) => Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI)
  const laplaceTail = (t: number) => (t >= 0 ? 0.5 * Math.exp(-t) : 1 - 0.5 * Math.exp(t))
  const step = 1e-4
  let exact = 0
  for (let x = -10; x < 10; x += step) exact += step * density(x + step / 2) * laplaceTail(2 - x - step / 2)
  const bound = tailBound(weighted([normal(1), 1], [fine(1), 1]), 2)
  expect(bound / exact).toBeGreaterThanOrEqual(1 - 1e-7)
  expect(bound / exact).toBeLessThan(1 + 1e-5)
  const halfWidth = halfWidthBound(2 * bound)(weighted([fine(1), 1], [normal(1), 1]))
  expect(halfWidth).toBeCloseTo(2, 4)
})

describe('noises of different kinds', () => {
  const rounded = (sigma: number): Noise => ({ kind: 'normal', unit: 1, sigma })
  const mixtures: readonly (readonly [string, readonly WeightedNoise[]])[] = [
    ['equal deviations', weighted([laplace(20), 1], [rounded(28), 1])],
    ['mostly Laplace', weighted([laplace(20), 2], [rounded(5), 1])],
    ['mostly normal', weighted([laplace(3), 1], [rounded(40), -1])],
    ['several', weighted([laplace(9), 1], [laplace(7), -2], [rounded(15), 1])],
  ]
  test.each(mixtures)('half-widths of a mixture hold and are close: %s', (_, combination) => {
    const tails = exactTails(combinedDistribution(combination))
    const units = combination.reduce((sum, { weight, noise }) => sum + Math.abs(weight) * noise.unit, 0)
    for (const alpha of [0.2, 0.05, 0.001]) {
      const halfWidth = halfWidthBound(alpha)(combination)
      const exact = tails.find(([, tail]) => 2 * tail > alpha)?.[0] ?? Number.NaN
      expect(halfWidth).toBeGreaterThanOrEqual(exact)
      // Normal noise of few units is compared with one whose deviation is larger by two units.
      expect(halfWidth).toBeLessThan(exact * 1.01 + 6 * units)
      expect(2 * tailBound(combination, halfWidth * (1 + 1e-6))).toBeLessThanOrEqual(alpha * 1.0001)
    }
  })

  test('mixtures of one kind are the limits', () => {
    const little = halfWidthBound(0.05)(weighted([fine(1e-6), 1], [normal(10), 1]))
    expect(little / 10).toBeCloseTo(1.959963984540054, 5)
    const most = halfWidthBound(0.05)(weighted([fine(10), 1], [normal(0.03), 1]))
    expect(most / 10).toBeCloseTo(Math.log(20), 4)
  })
})

describe('many discrete Laplace noises', () => {
  /** The half-width of a sum of noises on whole numbers, by convolution of the exact law; far tails are left out. */
  function exactHalfWidth(number: number, scale: number, alpha: number): number {
    const reach = Math.ceil(scale * Math.log(1e9))
    const law = Float64Array.from({ length: 2 * reach + 1 }, (_, index) => {
      return Math.tanh(0.5 / scale) * Math.exp(-Math.abs(index - reach) / scale)
    })
    const half = Math.ceil(8 * scale * Math.sqrt(2 * number)) + reach
    let sums = new Float64Array(2 * half + 1)
    sums[half] = 1
    for (let term = 0; term < number; term += 1) {
      const next = new Float64Array(sums.length)
      for (const [place, mass] of sums.entries()) {
        if (mass < 1e-15) continue
        for (const [step, own] of law.entries()) {
          const at = place + step - reach
          if (at >= 0 && at < next.length) next[at] = (next[at] ?? 0) + mass * own
        }
      }
      sums = next
    }
    let [within, halfWidth] = [sums[half] ?? 0, 0]
    while (1 - within > alpha) {
      halfWidth += 1
      within += 2 * (sums[half + halfWidth] ?? 0)
    }
    return halfWidth
  }

  // The smoothing adds about three units, however many terms there are; half a unit for each would be 35.
  test.each([
    [12, 5],
    [70, 1.5],
  ])('the half-width of %i noises holds, and exceeds the exact one by a few units', (number, scale) => {
    const combination = weighted(...Array.from({ length: number }, () => [laplace(scale), 1] as const))
    for (const alpha of [0.5, 0.05, 0.001]) {
      const halfWidth = halfWidthBound(alpha)(combination)
      const exact = exactHalfWidth(number, scale, alpha)
      expect(halfWidth).toBeGreaterThanOrEqual(exact)
      expect(halfWidth).toBeLessThan(exact * 1.01 + 6)
    }
  })

  test('those that are never drawn add nothing, and take no time', { timeout: 60_000 }, () => {
    const never = Array.from({ length: 10_000 }, () => [laplace(1 / 900), 1] as const)
    expect(halfWidthBound(0.05)(weighted(...never))).toBe(0)
    const drawn = [laplace(20), 1] as const
    expect(halfWidthBound(0.05)(weighted(drawn, ...never))).toBe(halfWidthBound(0.05)(weighted(drawn)))
  })
})
