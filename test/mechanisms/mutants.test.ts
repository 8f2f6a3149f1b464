import { describe, expect, it } from 'vitest'
import { EXACT_LAWS, UNEXPLORED } from './exact-laws.ts'
import { importSamplers, type Mutation } from './sampler-copy.ts'

/** Bugs that were made before, here or in other libraries, and their like. Each must be caught by an exact law. */
const MUTANTS: readonly (Mutation & { readonly bug: string })[] = [
  {
    bug: 'modulo bias instead of rejection',
    file: 'uniform-integers.ts',
    find: `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    replace: 'return ((this.#words.next() & mask) >>> 0) % bound',
  },
  {
    bug: 'a signed word',
    file: 'uniform-integers.ts',
    find: `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    replace: `const candidate = this.#words.next() & mask
      if (candidate < bound) return candidate`,
  },
  {
    bug: 'a signed high word',
    file: 'uniform-integers.ts',
    find: 'let candidate = BigInt((this.#words.next() & mask) >>> 0)',
    replace: 'let candidate = BigInt(this.#words.next() & mask)',
  },
  {
    bug: 'shared bits used twice',
    file: 'uniform-integers.ts',
    find: 'this.#sharedBits >>>= bits',
    replace: '',
  },
  {
    bug: 'shared bits never renewed',
    file: 'uniform-integers.ts',
    find: 'this.#sharedBitsLeft -= bits',
    replace: '',
  },
  {
    bug: 'the bound itself can be drawn',
    file: 'uniform-integers.ts',
    find: 'this.#sharedBitsLeft -= bits\n      if (candidate < bound)',
    replace: 'this.#sharedBitsLeft -= bits\n      if (candidate <= bound)',
  },
  {
    bug: 'the largest high word rejected',
    file: 'uniform-integers.ts',
    find: 'if (high > largestHigh) continue',
    replace: 'if (high >= largestHigh) continue',
  },
  {
    bug: 'the largest high word of a big integer rejected',
    file: 'uniform-integers.ts',
    find: 'if (candidate > largestHigh) continue',
    replace: 'if (candidate >= largestHigh) continue',
  },
  {
    bug: 'at most instead of below, in the coin',
    file: 'bernoulli.ts',
    find: 'source.below(denominator) < numerator) coin += 1',
    replace: 'source.below(denominator) <= numerator) coin += 1',
  },
  {
    bug: 'at most instead of below, in the coin of big integers',
    file: 'bernoulli.ts',
    find: 'source.belowBig(denominator) < numerator) k += 1',
    replace: 'source.belowBig(denominator) <= numerator) k += 1',
  },
  {
    bug: '1 / (k + 1) instead of 1 / k',
    file: 'bernoulli.ts',
    find: 'source.below(coin) === 0',
    replace: 'source.below(coin + 1) === 0',
  },
  {
    bug: 'the coins counted from 2',
    file: 'bernoulli.ts',
    find: 'return firstFailureIsOdd(1, ',
    replace: 'return firstFailureIsOdd(2, ',
  },
  {
    bug: 'the rare case of the coin of exp(-1) cut short',
    file: 'bernoulli.ts',
    find: 'cases === 0 ? firstFailureIsOdd(6, 1, 1, source) : cases <= 44',
    replace: 'cases <= 44',
  },
  {
    bug: 'the rare case of the coin of exp(-1) begun one coin early',
    file: 'bernoulli.ts',
    find: 'firstFailureIsOdd(6, 1, 1, source)',
    replace: 'firstFailureIsOdd(5, 1, 1, source)',
  },
  {
    bug: 'one case too few in the coin of exp(-1/2)',
    file: 'bernoulli.ts',
    find: 'cases <= 2329',
    replace: 'cases < 2329',
  },
  {
    bug: 'one case too many in the coin of exp(-1/2)',
    file: 'bernoulli.ts',
    find: 'source.below(3840)',
    replace: 'source.below(3841)',
  },
  {
    bug: 'the half of the half square dropped',
    file: 'bernoulli.ts',
    find: 'source.below(2) === 0 &&\n',
    replace: '',
  },
  {
    bug: 'the square of the half square dropped',
    file: 'bernoulli.ts',
    find: 'source.below(denominator) < numerator &&\n',
    replace: '',
  },
  {
    bug: 'no restart at a negative zero',
    file: 'discrete-laplace.ts',
    find: '/ BigInt(s)\n  if (negative && magnitude === 0n) return undefined',
    replace: '/ BigInt(s)',
  },
  {
    bug: 'no restart at a negative zero, in big integers',
    file: 'discrete-laplace.ts',
    find: 'const magnitude = (u + t * v) / s\n  if (negative && magnitude === 0n) return undefined',
    replace: 'const magnitude = (u + t * v) / s',
  },
  {
    bug: 'every zero rejected',
    file: 'discrete-laplace.ts',
    find: '/ BigInt(s)\n  if (negative && magnitude === 0n)',
    replace: '/ BigInt(s)\n  if (magnitude === 0n)',
  },
  {
    bug: 'the scale off by one',
    file: 'discrete-laplace.ts',
    find: 'const u = source.below(t)',
    replace: 't += 1\n  const u = source.below(t)',
  },
  {
    bug: 'a gap between the parts',
    file: 'discrete-laplace.ts',
    find: 'const x = u + t * v',
    replace: 'const x = u + (t + 1) * v',
  },
  {
    bug: 'rounded up instead of down',
    file: 'discrete-laplace.ts',
    find: '(x - (x % s)) / s',
    replace: 'Math.ceil(x / s)',
  },
  {
    bug: 'the low part uniform instead of exponential',
    file: 'discrete-laplace.ts',
    find: 'if (!bernoulliExp(u, t, source)) return undefined',
    replace: '',
  },
  {
    bug: 'the sign from a bit that was used already',
    file: 'discrete-laplace.ts',
    find: 'const negative = source.below(2) === 1\n  const x = u + t * v',
    replace: 'const x = u + t * v\n  const negative = x % 2 === 1',
  },
  {
    bug: 'the high part off by one in the Gaussian',
    file: 'discrete-gaussian.ts',
    find: 'coin < v * (v - 1)',
    replace: 'coin < v * v',
  },
  {
    bug: 'the cross factor dropped',
    file: 'discrete-gaussian.ts',
    find: 'if (!bernoulliExp(u, sigma, source)) return undefined',
    replace: '',
  },
  {
    bug: 'one cross factor too many',
    file: 'discrete-gaussian.ts',
    find: 'coin < v; coin',
    replace: 'coin <= v; coin',
  },
  {
    bug: 'the factor of the low part dropped',
    file: 'discrete-gaussian.ts',
    find: 'if (!bernoulliExpOfHalfSquare(u, sigma, source)) return undefined',
    replace: '',
  },
  {
    bug: 'no restart at a negative zero, in the Gaussian',
    file: 'discrete-gaussian.ts',
    find: 'if (negative && v === 0 && u === 0) return undefined',
    replace: '',
  },
  {
    bug: 'a restart at every small negative',
    file: 'discrete-gaussian.ts',
    find: 'if (negative && v === 0 && u === 0) return undefined',
    replace: 'if (negative && v === 0) return undefined',
  },
  {
    bug: 'sigma^2 / t dropped from the acceptance',
    file: 'discrete-gaussian.ts',
    find: '* t * d - n',
    replace: '* t * d',
  },
  {
    bug: 'the 2 of 2 sigma^2 dropped',
    file: 'discrete-gaussian.ts',
    find: '2n * n * d * t * t',
    replace: 'n * d * t * t',
  },
  {
    bug: 'whole units of the exponent dropped',
    file: 'discrete-gaussian.ts',
    find: 'if (!bernoulliExpOfOne(source)) return undefined',
    replace: ';',
  },
]

describe('every mutant of a sampler breaks an exact law', () => {
  it.each(MUTANTS)('$bug ($file)', async (mutation) => {
    const samplers = await importSamplers(mutation)
    const departs = EXACT_LAWS.some(({ violation }) => {
      const sentence = violation(samplers)
      return sentence !== undefined && !sentence.endsWith(UNEXPLORED)
    })
    expect(departs).toBe(true)
  })
})
