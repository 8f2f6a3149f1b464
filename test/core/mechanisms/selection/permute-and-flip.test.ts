import { describe, expect, it } from 'vitest'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import { exponentialMasses, exponentialRho } from '../../../../src/core/mechanisms/selection/exponential.ts'
import { calibrateNoisyMax, noisyMaxRho } from '../../../../src/core/mechanisms/selection/noisy-max.ts'
import {
  permuteAndFlip,
  permuteAndFlipMasses,
} from '../../../../src/core/mechanisms/selection/permute-and-flip.ts'
import { epsilonNano, ONE_EPSILON_NANO } from '../../../../src/privacy/loss.ts'
import { rational } from '../../../../src/privacy/rational.ts'

const ONE = rational(1n, 1n)

/**
 * Report noisy max with continuous exponential noise of scale 1, by numerical integration: with t = exp(-noise), P(i)
 * is the integral over t in (0, 1) of the product over j of max(0, 1 - t exp(score_j - score_i)).
 */
function noisyMaxMass(scores: readonly bigint[], candidate: number): number {
  const cells = 200_000
  let sum = 0
  for (let cell = 0; cell < cells; cell += 1) {
    const t = (cell + 0.5) / cells
    sum += scores.reduce(
      (product, score, index) =>
        index === candidate
          ? product
          : product * Math.max(0, 1 - t * Math.exp(Number(score - (scores[candidate] ?? 0n)))),
      1,
    )
  }
  return sum / cells
}

describe('masses', () => {
  it('equal the known answers (scores 1 and -1; 0, 1 and 2), which the exponential mechanism does not reach', () => {
    const two = permuteAndFlipMasses([1n, -1n], ONE)
    expect(two[0]).toBeCloseTo(0.9323323583816936, 14)
    expect(two[0]).toBeGreaterThan(exponentialMasses([0, 2], [1, 1], ONE)[0] ?? 1)
    const three = permuteAndFlipMasses([0n, 1n, 2n], ONE)
    ;[0.0593697969, 0.1756418759, 0.7649883273].forEach((mass, index) => {
      expect(three[index]).toBeCloseTo(mass, 10)
    })
  })

  it('are those of report noisy max with exponential noise', () => {
    for (const scores of [
      [1n, -1n],
      [0n, 1n, 2n],
      [3n, 0n, 3n, 2n, 0n],
    ])
      permuteAndFlipMasses(scores, ONE).forEach((mass, candidate) => {
        expect(mass).toBeCloseTo(noisyMaxMass(scores, candidate), 8)
      })
  })

  it('add up to 1, also for many candidates', () => {
    const scores = Array.from({ length: 60 }, (_, index) => BigInt((index * 7) % 13))
    const masses = permuteAndFlipMasses(scores, rational(1n, 2n))
    expect(masses.reduce((sum, mass) => sum + mass, 0)).toBeCloseTo(1, 12)
  })
})

describe('the price in zCDP', () => {
  it('is the rho of pure epsilon; that of the exponential mechanism would be too small', () => {
    const one = { sensitivity: 1n, monotonic: true }
    // A tie, and its neighbour in which one of the two is ahead by the sensitivity: monotonic scores, epsilon 1.
    const [p, q] = [permuteAndFlipMasses([0n, 0n], ONE), permuteAndFlipMasses([1n, 0n], ONE)]
    const divergence = p.reduce((sum, mass, index) => sum + mass * Math.log(mass / (q[index] ?? 0)), 0)
    expect(divergence).toBeGreaterThan(2 * (Number(exponentialRho({ exponent: ONE }, one)) / 1e12))
    const setting = { ...one, candidates: 2, k: 1, gap: false, noise: 'exponential' } as const
    const rho = Number(noisyMaxRho(calibrateNoisyMax(setting, epsilonNano(ONE_EPSILON_NANO)), one)) / 1e12
    for (const alpha of [1.001, 2, 8, 64]) {
      const sum = p.reduce((total, mass, index) => total + mass ** alpha * (q[index] ?? 0) ** (1 - alpha), 0)
      expect(Math.log(sum) / (alpha - 1)).toBeLessThanOrEqual(rho * alpha)
    }
  })
})

describe('the choice', () => {
  it('works for a single candidate, and requires at least one', () => {
    expect(permuteAndFlip([-5n], ONE, systemEntropy())).toBe(0)
    expect(() => permuteAndFlip([], ONE, systemEntropy())).toThrow(RangeError)
  })

  it('finds the best of many if the others have negligible probability', () => {
    const scores = Array.from({ length: 100_000 }, (_, index) =>
      index === 77_777 ? 10n ** 30n : BigInt(index),
    )
    expect(permuteAndFlip(scores, rational(1n, 10n), systemEntropy())).toBe(77_777)
  })
})
