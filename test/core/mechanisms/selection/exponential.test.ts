import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bernoulliExpUnbounded } from '../../../../src/core/mechanisms/samplers/bernoulli-unbounded.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'
import {
  calibrateExponential,
  chooseExponentially,
  exponentialAttempt,
  exponentialHalfWidth,
  exponentialPrivacyMap,
  exponentialRho,
} from '../../../../src/core/mechanisms/selection/exponential.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { rational } from '../../../../src/privacy/rational.ts'
import { exponentialMasses } from '../../../../src/studies/evaluation/selection-masses.ts'
import { scriptedSource } from '../scripted-source.ts'
import { anyEpsilon } from '../support.ts'

const ONE = rational(1n, 1n)

/** Returns the given integers for bounds above 1, in order. */
function bigSource(draws: readonly bigint[]): UniformSource {
  const left = [...draws]
  const belowBig = (bound: bigint): bigint => {
    if (bound === 1n) return 0n
    const draw = left.shift()
    if (draw === undefined || draw >= bound) throw new RangeError(`${draw} is not below ${bound}`)
    return draw
  }
  return { belowBig, below: (bound) => Number(belowBig(BigInt(bound))) }
}

describe('calibration', () => {
  it('is exact: exponent = epsilon / (2 sensitivity), or epsilon / sensitivity for monotonic scores', () => {
    const epsilon = epsilonNano(300_000_000n)
    const loss = { epsilonNano: epsilon, deltaAtto: 0n }
    expect(calibrateExponential({ sensitivity: 3n, monotonic: false, outcomes: 5n }, epsilon)).toEqual({
      sensitivity: 3n,
      monotonic: false,
      outcomes: 5n,
      exponent: rational(1n, 20n),
      loss,
    })
    expect(
      calibrateExponential({ sensitivity: 3n, monotonic: true, outcomes: 5n }, epsilon).exponent,
    ).toEqual(rational(1n, 10n))
  })

  it('costs exactly the requested loss, over the whole domain', () => {
    const sensitivities = fc.bigInt(1n, 1n << 60n)
    fc.assert(
      fc.property(sensitivities, fc.boolean(), anyEpsilon, (sensitivity, monotonic, epsilon) => {
        const { exponent, loss } = calibrateExponential({ sensitivity, monotonic, outcomes: 5n }, epsilon)
        expect(exponentialPrivacyMap({ exponent, sensitivity, monotonic })).toEqual(loss)
        expect(loss.epsilonNano).toBe(epsilon)
      }),
    )
  })

  it('refuses a sensitivity or an epsilon of 0, and no outcomes', () => {
    const none = { sensitivity: 1n, monotonic: true, outcomes: 0n }
    expect(() => calibrateExponential(none, epsilonNano(1n))).toThrow(RangeError)
    expect(() =>
      calibrateExponential({ sensitivity: 0n, monotonic: true, outcomes: 5n }, epsilonNano(1n)),
    ).toThrow(RangeError)
    expect(() =>
      calibrateExponential({ sensitivity: 1n, monotonic: true, outcomes: 5n }, epsilonNano(0n)),
    ).toThrow(RangeError)
  })
})

describe('the privacy maps', () => {
  const exponent = rational(1n, 3n)

  it('charge general scores twice, and round up', () => {
    expect(exponentialPrivacyMap({ exponent, sensitivity: 1n, monotonic: true }).epsilonNano).toBe(
      333_333_334n,
    )
    expect(exponentialPrivacyMap({ exponent, sensitivity: 1n, monotonic: false }).epsilonNano).toBe(
      666_666_667n,
    )
    expect(exponentialPrivacyMap({ exponent, sensitivity: 9n, monotonic: true }).epsilonNano).toBe(
      3_000_000_000n,
    )
  })

  it('state the rho of a bounded range', () => {
    // Computed with 60 digits.
    expect(exponentialRho({ exponent: ONE, sensitivity: 1n, monotonic: true })).toBe(123_301_561_483n)
    expect(exponentialRho({ exponent: ONE, sensitivity: 1n, monotonic: false })).toBe(474_474_647_071n)
  })

  it('hold for the distribution itself: Renyi divergences stay below rho alpha', () => {
    const rho = Number(exponentialRho({ exponent: ONE, sensitivity: 1n, monotonic: false })) / 1e12
    for (const [distances, moved] of [
      [
        [1, 1, 1],
        [2, 0, 1],
      ],
      [
        [1, 4],
        [2, 3],
      ],
      [
        [5, 5, 6, 6],
        [4, 6, 7, 5],
      ],
    ] as const) {
      const ones = distances.map(() => 1)
      const [p, q] = [exponentialMasses(distances, ones, ONE), exponentialMasses(moved, ones, ONE)]
      for (const alpha of [1.01, 2, 8, 64]) {
        const sum = p.reduce(
          (total, mass, index) => total + mass ** alpha * (q[index] ?? 0) ** (1 - alpha),
          0,
        )
        expect(Math.log(sum) / (alpha - 1)).toBeLessThanOrEqual(rho * alpha)
      }
    }
  })
})

describe('accuracy', () => {
  /** The worst case: one best outcome, and all others just too far away. */
  const miss = (outcomes: number, distance: number, exponent: number) => {
    const weight = (outcomes - 1) * Math.exp(-exponent * distance)
    return weight / (1 + weight)
  }

  it('is the least that holds in the worst case', () => {
    for (const outcomes of [2, 10, 1_000_000])
      for (const [numerator, denominator] of [
        [1n, 1n],
        [1n, 1000n],
        [5n, 2n],
      ] as const)
        for (const confidence of [0.5, 0.95, 0.999999]) {
          const exponent = rational(numerator, denominator)
          const halfWidth = exponentialHalfWidth({ exponent, outcomes: BigInt(outcomes) }, confidence)
          const perUnit = Number(numerator) / Number(denominator)
          expect(miss(outcomes, halfWidth + 1, perUnit)).toBeLessThanOrEqual(1 - confidence + 1e-12)
          if (halfWidth > 0)
            expect(miss(outcomes, halfWidth, perUnit)).toBeGreaterThan(1 - confidence - 1e-12)
        }
  })

  it('is 0 for a single outcome, and refuses a confidence of 1', () => {
    expect(exponentialHalfWidth({ exponent: ONE, outcomes: 1n }, 0.95)).toBe(0)
    expect(() => exponentialHalfWidth({ exponent: ONE, outcomes: 2n }, 1)).toThrow(RangeError)
  })
})

describe('masses', () => {
  it('equal the known answer for scores 1 and -1 (computed by hand: 1 / (1 + exp(-2)))', () => {
    const [best, other] = exponentialMasses([0, 2], [1, 1], ONE)
    expect(best).toBeCloseTo(0.8807970779778823, 14)
    expect(other).toBeCloseTo(1 - 0.8807970779778823, 14)
  })

  it('count multiplicities, and skip entries without any', () => {
    const masses = exponentialMasses([0, 900, 901], [0, 1, 3], ONE)
    expect(masses[0]).toBe(0)
    expect(masses[1]).toBeCloseTo(1 / (1 + 3 * Math.exp(-1)), 14)
  })
})

describe('the choice', () => {
  it('counts outcomes beyond 2^53 exactly', () => {
    const most = 2 ** 53
    const distances = [4, 4, 5, 4, 4]
    const multiplicities = [most, most, 0, most - 1, 1]
    const total = 4n * 2n ** 53n
    for (const [position, index] of [
      [0n, 0],
      [2n ** 53n - 1n, 0],
      [2n ** 53n, 1],
      [2n ** 54n - 1n, 1],
      [2n ** 54n, 3],
      [3n * 2n ** 53n - 2n, 3],
      [3n * 2n ** 53n - 1n, 4],
    ] as const) {
      expect(position).toBeLessThan(total)
      expect(chooseExponentially(distances, multiplicities, ONE, bigSource([0n, position]))).toBe(index)
    }
  })

  it('supports exponents so small that all distances are in one level', () => {
    const exponent = rational(1n, 2n ** 60n)
    const attempt = (coin: bigint) =>
      exponentialAttempt([0, 2 ** 53], [1, 1], exponent, bigSource([7n, 1n, coin, 1n]), 4)()
    // exp(-2^53 / 2^60): the first coin has that exponent for its probability, and succeeds below it.
    expect(attempt(2n ** 53n)).toBe(1)
    expect(attempt(2n ** 53n - 1n)).toBeUndefined()
  })

  it('supports exponents so large that only the best counts', () => {
    expect(chooseExponentially([1, 0, 2], [1, 1, 1], rational(10n ** 30n, 1n), bigSource([2n ** 127n]))).toBe(
      1,
    )
  })

  it('stays within its accuracy among a million values', () => {
    const distances = Float64Array.from({ length: 1_000_001 }, (_, index) => Math.abs(index - 400_000))
    const multiplicities = new Float64Array(distances.length).fill(3)
    const source = systemEntropy()
    for (const exponent of [rational(1n, 2n), rational(1n, 1_000_000n)]) {
      const chosen = chooseExponentially(distances, multiplicities, exponent, source)
      const halfWidth = exponentialHalfWidth({ exponent, outcomes: 3_000_003n }, 1 - 2 ** -50)
      expect(distances[chosen]).toBeLessThanOrEqual(halfWidth)
    }
  })

  it('refuses invalid input', () => {
    const source = systemEntropy()
    const choose = (distances: readonly number[], multiplicities: readonly number[], exponent = ONE) =>
      chooseExponentially(distances, multiplicities, exponent, source)
    expect(() => choose([1], [1], rational(0n, 1n))).toThrow(RangeError)
    expect(() => choose([1, 2], [1])).toThrow(RangeError)
    expect(() => choose([], [])).toThrow(RangeError)
    expect(() => choose([1, 2], [0, 0])).toThrow(RangeError)
    for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53 + 2, Number.POSITIVE_INFINITY]) {
      expect(() => choose([1, wrong], [1, 1])).toThrow(RangeError)
      expect(() => choose([1, 1], [1, wrong])).toThrow(RangeError)
    }
    expect(() => chooseExponentially([1], [1], ONE, source, 3)).toThrow(RangeError)
  })
})

describe('a coin of any exponent', () => {
  it('supports fractions beyond 2^53 in big integers', () => {
    const denominator = 2n ** 70n
    const coin = (draws: readonly bigint[]) => bernoulliExpUnbounded(5n, denominator, bigSource(draws))
    expect(coin([5n])).toBe(true)
    expect(coin([4n, 1n])).toBe(false)
  })

  it('stops at the first whole unit that fails, however many there are', () => {
    expect(bernoulliExpUnbounded(2n ** 80n, 1n, scriptedSource([1, 1, 119]))).toBe(false)
  })
})
