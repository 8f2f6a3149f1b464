import { describe, expect, it } from 'vitest'
import { selectMutants } from '../select-mutants.ts'
import { EXACT_DISTRIBUTIONS, type ExactDistribution, UNEXPLORED } from './exact-distributions.ts'
import { importSamplers, type Mutation, type Samplers } from './sampler-copy.ts'
import { SELECTION_DISTRIBUTIONS } from './selection-distributions.ts'

/**
 * Bugs that have occurred in this or other libraries, and similar ones. Each must be caught by an exact distribution.
 */
const MUTANTS: readonly (Mutation & { readonly bug: string })[] = [
  {
    bug: 'modulo bias instead of rejection',
    file: 'samplers/uniform-integers.ts',
    find: `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    replace: 'return ((this.#words.next() & mask) >>> 0) % bound',
  },
  {
    bug: 'a signed word',
    file: 'samplers/uniform-integers.ts',
    find: `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    replace: `const candidate = this.#words.next() & mask
      if (candidate < bound) return candidate`,
  },
  {
    bug: 'a signed high word',
    file: 'samplers/uniform-integers.ts',
    find: 'let candidate = BigInt((this.#words.next() & mask) >>> 0)',
    replace: 'let candidate = BigInt(this.#words.next() & mask)',
  },
  {
    bug: 'shared bits used twice',
    file: 'samplers/uniform-integers.ts',
    find: 'this.#sharedBits >>>= bits',
    replace: '',
  },
  {
    bug: 'shared bits never renewed',
    file: 'samplers/uniform-integers.ts',
    find: 'this.#sharedBitsLeft -= bits',
    replace: '',
  },
  {
    bug: 'the bound itself can be drawn',
    file: 'samplers/uniform-integers.ts',
    find: 'this.#sharedBitsLeft -= bits\n      if (candidate < bound)',
    replace: 'this.#sharedBitsLeft -= bits\n      if (candidate <= bound)',
  },
  {
    bug: 'the largest high word rejected',
    file: 'samplers/uniform-integers.ts',
    find: 'if (high > largestHigh) continue',
    replace: 'if (high >= largestHigh) continue',
  },
  {
    bug: 'the largest high word of a big integer rejected',
    file: 'samplers/uniform-integers.ts',
    find: 'if (candidate > largestHigh) continue',
    replace: 'if (candidate >= largestHigh) continue',
  },
  {
    bug: 'at most instead of below, in the coin',
    file: 'samplers/bernoulli.ts',
    find: 'source.below(denominator) < numerator) coin += 1',
    replace: 'source.below(denominator) <= numerator) coin += 1',
  },
  {
    bug: 'at most instead of below, in the coin of big integers',
    file: 'samplers/bernoulli.ts',
    find: 'source.belowBig(denominator) < numerator) k += 1',
    replace: 'source.belowBig(denominator) <= numerator) k += 1',
  },
  {
    bug: '1 / (k + 1) instead of 1 / k',
    file: 'samplers/bernoulli.ts',
    find: 'source.below(coin) === 0',
    replace: 'source.below(coin + 1) === 0',
  },
  {
    bug: 'the coins counted from 2',
    file: 'samplers/bernoulli.ts',
    find: 'return firstFailureIsOdd(1, ',
    replace: 'return firstFailureIsOdd(2, ',
  },
  {
    bug: 'the rare case of the coin of exp(-1) cut short',
    file: 'samplers/bernoulli.ts',
    find: 'cases === 0 ? firstFailureIsOdd(6, 1, 1, source) : cases <= 44',
    replace: 'cases <= 44',
  },
  {
    bug: 'the rare case of the coin of exp(-1) begun one coin early',
    file: 'samplers/bernoulli.ts',
    find: 'firstFailureIsOdd(6, 1, 1, source)',
    replace: 'firstFailureIsOdd(5, 1, 1, source)',
  },
  {
    bug: 'one case too few in the coin of exp(-1/2)',
    file: 'samplers/bernoulli.ts',
    find: 'cases <= 2329',
    replace: 'cases < 2329',
  },
  {
    bug: 'one case too many in the coin of exp(-1/2)',
    file: 'samplers/bernoulli.ts',
    find: 'source.below(3840)',
    replace: 'source.below(3841)',
  },
  {
    bug: 'the half of the half square dropped',
    file: 'samplers/bernoulli.ts',
    find: 'source.below(2) === 0 &&\n',
    replace: '',
  },
  {
    bug: 'the square of the half square dropped',
    file: 'samplers/bernoulli.ts',
    find: 'source.below(denominator) < numerator &&\n',
    replace: '',
  },
  {
    bug: 'no restart at a negative zero',
    file: 'samplers/discrete-laplace.ts',
    find: '/ BigInt(s)\n  if (negative && magnitude === 0n) return undefined',
    replace: '/ BigInt(s)',
  },
  {
    bug: 'no restart at a negative zero, in big integers',
    file: 'samplers/discrete-laplace.ts',
    find: 'const magnitude = (u + t * v) / s\n  if (negative && magnitude === 0n) return undefined',
    replace: 'const magnitude = (u + t * v) / s',
  },
  {
    bug: 'every zero rejected',
    file: 'samplers/discrete-laplace.ts',
    find: '/ BigInt(s)\n  if (negative && magnitude === 0n)',
    replace: '/ BigInt(s)\n  if (magnitude === 0n)',
  },
  {
    bug: 'the scale off by one',
    file: 'samplers/discrete-laplace.ts',
    find: 'const u = source.below(t)',
    replace: 't += 1\n  const u = source.below(t)',
  },
  {
    bug: 'a gap between the parts',
    file: 'samplers/discrete-laplace.ts',
    find: 'const x = u + t * v',
    replace: 'const x = u + (t + 1) * v',
  },
  {
    bug: 'rounded up instead of down',
    file: 'samplers/discrete-laplace.ts',
    find: '(x - (x % s)) / s',
    replace: 'Math.ceil(x / s)',
  },
  {
    bug: 'the low part uniform instead of exponential',
    file: 'samplers/discrete-laplace.ts',
    find: 'if (!bernoulliExp(u, t, source)) return undefined',
    replace: '',
  },
  {
    bug: 'the sign from a bit that was used already',
    file: 'samplers/discrete-laplace.ts',
    find: 'const negative = source.below(2) === 1\n  const x = u + t * v',
    replace: 'const x = u + t * v\n  const negative = x % 2 === 1',
  },
  {
    bug: 'the high part off by one in the Gaussian',
    file: 'samplers/discrete-gaussian.ts',
    find: 'coin < v * (v - 1)',
    replace: 'coin < v * v',
  },
  {
    bug: 'the cross factor dropped',
    file: 'samplers/discrete-gaussian.ts',
    find: 'if (!bernoulliExp(u, sigma, source)) return undefined',
    replace: '',
  },
  {
    bug: 'one cross factor too many',
    file: 'samplers/discrete-gaussian.ts',
    find: 'coin < v; coin',
    replace: 'coin <= v; coin',
  },
  {
    bug: 'the factor of the low part dropped',
    file: 'samplers/discrete-gaussian.ts',
    find: 'if (!bernoulliExpOfHalfSquare(u, sigma, source)) return undefined',
    replace: '',
  },
  {
    bug: 'no restart at a negative zero, in the Gaussian',
    file: 'samplers/discrete-gaussian.ts',
    find: 'if (negative && v === 0 && u === 0) return undefined',
    replace: '',
  },
  {
    bug: 'a restart at every small negative',
    file: 'samplers/discrete-gaussian.ts',
    find: 'if (negative && v === 0 && u === 0) return undefined',
    replace: 'if (negative && v === 0) return undefined',
  },
  {
    bug: 'sigma^2 / t dropped from the acceptance',
    file: 'samplers/discrete-gaussian.ts',
    find: '* t * d - n',
    replace: '* t * d',
  },
  {
    bug: 'the 2 of 2 sigma^2 dropped',
    file: 'samplers/discrete-gaussian.ts',
    find: '2n * n * d * t * t',
    replace: 'n * d * t * t',
  },
  {
    bug: 'whole units of the exponent dropped',
    file: 'samplers/discrete-gaussian.ts',
    find: 'if (!bernoulliExpOfOne(source)) return undefined',
    replace: ';',
  },
]

/** Mutants of the selection mechanisms, whose distributions include the claims of their calibrations. */
const SELECTION_MUTANTS: readonly (Mutation & { readonly bug: string })[] = [
  {
    bug: 'whole units of the exponent dropped',
    file: 'samplers/bernoulli-unbounded.ts',
    find: 'if (!bernoulliExpOfOne(source)) return false',
    replace: ';',
  },
  {
    bug: 'one whole unit too few',
    file: 'samplers/bernoulli-unbounded.ts',
    find: 'whole > 0n',
    replace: 'whole > 1n',
  },
  {
    bug: 'one squaring too many',
    file: 'samplers/exponential-bounds.ts',
    find: 'squaring < squarings',
    replace: 'squaring <= squarings',
  },
  {
    bug: 'the lower bound rounded up',
    file: 'samplers/exponential-bounds.ts',
    find: 'lower: lower >> guard',
    replace: 'lower: shiftRoundingUp(lower, guard)',
  },
  {
    bug: 'the upper bound rounded down',
    file: 'samplers/exponential-bounds.ts',
    find: 'upper: shiftRoundingUp(upper, guard)',
    replace: 'upper: upper >> guard',
  },
  {
    bug: 'the tail ignored',
    file: 'exponential.ts',
    find: '(cumulativeUpper.at(-1) ?? 0n) + (outcomes.at(-1) ?? 0n)',
    replace: 'cumulativeUpper.at(-1) ?? 0n',
  },
  {
    bug: 'a new uniform number instead of more bits of the same',
    file: 'exponential.ts',
    find: '(drawn << BigInt(bitsAtATime)) + source.belowBig(1n << BigInt(bitsAtATime))',
    replace: 'source.belowBig(1n << BigInt(weights.bits + bitsAtATime))',
  },
  {
    bug: 'only the lower end of the uniform number examined',
    file: 'exponential.ts',
    find: '(drawn + 1n) * weights.totalUpper',
    replace: 'drawn * weights.totalUpper',
  },
  {
    bug: 'the upper bound of the total weight taken for the total',
    file: 'exponential.ts',
    find: 'drawn * weights.totalLower',
    replace: 'drawn * weights.totalUpper',
  },
  {
    bug: 'no acceptance within a level',
    file: 'exponential.ts',
    find: 'if (rest === 0n) return index',
    replace: 'if (rest >= 0n) return index',
  },
  {
    bug: 'levels rounded to the nearest',
    file: 'exponential.ts',
    find: 'Math.floor((distance - smallest) / exactWidth)',
    replace: 'Math.round((distance - smallest) / exactWidth)',
  },
  {
    bug: 'multiplicities left out of the weights',
    file: 'exponential.ts',
    find: '(sums[level] ?? 0) + multiplicity',
    replace: '(sums[level] ?? 0) + 1',
  },
  {
    bug: 'an entry with one outcome too many',
    file: 'exponential.ts',
    find: 'if (leftNumber < sum) return index',
    replace: 'if (leftNumber <= sum) return index',
  },
  {
    bug: 'the same candidate twice',
    file: 'exponential.ts',
    find: 'available[chosen] = 0',
    replace: '',
  },
  {
    bug: 'by rejection, a candidate that is taken',
    file: 'exponential.ts',
    find: 'if (available[candidate] !== 1) return undefined',
    replace: '',
  },
  {
    bug: 'every score taken for monotonic',
    file: 'exponential.ts',
    find: 'monotonic ? sensitivity : 2n * sensitivity',
    replace: 'sensitivity',
  },
  {
    bug: 'no score taken for monotonic',
    file: 'exponential.ts',
    find: 'monotonic ? sensitivity : 2n * sensitivity',
    replace: '2n * sensitivity',
  },
  {
    bug: 'monotonic the wrong way round',
    file: 'exponential.ts',
    find: 'monotonic ? sensitivity : 2n * sensitivity',
    replace: 'monotonic ? 2n * sensitivity : sensitivity',
  },
  {
    bug: 'a permutation with replacement',
    file: 'permute-and-flip.ts',
    find: 'candidates[place] = candidates[left - 1] ?? 0',
    replace: '',
  },
  {
    bug: 'the candidates left in their order',
    file: 'permute-and-flip.ts',
    find: 'const place = source.below(left)',
    replace: 'const place = left - 1',
  },
  {
    bug: 'every coin flipped twice',
    file: 'permute-and-flip.ts',
    find: 'distance * exponent.numerator',
    replace: '2n * distance * exponent.numerator',
  },
  {
    bug: 'of equals, the higher index ahead',
    file: 'noisy-max.ts',
    find: '?? 0n) < value) end = middle',
    replace: '?? 0n) <= value) end = middle',
  },
  {
    bug: 'a gap without handicap',
    file: 'noisy-max.ts',
    find: 'next < candidate ? 1n : 0n',
    replace: '0n',
  },
  {
    bug: 'the handicap on the wrong side',
    file: 'noisy-max.ts',
    find: 'next < candidate ? 1n : 0n',
    replace: 'next > candidate ? 1n : 0n',
  },
  {
    bug: 'the gap to a better one',
    file: 'noisy-max.ts',
    find: 'order[rank + 1]',
    replace: 'order[rank - 1]',
  },
  {
    bug: 'scores left on the coarse grid',
    file: 'noisy-max.ts',
    find: 'score << BigInt(fractionBits)',
    replace: 'score',
  },
  {
    bug: 'one noise for all candidates',
    file: 'noisy-max.ts',
    find: 'const noisy = scores.map((score) => (score << BigInt(fractionBits)) + sample())',
    replace:
      'const noise = sample()\n  const noisy = scores.map((score) => (score << BigInt(fractionBits)) + noise)',
  },
  {
    bug: 'one release paid, k made',
    file: 'noisy-max.ts',
    find: 'BigInt(k) * scoreSpread',
    replace: 'scoreSpread',
  },
  {
    bug: 'k releases paid, one made',
    file: 'noisy-max.ts',
    find: 'BigInt(k) * scoreSpread',
    replace: 'BigInt(k) ** 2n * scoreSpread',
  },
  {
    bug: 'scale and exponent confused',
    file: 'noisy-max.ts',
    find: '{ numerator: scale.denominator, denominator: scale.numerator }',
    replace: 'scale',
  },
  {
    bug: 'permute-and-flip with the winner still there',
    file: 'noisy-max.ts',
    find: 'left.splice(place, 1)',
    replace: '',
  },
]

/** True if an exact distribution is broken. A mutant that throws breaks one; an inconclusive walk does not. */
function departs(samplers: Samplers, distributions: readonly ExactDistribution[]): boolean {
  return distributions.some(({ violation }) => {
    try {
      const sentence = violation(samplers)
      return sentence !== undefined && !sentence.endsWith(UNEXPLORED)
    } catch {
      return true
    }
  })
}

const selected = (mutants: typeof MUTANTS) =>
  selectMutants(import.meta.dirname, mutants, ({ file }) => [`mechanisms/${file}`])

describe('every mutant of a sampler breaks an exact distribution', () => {
  it.each(selected(MUTANTS))('$bug ($file)', async (mutation) => {
    expect(departs(await importSamplers(mutation), EXACT_DISTRIBUTIONS)).toBe(true)
  })

  it.each(selected(SELECTION_MUTANTS))('$bug ($file)', async (mutation) => {
    expect(departs(await importSamplers(mutation), SELECTION_DISTRIBUTIONS)).toBe(true)
  })
})
