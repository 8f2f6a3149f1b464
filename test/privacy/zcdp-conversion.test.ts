import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type DeltaAtto,
  deltaAtto,
  type EpsilonNano,
  epsilonNano,
  epsilonNumber,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  type RhoPico,
  rhoNumber,
  rhoPico,
} from '../../src/privacy/loss.ts'
import * as asItIs from '../../src/privacy/zcdp-conversion.ts'
import { integersOfEverySize } from '../core/mechanisms/support.ts'
import { withChangedSource } from '../mutants/changed-source.ts'
import { delta, LARGEST_RHO_PICO, loss, mistakes, rho } from './zcdp-reference-values.ts'

const { epsilonOfRho, rhoBoughtBy } = asItIs

/** All epsilons that a budget may have. */
const anyBudgetEpsilon: fc.Arbitrary<EpsilonNano> = integersOfEverySize(50)
  .filter((count) => count <= 1_000_000n * ONE_EPSILON_NANO)
  .map(epsilonNano)

/** All deltas above 0 and below 1, with equal weight near 1 and near 0. */
const anyDelta: fc.Arbitrary<DeltaAtto> = fc
  .tuple(
    integersOfEverySize(60).filter((count) => count < ONE_DELTA_ATTO),
    fc.boolean(),
  )
  .map(([count, nearOne]) => deltaAtto(nearOne ? ONE_DELTA_ATTO - count : count))

/** From 1e-12 to 1e6. */
const anyRho: fc.Arbitrary<RhoPico> = integersOfEverySize(60)
  .filter((count) => count <= LARGEST_RHO_PICO)
  .map(rhoPico)

describe('the conversion', () => {
  // OpenDP, zCDP_to_approxDP/cdp_delta/test.rs; cdp2adp.py, the reference implementation by the authors of arXiv
  // 2004.00010.
  it('has the published values', () => {
    expect(epsilonNumber(epsilonOfRho(rho('0.025'), delta('1e-6')))).toBeCloseTo(1.014074254726128, 8)
    expect(rhoNumber(rhoBoughtBy(loss('1', '1e-6')))).toBeCloseTo(0.024355970359538372, 11)
  })

  it('has every reference value to its last digit, rounded in the safe direction', () => {
    expect(mistakes(asItIs)).toEqual([])
  })

  it('refuses an epsilon at a delta of 0', () => {
    expect(() => epsilonOfRho(rho('1e-12'), delta('0'))).toThrow(RangeError)
  })
})

describe('the rho that a grant buys', () => {
  it('keeps the guarantee, and one millionth more does not', () => {
    fc.assert(
      fc.property(anyBudgetEpsilon, anyDelta, (epsilonNano, deltaAtto) => {
        const bought = rhoBoughtBy({ epsilonNano, deltaAtto })
        expect(epsilonOfRho(bought, deltaAtto) <= epsilonNano).toBe(true)
        if (bought === LARGEST_RHO_PICO) return
        const more = rhoPico(bought + bought / 1_000_000n + 1n)
        expect(epsilonOfRho(more, deltaAtto) > epsilonNano).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('grows with epsilon and with delta', () => {
    fc.assert(
      fc.property(anyBudgetEpsilon, anyBudgetEpsilon, anyDelta, anyDelta, (e, moreE, d, moreD) => {
        const bought = rhoBoughtBy({ epsilonNano: e, deltaAtto: d })
        for (const extra of [1n, moreE])
          expect(rhoBoughtBy({ epsilonNano: epsilonNano(e + extra), deltaAtto: d }) >= bought).toBe(true)
        for (const extra of [1n, moreD]) {
          const sum = d + extra > ONE_DELTA_ATTO ? ONE_DELTA_ATTO : d + extra
          expect(rhoBoughtBy({ epsilonNano: e, deltaAtto: deltaAtto(sum) }) >= bought).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the epsilon of a rho', () => {
  it('falls as delta grows, and grows with rho', () => {
    fc.assert(
      fc.property(anyRho, anyDelta, anyDelta, (r, d, other) => {
        const e = epsilonOfRho(r, d)
        const larger = d > other ? d : other
        expect(epsilonOfRho(r, larger) <= e).toBe(true)
        expect(epsilonOfRho(rhoPico(r + 1n), d) >= e).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('is no looser than any order on a fine grid, and no tighter than the best order', () => {
    const grid = Array.from({ length: 4_000 }, (_, index) => 2 ** (index / 50 - 40))
    for (const [r, d] of [
      [0.025, 1e-6],
      [1, 0.3],
      [40, 1e-9],
      [1e-6, 1e-3],
    ] as const) {
      const each = grid.map((a) => (1 + a) * r + (-Math.log(d) - Math.log1p(a) - a * Math.log1p(1 / a)) / a)
      const best = Math.max(0, Math.min(...each))
      const found = epsilonNumber(epsilonOfRho(rhoPico(BigInt(Math.round(r * 1e12))), delta(String(d))))
      expect(found).toBeLessThanOrEqual(best * (1 + 1e-12) + 1e-9)
      // The grid has ratios of 1.014, so its best order is off by about 1e-4.
      expect(found).toBeGreaterThanOrEqual(best * (1 - 1e-3))
    }
  })
})

/** Logarithms of numerator / denominator in units of 2^-192, rounded down. Computed with mpmath 1.3.0, 90 digits. */
const LOGARITHMS = [
  [1n, 1n, 0n],
  [2n, 1n, 4350955369971217654477563090224794165364344896676135745069n],
  [3n, 2n, 2545145733744506767491414797523259672791486442307534182338n],
  [1000000000000000000n, 1n, 260164095895951665666739843279093103970781630466892550245397n],
  [1000000000000000000n, 999999999999999999n, 6277101735386680766974340290901006800112n],
  [18446744073709551617n, 18446744073709551616n, 340282366920938463454151235394913435648n],
  [18446744073709551617n, 1n, 278461143678157929886904320141307765046772224622667601120098n],
  [3n, 1n, 6896101103715724421968977887748053838155831338983669927408n],
  [9007199254740991n, 7n, 218385958634932873209174638865062811467582585452359117622472n],
] as const

it('logarithms are never too high, and too low by at most the allowance', async () => {
  const open = ['function logarithm(', 'const LOGARITHM_ERROR'].map((find) => ({
    file: 'privacy/zcdp-conversion.ts',
    find,
    replace: `export ${find}`,
  }))
  interface Opened {
    readonly logarithm: (numerator: bigint, denominator: bigint) => bigint
    readonly LOGARITHM_ERROR: bigint
  }
  await withChangedSource(open, {}, async (load) => {
    const { logarithm, LOGARITHM_ERROR } = await load<Opened>('privacy/zcdp-conversion.ts')
    for (const [numerator, denominator, floor] of LOGARITHMS) {
      const found = logarithm(numerator, denominator)
      expect(found <= floor).toBe(true)
      expect(floor + 1n - found <= LOGARITHM_ERROR).toBe(true)
    }
  })
})
