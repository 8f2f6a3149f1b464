import { describe, expect, it } from 'vitest'
import { type Mutant, mutantsIn, selectMutants } from '../../mutants/select-mutants.ts'
import { importSamplers, type Samplers } from './sampler-copy.ts'
import { EXACT_DISTRIBUTIONS, type ExactDistribution, UNEXPLORED } from './samplers/exact-distributions.ts'
import { SELECTION_DISTRIBUTIONS } from './selection/selection-distributions.ts'

const uniformIntegers = mutantsIn('core/mechanisms/samplers/uniform-integers.ts')
const bernoulli = mutantsIn('core/mechanisms/samplers/bernoulli.ts')
const discreteLaplace = mutantsIn('core/mechanisms/samplers/discrete-laplace.ts')
const discreteGaussian = mutantsIn('core/mechanisms/samplers/discrete-gaussian.ts')
const bernoulliUnbounded = mutantsIn('core/mechanisms/samplers/bernoulli-unbounded.ts')
const exponentialBounds = mutantsIn('core/mechanisms/samplers/exponential-bounds.ts')
const exponential = mutantsIn('core/mechanisms/selection/exponential.ts')
const permuteAndFlip = mutantsIn('core/mechanisms/selection/permute-and-flip.ts')
const noisyMax = mutantsIn('core/mechanisms/selection/noisy-max.ts')

/**
 * Bugs that have occurred in this or other libraries, and similar ones. Each must be caught by an exact distribution.
 */
const MUTANTS: readonly Mutant[] = [
  uniformIntegers(
    'modulo bias instead of rejection',
    `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    'return ((this.#words.next() & mask) >>> 0) % bound',
  ),
  uniformIntegers(
    'a signed word',
    `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    `const candidate = this.#words.next() & mask
      if (candidate < bound) return candidate`,
  ),
  uniformIntegers(
    'a signed high word',
    'let candidate = BigInt((this.#words.next() & mask) >>> 0)',
    'let candidate = BigInt(this.#words.next() & mask)',
  ),
  uniformIntegers('shared bits used twice', 'this.#sharedBits >>>= bits', ''),
  uniformIntegers('shared bits never renewed', 'this.#sharedBitsLeft -= bits', ''),
  uniformIntegers(
    'the bound itself can be drawn',
    'this.#sharedBitsLeft -= bits\n      if (candidate < bound)',
    'this.#sharedBitsLeft -= bits\n      if (candidate <= bound)',
  ),
  uniformIntegers(
    'the largest high word rejected',
    'if (high > largestHigh) continue',
    'if (high >= largestHigh) continue',
  ),
  uniformIntegers(
    'the largest high word of a big integer rejected',
    'if (candidate > largestHigh) continue',
    'if (candidate >= largestHigh) continue',
  ),
  bernoulli(
    'at most instead of below, in the coin',
    'source.below(denominator) < numerator) coin += 1',
    'source.below(denominator) <= numerator) coin += 1',
  ),
  bernoulli(
    'at most instead of below, in the coin of big integers',
    'source.belowBig(denominator) < numerator) k += 1',
    'source.belowBig(denominator) <= numerator) k += 1',
  ),
  bernoulli('1 / (k + 1) instead of 1 / k', 'source.below(coin) === 0', 'source.below(coin + 1) === 0'),
  bernoulli('the coins counted from 2', 'return firstFailureIsOdd(1, ', 'return firstFailureIsOdd(2, '),
  bernoulli(
    'the rare case of the coin of exp(-1) cut short',
    'cases === 0 ? firstFailureIsOdd(6, 1, 1, source) : cases <= 44',
    'cases <= 44',
  ),
  bernoulli(
    'the rare case of the coin of exp(-1) begun one coin early',
    'firstFailureIsOdd(6, 1, 1, source)',
    'firstFailureIsOdd(5, 1, 1, source)',
  ),
  bernoulli('one case too few in the coin of exp(-1/2)', 'cases <= 2329', 'cases < 2329'),
  bernoulli('one case too many in the coin of exp(-1/2)', 'source.below(3840)', 'source.below(3841)'),
  bernoulli('the half of the half square dropped', 'source.below(2) === 0 &&\n', ''),
  bernoulli('the square of the half square dropped', 'source.below(denominator) < numerator &&\n', ''),
  discreteLaplace(
    'no restart at a negative zero',
    '/ BigInt(s)\n  if (negative && magnitude === 0n) return undefined',
    '/ BigInt(s)',
  ),
  discreteLaplace(
    'no restart at a negative zero, in big integers',
    'const magnitude = (u + t * v) / s\n  if (negative && magnitude === 0n) return undefined',
    'const magnitude = (u + t * v) / s',
  ),
  discreteLaplace(
    'every zero rejected',
    '/ BigInt(s)\n  if (negative && magnitude === 0n)',
    '/ BigInt(s)\n  if (magnitude === 0n)',
  ),
  discreteLaplace('the scale off by one', 'const u = source.below(t)', 't += 1\n  const u = source.below(t)'),
  discreteLaplace('a gap between the parts', 'const x = u + t * v', 'const x = u + (t + 1) * v'),
  discreteLaplace('rounded up instead of down', '(x - (x % s)) / s', 'Math.ceil(x / s)'),
  discreteLaplace(
    'the low part uniform instead of exponential',
    'if (!bernoulliExp(u, t, source)) return undefined',
    '',
  ),
  discreteLaplace(
    'the sign from a bit that was used already',
    'const negative = source.below(2) === 1\n  const x = u + t * v',
    'const x = u + t * v\n  const negative = x % 2 === 1',
  ),
  discreteGaussian('the high part off by one in the Gaussian', 'coin < v * (v - 1)', 'coin < v * v'),
  discreteGaussian('the cross factor dropped', 'if (!bernoulliExp(u, sigma, source)) return undefined', ''),
  discreteGaussian('one cross factor too many', 'coin < v; coin', 'coin <= v; coin'),
  discreteGaussian(
    'the factor of the low part dropped',
    'if (!bernoulliExpOfHalfSquare(u, sigma, source)) return undefined',
    '',
  ),
  discreteGaussian(
    'no restart at a negative zero, in the Gaussian',
    'if (negative && v === 0 && u === 0) return undefined',
    '',
  ),
  discreteGaussian(
    'a restart at every small negative',
    'if (negative && v === 0 && u === 0) return undefined',
    'if (negative && v === 0) return undefined',
  ),
  discreteGaussian('sigma^2 / t dropped from the acceptance', '* t * d - n', '* t * d'),
  discreteGaussian('the 2 of 2 sigma^2 dropped', '2n * n * d * t * t', 'n * d * t * t'),
  discreteGaussian(
    'whole units of the exponent dropped',
    'if (!bernoulliExpOfOne(source)) return undefined',
    ';',
  ),
]

/** Mutants of the selection mechanisms, whose distributions include the claims of their calibrations. */
const SELECTION_MUTANTS: readonly Mutant[] = [
  bernoulliUnbounded(
    'whole units of the exponent dropped',
    'if (!bernoulliExpOfOne(source)) return false',
    ';',
  ),
  bernoulliUnbounded('one whole unit too few', 'whole > 0n', 'whole > 1n'),
  exponentialBounds('one squaring too many', 'squaring < squarings', 'squaring <= squarings'),
  exponentialBounds(
    'the lower bound rounded up',
    'lower: lower >> guard',
    'lower: shiftRoundingUp(lower, guard)',
  ),
  exponentialBounds(
    'the upper bound rounded down',
    'upper: shiftRoundingUp(upper, guard)',
    'upper: upper >> guard',
  ),
  exponential(
    'the tail ignored',
    "must(cumulativeUpper.at(-1), 'the weight of a level') + tail",
    "must(cumulativeUpper.at(-1), 'the weight of a level') + 0n * tail",
  ),
  exponential(
    'a new uniform number instead of more bits of the same',
    '(drawn << BigInt(bitsAtATime)) + source.belowBig(1n << BigInt(bitsAtATime))',
    'source.belowBig(1n << BigInt(weights.bits + bitsAtATime))',
  ),
  exponential(
    'only the lower end of the uniform number examined',
    '(drawn + 1n) * weights.totalUpper',
    'drawn * weights.totalUpper',
  ),
  exponential(
    'the upper bound of the total weight taken for the total',
    'drawn * weights.totalLower',
    'drawn * weights.totalUpper',
  ),
  exponential(
    'no acceptance within a level',
    'if (rest === 0n) return index',
    'if (rest >= 0n) return index',
  ),
  exponential(
    'levels rounded to the nearest',
    'Math.floor((distance - smallest) / exactWidth)',
    'Math.round((distance - smallest) / exactWidth)',
  ),
  exponential(
    'multiplicities left out of the weights',
    'entry(sums, level) + multiplicity',
    '(sums[level] ?? 0) + 1',
  ),
  exponential(
    'an entry with one outcome too many',
    'if (leftNumber < sum) return index',
    'if (leftNumber <= sum) return index',
  ),
  exponential('the same candidate twice', 'available[chosen] = 0', ''),
  exponential(
    'by rejection, a candidate that is taken',
    'if (available[candidate] !== 1) return undefined',
    '',
  ),
  exponential('every score taken for monotonic', 'monotonic ? sensitivity : 2n * sensitivity', 'sensitivity'),
  exponential(
    'no score taken for monotonic',
    'monotonic ? sensitivity : 2n * sensitivity',
    '2n * sensitivity',
  ),
  exponential(
    'monotonic the wrong way round',
    'monotonic ? sensitivity : 2n * sensitivity',
    'monotonic ? 2n * sensitivity : sensitivity',
  ),
  permuteAndFlip('a permutation with replacement', 'candidates[place] = entry(candidates, left - 1)', ''),
  permuteAndFlip(
    'the candidates left in their order',
    'const place = source.below(left)',
    'const place = left - 1',
  ),
  permuteAndFlip(
    'every coin flipped twice',
    'distance * exponent.numerator',
    '2n * distance * exponent.numerator',
  ),
  noisyMax('of equals, the higher index ahead', ') < value) end = middle', ') <= value) end = middle'),
  noisyMax('a gap without handicap', 'next < candidate ? 1n : 0n', '0n'),
  noisyMax('the handicap on the wrong side', 'next < candidate ? 1n : 0n', 'next > candidate ? 1n : 0n'),
  noisyMax('the gap to a better one', 'entry(order, rank + 1)', '(order[rank - 1] ?? 0)'),
  noisyMax('scores left on the coarse grid', 'score << BigInt(fractionBits)', 'score'),
  noisyMax(
    'one noise for all candidates',
    'const noisy = scores.map((score) => (score << BigInt(fractionBits)) + sample())',
    'const noise = sample()\n  const noisy = scores.map((score) => (score << BigInt(fractionBits)) + noise)',
  ),
  noisyMax('one release paid, k made', 'BigInt(setting.k) * scoreSpread', 'scoreSpread'),
  noisyMax(
    'k releases paid, one made',
    'BigInt(setting.k) * scoreSpread',
    'BigInt(setting.k) ** 2n * scoreSpread',
  ),
  noisyMax(
    'scale and exponent confused',
    '{ numerator: scale.denominator, denominator: scale.numerator }',
    'scale',
  ),
  noisyMax('permute-and-flip with the winner still there', 'left.splice(place, 1)', ''),
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

const selected = (mutants: readonly Mutant[]) =>
  selectMutants(import.meta.dirname, mutants, (mutant) => [mutant])

describe('every mutant of a sampler breaks an exact distribution', () => {
  it.each(selected(MUTANTS))('$bug ($file)', async (mutation) => {
    expect(departs(await importSamplers(mutation), EXACT_DISTRIBUTIONS)).toBe(true)
  })

  it.each(selected(SELECTION_MUTANTS))('$bug ($file)', async (mutation) => {
    expect(departs(await importSamplers(mutation), SELECTION_DISTRIBUTIONS)).toBe(true)
  })
})
