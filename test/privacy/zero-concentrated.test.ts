import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discreteGaussianMass } from '../../src/core/mechanisms/samplers/discrete-gaussian.ts'
import { discreteLaplaceMass } from '../../src/core/mechanisms/samplers/discrete-laplace.ts'
import { epsilonNano, epsilonNumber, rhoNumber } from '../../src/privacy/loss.ts'
import { rational } from '../../src/privacy/rational.ts'
import type { Sensitivity } from '../../src/privacy/sensitivity.ts'
import {
  boundedRangeRho,
  discreteGaussianRho,
  discreteLaplaceRho,
  pureRho,
} from '../../src/privacy/zero-concentrated.ts'
import { anyEpsilon, anySensitivity, scalarSensitivity } from '../core/mechanisms/support.ts'

const ORDERS = [1 + 1e-6, 1.001, 1.1, 1.5, 2, 2.5, 3, 5, 10, 40, 200]

/**
 * Rényi divergence of two distributions on the integers from `-reach` to `reach + distance`, by its definition: a sum
 * over masses without a closed form.
 */
function renyiDivergence(
  mass: (value: bigint) => number,
  distance: number,
  order: number,
  reach: number,
): number {
  const logarithms: number[] = []
  for (let value = -reach; value <= reach + distance; value += 1) {
    const [p, q] = [Math.log(mass(BigInt(value))), Math.log(mass(BigInt(value - distance)))]
    logarithms.push(order * p + (1 - order) * q)
  }
  const largest = Math.max(...logarithms)
  const sum = logarithms.reduce((total, logarithm) => total + Math.exp(logarithm - largest), 0)
  return (largest + Math.log(sum)) / (order - 1)
}

describe('discrete Laplace', () => {
  // Computed with 60 digits: D / b - (1 / b) / sinh(1 / b) (1 - exp(-D / b)), in units of 1e-12.
  it.each([
    [1n, 1n, 1n, '462117157260.0097585'],
    [2n, 1n, 1n, '122459331201.8545646'],
    [10n, 3n, 1n, '44665510086.9953922'],
    [1n, 4n, 1n, '3856110320303.2675357'],
    [1n, 1n, 5n, '4154815313009.3160141'],
    [7n, 1n, 7n, '370024402878.2789933'],
    [100n, 1n, 250n, '1582100297028.7734729'],
    [1n << 40n, 1n, 1n << 40n, '367879441171.4423215'],
    [1n << 40n, 1n, 1n << 30n, '476681.9756622'],
    [1n << 60n, 1n, 1n, '0.0000000'],
    [1n, 1000n, 1n, '999999999999999.9999999'],
    [1_000_000n, 1n, 1_000_000_000n, '999000000000000.1666666'],
    [3_000_000_000n, 123_456_789n, 3n, '7349396142.1709907'],
  ])(
    'of scale %d/%d and a distance of %d costs %s pico-rho, rounded up',
    (numerator, denominator, distance, exact) => {
      const rho = discreteLaplaceRho(rational(numerator, denominator), scalarSensitivity(distance))
      const least = BigInt(exact.split('.')[0] ?? '') + 1n
      // The allowance for floating point, 2^-47 of epsilon, reaches the unit only if epsilon is large.
      const epsilon = Number(distance * denominator) / Number(numerator)
      expect(rho >= least).toBe(true)
      expect(rho - least).toBeLessThanOrEqual(Math.ceil(epsilon * 0.01))
    },
  )

  describe.each([
    [1, 1],
    [2, 1],
    [10, 3],
    [1, 2],
    [9, 1],
  ])('of scale %d/%d', (numerator, denominator) => {
    const scale = rational(BigInt(numerator), BigInt(denominator))
    const mass = (value: bigint) => discreteLaplaceMass(value, scale)
    const reach = Math.ceil((45 * numerator) / denominator)

    it.each([1, 2, 3, 7, 25])(
      'bounds the divergence of every order tightly at a distance of %d',
      (distance) => {
        const rho = rhoNumber(discreteLaplaceRho(scale, scalarSensitivity(BigInt(distance))))
        let before = Number.POSITIVE_INFINITY
        for (const order of ORDERS) {
          // The error of the sum is divided by the order minus one.
          const rounding = 1e-12 + 1e-14 / (order - 1)
          const share = renyiDivergence(mass, distance, order, reach) / order
          expect(share).toBeLessThanOrEqual(rho + rounding)
          expect(share).toBeLessThanOrEqual(before + rounding)
          before = share
        }
        const limit = renyiDivergence(mass, distance, 1 + 1e-6, reach)
        expect(limit / rho).toBeGreaterThan(1 - 1e-4)
      },
    )
  })

  it('of a vector is the maximum over all integer vectors within L1 and L-infinity', () => {
    const scale = rational(7n, 3n)
    const ofOne = (distance: number) =>
      rhoNumber(discreteLaplaceRho(scale, scalarSensitivity(BigInt(distance))))
    const worst = (l1: number, lInfinity: number, entries: number): number => {
      if (entries === 0) return 0
      let most = 0
      for (let entry = 0; entry <= Math.min(l1, lInfinity); entry += 1)
        most = Math.max(most, ofOne(entry) + worst(l1 - entry, lInfinity, entries - 1))
      return most
    }
    for (let lInfinity = 1; lInfinity <= 6; lInfinity += 1)
      for (let l1 = lInfinity; l1 <= 9; l1 += 1) {
        const sensitivity = { l1: BigInt(l1), l2Squared: 81n, lInfinity: BigInt(lInfinity) }
        // Each of up to nine entries is rounded up to 1e-12 separately.
        expect(rhoNumber(discreteLaplaceRho(scale, sensitivity))).toBeCloseTo(worst(l1, lInfinity, l1), 10)
      }
  })

  it('of a vector bounds the divergence of the joint distribution tightly', () => {
    const scale = rational(2n, 1n)
    const rho = rhoNumber(discreteLaplaceRho(scale, { l1: 3n, lInfinity: 2n }))
    const distribution = Array.from({ length: 161 }, (_, index) =>
      discreteLaplaceMass(BigInt(index - 80), scale),
    )
    const joint = (order: number) => {
      let sum = 0
      for (let y = 2; y < distribution.length; y += 1)
        for (let z = 1; z < distribution.length; z += 1) {
          const q = (distribution[y - 2] ?? 0) * (distribution[z - 1] ?? 0)
          sum += q * (((distribution[y] ?? 0) * (distribution[z] ?? 0)) / q) ** order
        }
      return Math.log(sum) / (order - 1) / order
    }
    for (const order of [1.001, 1.1, 2, 5, 20]) expect(joint(order)).toBeLessThanOrEqual(rho + 1e-11)
    expect(joint(1.001) / rho).toBeGreaterThan(1 - 1e-3)
  })

  it('of many statistics is far below the rho of their pure epsilon', () => {
    const ten = { l1: 10n, l2Squared: 10n, lInfinity: 1n }
    const rho = discreteLaplaceRho(rational(10n, 1n), ten)
    // Ten times 0.1 tanh(0.05).
    expect(rhoNumber(rho)).toBeCloseTo(0.049958374957, 11)
    expect(rho * 9n < pureRho(epsilonNano(1_000_000_000n))).toBe(true)
  })

  it('grows with L1, with L-infinity and as the scale falls; is 0 if nothing moves', () => {
    fc.assert(
      fc.property(anySensitivity, fc.bigInt(1n, 1n << 60n), fc.bigInt(1n, 1n << 20n), (sensitivity, t, s) => {
        // No budget has an epsilon beyond 1e6.
        fc.pre((sensitivity.l1 * s) / t < 1_000_000n)
        const rho = (change: Partial<Sensitivity>, scale = rational(t, s)) =>
          discreteLaplaceRho(scale, { ...sensitivity, ...change })
        // If two values are almost equal, the allowance for rounding may decide.
        const rounding = BigInt(
          Math.ceil(((Number(sensitivity.l1) * Number(s)) / Number(t)) * 2 ** -46 * 1e12),
        )
        const least = rho({}) - rounding
        expect(rho({ l1: sensitivity.l1 + sensitivity.lInfinity }) >= least).toBe(true)
        expect(rho({ lInfinity: sensitivity.l1 }) >= least).toBe(true)
        expect(rho({}, rational(t, s + 1n)) >= least).toBe(true)
        expect(rho({ l1: 0n })).toBe(0n)
      }),
    )
  })

  it('refuses an L-infinity of 0 under an L1 above it, and a scale of 0', () => {
    const sensitivity = { l1: 1n, l2Squared: 1n, lInfinity: 0n }
    expect(() => discreteLaplaceRho(rational(1n, 1n), sensitivity)).toThrow(RangeError)
    expect(() => discreteLaplaceRho(rational(0n, 1n), scalarSensitivity(1n))).toThrow(RangeError)
  })
})

describe('discrete Gaussian', () => {
  it('is L2^2 / (2 sigma^2), exact, rounded up', () => {
    expect(discreteGaussianRho(1n, scalarSensitivity(1n))).toBe(500_000_000_000n)
    expect(discreteGaussianRho(3n, scalarSensitivity(1n))).toBe(55_555_555_556n)
    expect(discreteGaussianRho(3n, { l2Squared: 5n })).toBe(277_777_777_778n)
    expect(discreteGaussianRho(1n << 60n, scalarSensitivity(1n))).toBe(1n)
    expect(discreteGaussianRho(1n, { l2Squared: 0n })).toBe(0n)
    expect(() => discreteGaussianRho(0n, scalarSensitivity(1n))).toThrow(RangeError)
  })

  describe.each([1n, 2n, 5n])('of sigma %d', (sigma) => {
    const square = rational(sigma * sigma, 1n)
    const mass = (value: bigint) => discreteGaussianMass(value, square)

    it.each([1, 2, 3, 5])('bounds the divergence of every order at a distance of %d', (distance) => {
      const rho = rhoNumber(discreteGaussianRho(sigma, scalarSensitivity(BigInt(distance))))
      for (const order of [1 + 1e-6, 1.1, 1.5, 2, 2.5, 3, 4]) {
        // Far enough out for the order, but near enough that no mass is too small for a double.
        const reach = Math.min(Number(sigma) * 36 - distance, 4 * distance + 14 * Number(sigma))
        const share = renyiDivergence(mass, distance, order, reach) / order
        expect(share).toBeLessThanOrEqual(rho + 1e-12 + 1e-14 / (order - 1))
        // At integer orders the shifted sum is the sum itself, and equality holds.
        if (Number.isInteger(order)) expect(share).toBeCloseTo(rho, 9)
      }
    })
  })
})

describe('any mechanism of a pure epsilon', () => {
  it('costs epsilon tanh(epsilon / 2), which is below epsilon^2 / 2', () => {
    expect(pureRho(epsilonNano(0n))).toBe(0n)
    expect(pureRho(epsilonNano(1_000_000_000n))).toBe(462_117_157_261n)
    fc.assert(
      fc.property(anyEpsilon, (epsilon) => {
        const rho = rhoNumber(pureRho(epsilon))
        const value = epsilonNumber(epsilon)
        const exact = value * Math.tanh(value / 2)
        expect(rho).toBeGreaterThan(exact * (1 - 1e-15))
        expect(rho).toBeLessThanOrEqual(exact + value * 1e-14 + 1e-12)
        expect(rho).toBeLessThanOrEqual((value * value) / 2 + 1e-12)
        // In units of 1e-12 and 1e-9: even with the allowance for rounding it does not exceed the epsilon.
        expect(pureRho(epsilon) <= epsilon * 1_000n).toBe(true)
      }),
    )
  })

  it('costs epsilon tanh(epsilon / (2 k)) in k equal parts, and never more than the whole epsilon', () => {
    expect(pureRho(epsilonNano(1_000_000_000n), 4n)).toBe(124_353_001_772n)
    fc.assert(
      fc.property(anyEpsilon, fc.bigInt(1n, 20n), (epsilon, rounds) => {
        const rho = pureRho(epsilon, rounds)
        const part = epsilonNano(epsilon / rounds)
        const partRoundedUp = epsilonNano((epsilon + rounds - 1n) / rounds)
        expect(rho >= rounds * (pureRho(part) - 1n) - epsilon / 10n ** 11n).toBe(true)
        expect(rho <= rounds * pureRho(partRoundedUp) + epsilon / 10n ** 11n).toBe(true)
        expect(rho <= epsilon * 1_000n).toBe(true)
      }),
    )
  })

  it('costs less if its neighbours are joined by steps, down to that of Laplace noise on real numbers', () => {
    // Computed with 60 digits: e - (x / sinh x) (1 - exp(-e)), x = e / steps, in units of 1e-12.
    const pico = (epsilon: bigint, rounds: bigint, steps: bigint) =>
      pureRho(epsilonNano(epsilon * 1_000_000_000n), rounds, steps)
    expect(pico(1n, 1n, 2n)).toBe(393_469_340_288n)
    expect(pico(1n, 1n, 3n)).toBe(379_435_391_620n)
    expect(pico(4n, 2n, 3n)).toBe(2_392_424_615_067n)
    expect(pico(1n, 1n, 1n << 40n)).toBe(367_879_441_172n)
    expect(pico(20n, 1n, 1n << 40n)).toBe(19_000_000_002_062n)
  })

  it('in steps covers every chain of distributions whose neighbours differ by a factor of a step', () => {
    const factors = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 5, maxLength: 5 })
    const start = fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 })
    const normal = (weights: readonly number[]) => {
      const whole = weights.reduce((sum, weight) => sum + weight, 0)
      return weights.map((weight) => weight / whole)
    }
    fc.assert(
      fc.property(
        start,
        fc.array(factors, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0.5, 2, 6),
        (weights, steps, epsilon) => {
          const rho = rhoNumber(pureRho(epsilonNano(BigInt(epsilon * 1e9)), 1n, BigInt(steps.length)))
          const step = epsilon / steps.length
          // Weights within a factor of exp(step / 2) give masses within a factor of exp(step).
          const last = steps.reduce(
            (law, powers) =>
              normal(law.map((mass, index) => mass * Math.exp(((powers[index] ?? 0) / 8) * step))),
            normal(weights),
          )
          for (const order of [1.1, 2, 10]) {
            const sum = normal(weights).reduce(
              (total, mass, index) => total + mass * ((last[index] ?? 0) / mass) ** order,
              0,
            )
            expect(Math.log(sum) / (order - 1) / order).toBeLessThanOrEqual(rho + 1e-12)
          }
        },
      ),
    )
  })

  it('covers every pair of distributions on few points, and randomized response reaches it', () => {
    const epsilon = 1
    const rho = rhoNumber(pureRho(epsilonNano(1_000_000_000n)))
    const share = (p: readonly number[], q: readonly number[], order: number) =>
      Math.log(q.reduce((sum, mass, index) => sum + mass * ((p[index] ?? 0) / mass) ** order, 0)) /
      (order - 1) /
      order
    const answer = 1 / (1 + Math.exp(-epsilon))
    const response = share([answer, 1 - answer], [1 - answer, answer], 1 + 1e-6)
    expect(response / rho).toBeGreaterThan(1 - 1e-5)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0.01, max: 1, noNaN: true }), fc.integer({ min: -4, max: 4 })), {
          minLength: 2,
          maxLength: 5,
        }),
        fc.constantFrom(...ORDERS.slice(1)),
        (points, order) => {
          const q = points.map(([weight]) => weight)
          const p = points.map(([weight, step]) => weight * Math.exp((step / 8) * epsilon))
          const [wholeQ, wholeP] = [q, p].map((distribution) =>
            distribution.reduce((sum, mass) => sum + mass, 0),
          ) as [number, number]
          const [lawQ, lawP] = [q.map((mass) => mass / wholeQ), p.map((mass) => mass / wholeP)]
          // Weights within a factor of exp(epsilon / 2) give masses within a factor of exp(epsilon).
          expect(share(lawP, lawQ, order)).toBeLessThanOrEqual(rho + 1e-12)
        },
      ),
    )
  })
})

describe('bounded range', () => {
  // Computed with 60 digits: x - 1 - ln(x), x = epsilon / (exp(epsilon) - 1), in units of 1e-12.
  it.each([
    ['0.01', 1n, '12499982.6389'],
    ['0.25', 1n, '7805727720.8080'],
    ['1', 1n, '123301561482.2445'],
    ['4', 1n, '1669849633509.3190'],
    ['8', 1n, '4922907541018.8172'],
    ['20', 1n, '16004267765607.9279'],
    ['60', 1n, '54905655437777.8993'],
    ['1000', 1n, '992092244721017.8629'],
    ['1', 2n, '62284184522.3117'],
    ['1', 3n, '41602524597.4884'],
    ['12', 2n, '6441336342688.1059'],
    ['20', 2n, '13395647051911.3614'],
  ])('of epsilon %s in %d rounds costs %s pico-rho, rounded up', (epsilon, rounds, exact) => {
    const rho = boundedRangeRho(epsilonNano(BigInt(Number(epsilon) * 1e9)), rounds)
    const least = BigInt(exact.split('.')[0] ?? '') + 1n
    expect(rho >= least).toBe(true)
    expect(rho - least).toBeLessThanOrEqual(Math.ceil(Number(epsilon) * 0.01))
  })

  it('is never above epsilon^2 / 8, which is exact, nor above the price of any mechanism of the epsilon', () => {
    expect(boundedRangeRho(epsilonNano(0n))).toBe(0n)
    expect(boundedRangeRho(epsilonNano(2_000n))).toBe(1n)
    expect(boundedRangeRho(epsilonNano(2_828n))).toBe(1n)
    expect(boundedRangeRho(epsilonNano(2_829n))).toBe(2n)
    fc.assert(
      fc.property(anyEpsilon, fc.bigInt(1n, 20n), (epsilon, rounds) => {
        const rho = boundedRangeRho(epsilon, rounds)
        const square = 8n * rounds * 10n ** 6n
        expect(rho <= (epsilon * epsilon + square - 1n) / square).toBe(true)
        expect(rho <= pureRho(epsilon, rounds)).toBe(true)
      }),
    )
  })

  // Of two outcomes, and of one outcome among many equal ones.
  it.each([1, 4, 7.9, 8, 20, 60])('covers every pair of distributions on two outcomes at %d', (epsilon) => {
    const rho = rhoNumber(boundedRangeRho(epsilonNano(BigInt(epsilon * 1e9))))
    let most = 0
    for (let step = 1; step < 400; step += 1) {
      const share = epsilon * (step / 400)
      // ln(P / Q) is share on one outcome and share - epsilon on the other; both distributions add up to 1.
      const q = -Math.expm1(share - epsilon) / (Math.exp(share) - Math.exp(share - epsilon))
      for (const order of ORDERS) {
        const logarithm = [order * share + Math.log(q), order * (share - epsilon) + Math.log1p(-q)]
        const largest = Math.max(...logarithm)
        const sum = logarithm.reduce((total, each) => total + Math.exp(each - largest), 0)
        const divergence = (largest + Math.log(sum)) / (order - 1)
        // The error of the logarithm is divided by the order minus one.
        expect(divergence / order).toBeLessThanOrEqual(rho + 1e-12 + (epsilon * 1e-15) / (order - 1))
        most = Math.max(most, divergence / order)
      }
    }
    expect(most / rho).toBeGreaterThan(0.9999)
  })

  it('covers the exponential mechanism, whose losses are the scores minus the logarithm of the sum of weights', () => {
    const rho = rhoNumber(boundedRangeRho(epsilonNano(1_000_000_000n)))
    for (const [before, after] of [
      [
        [0, 0, 0],
        [0.5, -0.5, 0.5],
      ],
      [
        [3, 1, 0],
        [2.5, 1.5, 0],
      ],
      [
        [0, 0],
        [0.5, -0.5],
      ],
    ] as const)
      for (const order of ORDERS) {
        const distribution = (scores: readonly number[]) => {
          const weights = scores.map((score) => Math.exp(score))
          const whole = weights.reduce((sum, weight) => sum + weight, 0)
          return weights.map((weight) => weight / whole)
        }
        const [p, q] = [distribution(before), distribution(after)]
        const sum = p.reduce(
          (total, mass, index) => total + mass ** order * (q[index] ?? 0) ** (1 - order),
          0,
        )
        expect(Math.log(sum) / (order - 1) / order).toBeLessThanOrEqual(rho + 1e-9)
      }
  })
})
