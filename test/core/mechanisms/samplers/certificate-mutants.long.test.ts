import type { SourceChange } from '../../../mutants/changed-source.ts'
import { describeMutants, type Mutant, mutantsIn } from '../../../mutants/select-mutants.ts'
import { CERTIFICATES, importCertified, violationOf } from './certificates.ts'

const uniformIntegers = mutantsIn('core/mechanisms/samplers/uniform-integers.ts')
const bernoulli = mutantsIn('core/mechanisms/samplers/bernoulli.ts')
const unbounded = mutantsIn('core/mechanisms/samplers/bernoulli-unbounded.ts')
const laplace = mutantsIn('core/mechanisms/samplers/discrete-laplace.ts')
const gaussian = mutantsIn('core/mechanisms/samplers/discrete-gaussian.ts')

/** One wrong comparison or one number that is off by one, some of them so rare that no sample would show it. */
const MUTANTS: readonly Mutant[] = [
  uniformIntegers(
    'a small bound that can be drawn itself',
    'this.#sharedBitsLeft -= bits\n      if (candidate < bound)',
    'this.#sharedBitsLeft -= bits\n      if (candidate <= bound)',
  ),
  uniformIntegers(
    'the bound of a word that can be drawn itself',
    `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate < bound) return candidate`,
    `const candidate = (this.#words.next() & mask) >>> 0
      if (candidate <= bound) return candidate`,
  ),
  uniformIntegers(
    'the bound of two words that can be drawn itself',
    'const candidate = high * this.#wordCount + this.#words.next()\n      if (candidate < bound)',
    'const candidate = high * this.#wordCount + this.#words.next()\n      if (candidate <= bound)',
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
  uniformIntegers(
    'a shared bit used twice',
    'if (this.#sharedBitsLeft < bits)',
    'if (this.#sharedBitsLeft < bits - 1)',
  ),
  uniformIntegers(
    'one bit too few',
    'const bits = 32 - Math.clz32(bound - 1)',
    'const bits = 32 - Math.clz32(bound - 2)',
  ),
  bernoulli(
    'at most instead of below',
    'source.below(denominator) < numerator) coin += 1',
    'source.below(denominator) <= numerator) coin += 1',
  ),
  bernoulli(
    'at most instead of below, in big integers',
    'source.belowBig(denominator) < numerator) k += 1',
    'source.belowBig(denominator) <= numerator) k += 1',
  ),
  bernoulli('1 / (k + 1) instead of 1 / k', 'source.below(coin) === 0', 'source.below(coin + 1) === 0'),
  bernoulli('the wrong parity', 'return coin % 2 === 1', 'return coin % 2 === 0'),
  bernoulli(
    'an end after 12 coins',
    'while (source.below(coin) === 0 && ',
    'while (coin < 12 && source.below(coin) === 0 && ',
  ),
  bernoulli(
    'an end after 20 coins, in big integers',
    'while (source.below(k) === 0 && source.belowBig',
    'while (k < 20 && source.below(k) === 0 && source.belowBig',
  ),
  bernoulli('one case too many of exp(-1)', 'cases <= 44', 'cases <= 45'),
  bernoulli('one case too few of exp(-1/2)', 'cases <= 2329', 'cases < 2329'),
  bernoulli(
    'the rare case of exp(-1) begun one coin late',
    'firstFailureIsOdd(6, 1, 1, source)',
    'firstFailureIsOdd(7, 1, 1, source)',
  ),
  bernoulli(
    'the rare case of exp(-1/2) begun one coin late',
    'firstFailureIsOdd(6, 1, 2, source)',
    'firstFailureIsOdd(7, 1, 2, source)',
  ),
  bernoulli(
    'a third instead of a half in the half square',
    'source.below(2) === 0 &&',
    'source.below(3) === 0 &&',
  ),
  unbounded('one whole unit too few', 'whole > 0n', 'whole > 1n'),
  unbounded('one whole unit too many', 'whole > 0n', 'whole >= 0n'),
  laplace(
    'no restart at a negative zero',
    '/ BigInt(s)\n  if (negative && magnitude === 0n) return undefined',
    '/ BigInt(s)',
  ),
  laplace(
    'a restart at a negative one, in big integers',
    'const magnitude = (u + t * v) / s\n  if (negative && magnitude === 0n)',
    'const magnitude = (u + t * v) / s\n  if (negative && magnitude <= 1n)',
  ),
  laplace('the low part up to the scale', 'const u = source.below(t)', 'const u = source.below(t + 1)'),
  laplace(
    'the low part below one less, in big integers',
    'const u = source.belowBig(t)',
    'const u = t > 1n ? source.belowBig(t - 1n) : 0n',
  ),
  laplace(
    'an end after 30 successes',
    'let v = 0\n  while (bernoulliExpOfOne(source)) v += 1',
    'let v = 0\n  while (v < 30 && bernoulliExpOfOne(source)) v += 1',
  ),
  laplace(
    'an end after 40 successes, in big integers',
    'while (bernoulliExpOfOne(source)) v += 1n',
    'while (v < 40n && bernoulliExpOfOne(source)) v += 1n',
  ),
  gaussian('one coin too few in the high part', 'coin < v * (v - 1)', 'coin < v * (v - 1) - 1'),
  gaussian('one cross factor too many', 'coin < v; coin', 'coin <= v; coin'),
  gaussian(
    'an end at 7 sigma',
    'while (bernoulliExpOfHalf(source)) v += 1',
    'while (v < 6 && bernoulliExpOfHalf(source)) v += 1',
  ),
  gaussian(
    'a restart at every small negative',
    'if (negative && v === 0 && u === 0) return undefined',
    'if (negative && v === 0 && u <= 1) return undefined',
  ),
  gaussian('the acceptance off by one', '* t * d - n', '* t * d - n + 1n'),
  gaussian('sigma off by one', 'const u = source.below(sigma)', 'const u = source.below(sigma + 1)'),
  gaussian(
    'one whole unit of the exponent too many',
    'for (; exponent > denominator; exponent -= denominator)',
    'for (; exponent > 2n * denominator; exponent -= denominator)',
  ),
]

async function brokenBy(changes: readonly SourceChange[]): Promise<string | undefined> {
  const samplers = await importCertified(changes)
  for (const certificate of CERTIFICATES.filter(({ quick }) => quick)) {
    try {
      const violation = violationOf(certificate, samplers)
      if (violation !== undefined) return violation
    } catch (error) {
      return `${certificate.name}: ${String(error)}`
    }
  }
  return undefined
}

describeMutants('every mutant contradicts a certificate', import.meta.dirname, MUTANTS, brokenBy)
