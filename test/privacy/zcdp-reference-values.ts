import { parseDecimal } from '../../src/privacy/decimal.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../../src/privacy/loss.ts'
import type * as asItIs from '../../src/privacy/zcdp-conversion.ts'

export const LARGEST_RHO_PICO = 1_000_000n * 1_000_000_000_000n

/*
 * Reference values with 80 digits, rounded in the safe direction. Computed with mpmath 1.3.0, `gain = lambda a:
 * log(1+a) + a*log(1+1/a)` and `l = -log(d)`, each at the root a of the expression in the last column, found by
 * bisection of its logarithm:
 *   rho    (a*e + gain(a) - l) / (a*(1+a))   a*a*(e + log(1+1/a))/(1+2*a) + log(1+a) - l
 *   e      (a*(1+a)*rho + l - gain(a)) / a   a*a*rho + log(1+a) - l
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

function exact(text: string, fractionDigits: number): bigint {
  const value = parseDecimal(text, fractionDigits)
  if (value === undefined) throw new Error(`${text} has too many digits`)
  return value
}

const epsilon = (text: string) => epsilonNano(exact(text, 9))
export const delta = (text: string) => deltaAtto(exact(text, 18))
export const rho = (text: string) => rhoPico(exact(text, 12))
export const loss = (e: string, d: string): PrivacyLoss => ({ epsilonNano: epsilon(e), deltaAtto: delta(d) })

/** Reference values that a conversion gets wrong. */
export function mistakes(conversion: typeof asItIs): string[] {
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
