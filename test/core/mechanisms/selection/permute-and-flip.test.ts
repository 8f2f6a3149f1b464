import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import {
  permuteAndFlip,
  permuteAndFlipRho,
} from '../../../../src/core/mechanisms/selection/permute-and-flip.ts'
import { epsilonNano, rhoNumber } from '../../../../src/privacy/loss.ts'
import { rational } from '../../../../src/privacy/rational.ts'
import { boundedRangeRho } from '../../../../src/privacy/zero-concentrated.ts'
import {
  exponentialMasses,
  permuteAndFlipMasses,
} from '../../../../src/studies/evaluation/selection-masses.ts'

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
  /** Finest step of a score: a 2,000th of the epsilon. */
  const STEPS = 2000

  const shareOf = (epsilon: number, before: readonly number[], moves: readonly number[], order: number) => {
    const masses = (steps: readonly number[]) =>
      permuteAndFlipMasses(
        steps.map((step) => BigInt(step)),
        rational(BigInt(epsilon * 10), BigInt(10 * STEPS)),
      )
    const [p, q] = [masses(before), masses(before.map((step, index) => step + (moves[index] ?? 0)))]
    const sum = (term: (mass: number, other: number) => number) =>
      p.reduce((total, mass, index) => total + term(mass, q[index] ?? 0), 0)
    return order === 1
      ? sum((mass, other) => mass * Math.log(mass / other))
      : Math.log(sum((mass, other) => other * (mass / other) ** order)) / (order - 1) / order
  }

  const priceOf = (epsilon: number) => rhoNumber(permuteAndFlipRho(epsilonNano(BigInt(epsilon * 1e9)), 1n))

  // The table of permute-and-flip.md. The lower bound is that of two candidates, one ahead before and one after.
  it.each([
    [0.1, 0.004761, 0.004837, 0.00125],
    [0.5, 0.09963, 0.1065, 0.03114],
    [1, 0.3297, 0.3679, 0.1233],
    [2, 0.9744, 1.135, 0.4745],
    [4, 2.55, 3.018, 1.67],
    [8, 6.051, 7, 4.923],
  ])(
    'at %d is between %d and %d; that of a bounded range, %d, would be too small',
    (epsilon, least, price, range) => {
      let most = 0
      for (let ahead = 0; ahead <= STEPS; ahead += STEPS / 200)
        most = Math.max(most, shareOf(epsilon, [ahead, 0], [0, STEPS], 1))
      expect(most / least).toBeCloseTo(1, 3)
      expect(priceOf(epsilon) / price).toBeCloseTo(1, 3)
      expect(rhoNumber(boundedRangeRho(epsilonNano(BigInt(epsilon * 1e9)))) / range).toBeCloseTo(1, 3)
      expect(most).toBeGreaterThan(range * 1.2)
    },
  )

  it('covers all orders, for any number of candidates whose scores move by anything up to the sensitivity', () => {
    const scores = fc.array(fc.integer({ min: 0, max: 2 * STEPS }), { minLength: 5, maxLength: 5 })
    const moves = fc.array(fc.integer({ min: 0, max: STEPS }), { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(
        fc.constantFrom(0.1, 1, 4),
        fc.integer({ min: 2, max: 5 }),
        scores,
        moves,
        (epsilon, candidates, before, by) => {
          for (const order of [1, 1.5, 3, 20])
            expect(
              shareOf(epsilon, before.slice(0, candidates), by.slice(0, candidates), order),
            ).toBeLessThanOrEqual(priceOf(epsilon) + 1e-9)
        },
      ),
      { numRuns: 200 },
    )
  })

  it('adds up over choices, each at an equal part of the epsilon', () => {
    // Computed with 60 digits: e + exp(-e) - 1 at 1, and three times that at 1/3.
    expect(permuteAndFlipRho(epsilonNano(1_000_000_000n), 1n)).toBe(367_879_441_172n)
    expect(permuteAndFlipRho(epsilonNano(1_000_000_000n), 3n)).toBe(149_593_931_722n)
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
