import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDecimal } from '../../src/privacy/decimal.ts'
import {
  type DeltaAtto,
  deltaAtto,
  deltaNumber,
  type EpsilonNano,
  epsilonNano,
  epsilonNumber,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
  rhoNumber,
  rhoPico,
} from '../../src/privacy/loss.ts'
import * as asItIs from '../../src/privacy/zcdp-conversion.ts'
import { withChangedSource } from '../changed-source.ts'
import { integersOfEverySize } from '../mechanisms/support.ts'

const { deltaOfRho, epsilonOfRho, rhoBoughtBy } = asItIs

const LARGEST_RHO_PICO = 1_000_000n * 1_000_000_000_000n

/*
 * Reference values with 80 digits, rounded in the safe direction. Computed with mpmath 1.3.0, `gain = lambda a:
 * log(1+a) + a*log(1+1/a)` and `l = -log(d)`, each at the root a of the expression in the last column, found by
 * bisection of its logarithm:
 *   rho    (a*e + gain(a) - l) / (a*(1+a))   a*a*(e + log(1+1/a))/(1+2*a) + log(1+a) - l
 *   e      (a*(1+a)*rho + l - gain(a)) / a   a*a*rho + log(1+a) - l
 *   delta  exp(a*(1+a)*rho - a*e - gain(a))  (1+2*a)*rho - e - log(1+1/a)
 */

/** epsilon, delta and the pico-rho that they buy. */
const BOUGHT = [
  ['1', '1e-6', 24355970359n],
  ['1e-9', '1e-18', 0n],
  ['1e-9', '0.5', 385755894414n],
  ['0.01', '1e-9', 2095434n],
  ['0.1', '1e-5', 432993729n],
  ['0.5', '1e-6', 6641524356n],
  ['3', '1e-10', 107886584338n],
  ['10', '1e-5', 1782695616328n],
  ['10', '1e-18', 579489340727n],
  ['100', '1e-12', 37294282577229n],
  ['1000', '1e-6', 793664179563924n],
  ['1000000', '1e-18', 987212833570354458n],
  ['999990', '1e-9', 990933195762359709n],
  ['1', '0.5', 1016364342037n],
  ['1', '0.999999999999999999', 42446531673892n],
  ['1e-9', '0.999999999999999999', 41446531674892n],
  ['1000', '0.999999999999999999', 1041446531673892n],
  ['123.456789012', '0.012345678901234567', 86966323752443n],
  ['0', '1e-6', 1n],
  ['0', '0.9', 2092857687485n],
] as const

/** rho, delta and the resulting nano-epsilons. */
const EPSILONS = [
  ['0.025', '1e-6', 1014074255n],
  ['1e-12', '1e-18', 10003n],
  ['1e-12', '0.5', 0n],
  ['0.000049999583', '1e-6', 37104462n],
  ['0.5', '1e-5', 4728386985n],
  ['1', '1e-18', 13415901140n],
  ['1', '0.999999999999999999', 0n],
  ['12.345678901234', '1e-9', 43115963635n],
  ['1000', '1e-9', 1284903036460n],
  ['1000000', '1e-18', 1012869747353912n],
  ['1000000', '0.9', 1000640151820782n],
  ['0.3', '0.9', 0n],
] as const

/** rho, epsilon and the resulting delta, in units of 1e-18. */
const DELTAS = [
  ['0.05', '0.25', 81772753103695521n],
  ['1e-12', '1e-9', 857157461963n],
  ['1e-12', '0.00001', 2n],
  ['0.025', '1', 1336131906404n],
  ['0.024355970359', '1', 999999999752n],
  ['1', '1', 493493731233707648n],
  ['1', '10', 117141724n],
  ['0.5', '0', 558835639347434634n],
  ['1', '20', 1n],
  ['100', '0.5', ONE_DELTA_ATTO],
  ['100', '150', 1026214974272431n],
  ['1000000', '1000000', 999957858233204679n],
  ['1000000', '0', ONE_DELTA_ATTO],
  ['1000000', '1010000', 13457143n],
  ['0.000001', '0.008', 10234974n],
  ['1e-12', '1000000', 1n],
  ['20', '1e-9', 999999997938846461n],
] as const

function exact(text: string, fractionDigits: number): bigint {
  const value = parseDecimal(text, fractionDigits)
  if (value === undefined) throw new Error(`${text} has too many digits`)
  return value
}

const epsilon = (text: string) => epsilonNano(exact(text, 9))
const delta = (text: string) => deltaAtto(exact(text, 18))
const rho = (text: string) => rhoPico(exact(text, 12))
const loss = (e: string, d: string): PrivacyLoss => ({ epsilonNano: epsilon(e), deltaAtto: delta(d) })

/** Reference values that a conversion gets wrong. */
function mistakes(conversion: typeof asItIs): string[] {
  const figures = [
    ...BOUGHT.map(([e, d, pico]) => ({
      what: `rho bought by ${e}, ${d}`,
      expected: pico,
      found: () => conversion.rhoBoughtBy(loss(e, d)),
    })),
    ...EPSILONS.map(([r, d, nano]) => ({
      what: `epsilon of rho ${r} at ${d}`,
      expected: nano,
      found: () => conversion.epsilonOfRho(rho(r), delta(d)),
    })),
    ...DELTAS.map(([r, e, atto]) => ({
      what: `delta of rho ${r} at ${e}`,
      expected: atto,
      found: () => conversion.deltaOfRho(rho(r), epsilon(e)),
    })),
    {
      what: 'no delta buys nothing',
      expected: 0n,
      found: () => conversion.rhoBoughtBy(loss('1000', '0')),
    },
    {
      what: 'more than the largest rho',
      expected: LARGEST_RHO_PICO,
      found: () => conversion.rhoBoughtBy(loss('1000000', '0.999999999999999999')),
    },
    {
      what: 'a delta of 1 buys the largest rho',
      expected: LARGEST_RHO_PICO,
      found: () => conversion.rhoBoughtBy(loss('1', '1')),
    },
    { what: 'epsilon of no rho', expected: 0n, found: () => conversion.epsilonOfRho(rho('0'), delta('0')) },
    {
      what: 'epsilon at a delta of 1',
      expected: 0n,
      found: () => conversion.epsilonOfRho(rho('1000'), delta('1')),
    },
    {
      what: 'delta of no rho',
      expected: 0n,
      found: () => conversion.deltaOfRho(rho('0'), epsilon('0')),
    },
  ]
  return figures.flatMap(({ what, expected, found }) => {
    try {
      const value = found()
      return value === expected ? [] : [`${what}: ${value}, not ${expected}`]
    } catch (error) {
      return [`${what}: ${error}`]
    }
  })
}

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
    expect(deltaNumber(deltaOfRho(rho('0.05'), epsilon('0.25')))).toBeCloseTo(0.0817727531036956, 15)
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
        expect(deltaOfRho(bought, epsilonNano) <= deltaAtto).toBe(true)
        expect(epsilonOfRho(bought, deltaAtto) <= epsilonNano).toBe(true)
        if (bought === LARGEST_RHO_PICO) return
        const more = rhoPico(bought + bought / 1_000_000n + 1n)
        expect(epsilonOfRho(more, deltaAtto) > epsilonNano).toBe(true)
        expect(deltaOfRho(more, epsilonNano) > deltaAtto || ONE_DELTA_ATTO - deltaAtto === 1n).toBe(true)
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

describe('the epsilon and the delta of a rho', () => {
  it('are consistent, and each falls as the other grows', () => {
    fc.assert(
      fc.property(anyRho, anyDelta, anyBudgetEpsilon, (r, d, extra) => {
        const e = epsilonOfRho(r, d)
        expect(deltaOfRho(r, e) <= d).toBe(true)
        expect(deltaOfRho(r, epsilonNano(e + extra)) <= deltaOfRho(r, e)).toBe(true)
        expect(epsilonOfRho(rhoPico(r + 1n), d) >= e).toBe(true)
        expect(deltaOfRho(rhoPico(r + 1n), e) >= deltaOfRho(r, e)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('are no looser than any order on a fine grid, and no tighter than the best order', () => {
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

describe('a defect in the conversion is detected', () => {
  it.each([
    ['the older bound: no logarithm of the order', 'return { excess, gain }', 'return { excess, gain: 0n }'],
    ['half of the gain left out', ' + ((excess * logarithm(one + excess, excess)) >> EXCESS_BITS)', ''],
    [
      'the order for its excess',
      'const product = excess * ((1n << EXCESS_BITS) + excess)',
      'const product = excess * excess',
    ],
    ['the excess for its order', '/ (excess * ((1n << EXCESS_BITS) + excess))', '/ (excess * excess)'],
    [
      'delta forgotten',
      'return logarithm(ONE_DELTA_ATTO, delta) + LOGARITHM_ERROR',
      'return LOGARITHM_ERROR',
    ],
    [
      'the sign of delta reversed',
      'const needed = spentBy(order, rho) + surprise',
      'const needed = spentBy(order, rho) - surprise',
    ],
    [
      'an epsilon rounded down',
      'divideRoundingUp(needed * ONE_EPSILON_NANO, unit)',
      '(needed * ONE_EPSILON_NANO) / unit',
    ],
    ['a delta rounded down', 'return deltaAtto(enough)', 'return deltaAtto(below)'],
    ['a rho rounded up', 'rhoPico(bought)', 'rhoPico(bought + 1n)'],
    ['no largest rho', 'bought > LARGEST_RHO_PICO ? LARGEST_RHO_PICO :', ''],
    [
      'a delta of 0 treated as the smallest delta',
      'if (deltaAtto === 0n) return rhoPico(0n)',
      'if (deltaAtto === 0n) return rhoBoughtBy({ epsilonNano, deltaAtto: 1n as DeltaAtto })',
    ],
    ['a negative epsilon', 'needed <= 0n ? 0n :', ''],
    ['an order for rho that is not the best', '(a * a * (epsilon', '(a * (epsilon'],
    ['an order for epsilon that is not the best', 'a * a * rhoNumber +', 'a * rhoNumber +'],
    ['an order for delta that is not the best', '(1 + 2 * a) * rhoNumber', '(1 + a) * rhoNumber'],
    ['orders that are not large', 'const LARGEST_EXCESS = 2 ** 64', 'const LARGEST_EXCESS = 1000'],
    ['orders that are not near 1', 'const LEAST_EXCESS = 2 ** -64', 'const LEAST_EXCESS = 0.01'],
    ['too few terms', 'power > 0n', 'odd < 9n'],
    ['powers of 2 not counted', 'doublings * LOGARITHM_OF_TWO', '0n * LOGARITHM_OF_TWO'],
  ])('%s', async (_, find, replace) => {
    const file = 'privacy/zcdp-conversion.ts'
    const found = await withChangedSource([{ file, find, replace }], {}, async (load) =>
      mistakes(await load<typeof asItIs>(file)),
    )
    expect(found).not.toEqual([])
  })

  it('a copy without a defect passes', async () => {
    const found = await withChangedSource([], {}, async (load) =>
      mistakes(await load<typeof asItIs>('privacy/zcdp-conversion.ts')),
    )
    expect(found).toEqual([])
  })
})
