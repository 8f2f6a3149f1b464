import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { informedAdversaryRisk } from '../../../src/privacy/informed-adversary.ts'
import {
  deltaAtto,
  deltaNumber,
  epsilonNano,
  epsilonNumber,
  type PrivacyLoss,
} from '../../../src/privacy/loss.ts'

const loss = (epsilon: number, delta = 0): PrivacyLoss => ({
  epsilonNano: epsilonNano(BigInt(Math.round(epsilon * 1e9))),
  deltaAtto: deltaAtto(BigInt(Math.round(delta * 1e18))),
})

const anyLoss = fc
  .record({ epsilon: fc.bigInt(0n, 20_000_000_000n), delta: fc.bigInt(0n, 10n ** 18n) })
  .map(({ epsilon, delta }) => ({ epsilonNano: epsilonNano(epsilon), deltaAtto: deltaAtto(delta) }))

/**
 * Randomised response over n rows that sometimes reveals the truth: with probability delta the row itself, otherwise
 * the row with weight e^epsilon against 1 for each other row. It is (epsilon, delta)-differentially private.
 */
function randomisedResponse({ epsilonNano: nano, deltaAtto: atto }: PrivacyLoss, n: number): number[][] {
  const [epsilon, delta] = [epsilonNumber(nano), deltaNumber(atto)]
  const weight = Math.exp(epsilon)
  return Array.from({ length: n }, (_, world) =>
    Array.from(
      { length: n },
      (_, told) =>
        (told === world ? delta : 0) + ((1 - delta) * (told === world ? weight : 1)) / (weight + n - 1),
    ),
  )
}

/** Probability that the best guess is right if all worlds are equally likely. */
function bestGuess(mechanism: readonly (readonly number[])[]): number {
  const outputs = mechanism[0]?.keys() ?? []
  const right = [...outputs].map((output) =>
    Math.max(...mechanism.map((distribution) => distribution[output] ?? 0)),
  )
  return right.reduce((sum, share) => sum + share, 0) / mechanism.length
}

describe('the risk of an informed adversary', () => {
  test('is that of Lee and Clifton 2011, (4) and (5): 1 / (1 + (n - 1) e^-epsilon)', () => {
    // The value of their section 5.2 for a mean of {1, 2, 3, 4}: epsilon 0.3379 times the sensitivities' quotient
    // 1.2.
    const epsilon = 0.337887590090137 * 1.2
    expect(informedAdversaryRisk(loss(epsilon), 4)).toBeCloseTo(1 / 3, 9)
  })

  test('is a blind guess without loss, and certainty with one candidate or a delta of 1', () => {
    expect(informedAdversaryRisk(loss(0), 4)).toBe(0.25)
    expect(informedAdversaryRisk(loss(0.1), 1)).toBe(1)
    expect(informedAdversaryRisk(loss(0, 1), 1_000)).toBe(1)
    expect(informedAdversaryRisk(loss(1_000_000), 1_000_000_000)).toBe(1)
  })

  test('is reached by the best guess about randomised response, also with a delta', () => {
    fc.assert(
      fc.property(anyLoss, fc.integer({ min: 2, max: 12 }), (any, n) => {
        const attained = bestGuess(randomisedResponse(any, n))
        expect(Math.abs(informedAdversaryRisk(any, n) - attained)).toBeLessThan(1e-12)
      }),
    )
  })

  test('is never exceeded by the best guess about any mechanism with this loss', () => {
    const weights = (n: number) =>
      fc.array(fc.array(fc.double({ min: 1e-3, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }), {
        minLength: n,
        maxLength: n,
      })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 6 }).chain(weights), (drawn) => {
        const mechanism = drawn.map((distribution) => {
          const total = distribution.reduce((sum, weight) => sum + weight, 0)
          return distribution.map((weight) => weight / total)
        })
        const ratios = mechanism.flatMap((one) =>
          mechanism.flatMap((other) => one.map((share, output) => share / (other[output] ?? 1))),
        )
        const epsilon = Math.log(Math.max(...ratios))
        const rounded = loss(Math.ceil(epsilon * 1e9) / 1e9)
        expect(bestGuess(mechanism)).toBeLessThanOrEqual(
          informedAdversaryRisk(rounded, mechanism.length) + 1e-9,
        )
      }),
    )
  })

  test('grows with epsilon and with delta, and falls with the number of candidates', () => {
    fc.assert(
      fc.property(anyLoss, fc.integer({ min: 2, max: 1_000_000 }), (any, n) => {
        const risk = informedAdversaryRisk(any, n)
        const more = { ...any, epsilonNano: epsilonNano(any.epsilonNano + 1_000_000n) }
        expect(informedAdversaryRisk(more, n)).toBeGreaterThanOrEqual(risk)
        const likelier = { ...any, deltaAtto: deltaAtto(10n ** 18n - (10n ** 18n - any.deltaAtto) / 2n) }
        expect(informedAdversaryRisk(likelier, n)).toBeGreaterThanOrEqual(risk)
        expect(informedAdversaryRisk(any, n + 1)).toBeLessThanOrEqual(risk)
        expect(risk).toBeGreaterThanOrEqual(1 / n)
        expect(risk).toBeLessThanOrEqual(1)
      }),
    )
  })
})
