import { describe, expect, it } from 'vitest'
import { selectMutants } from '../../../mutants/select-mutants.ts'
import { ROW_OF_ONE_VALUE } from '../support.ts'
import {
  countsDeparture,
  countsExcess,
  delta,
  epsilon,
  importKeySelection,
  NEIGHBOURS,
  peopleExcess,
  presenceDeparture,
  presenceExcess,
  UNVERIFIED,
} from './key-selection-distributions.ts'

/** A bug, the text of the source that it replaces, and the replacement. */
type Mutant = readonly [bug: string, find: string, replace: string]

const selected = (mutants: readonly Mutant[]) =>
  selectMutants(import.meta.dirname, mutants, ([, find, replace]) => [
    { file: 'core/mechanisms/selection/key-selection.ts', find, replace },
  ])

describe('every mutant breaks the distribution or the guarantee', () => {
  const mutant = (find: string, replace: string) => importKeySelection(...UNVERIFIED, { find, replace })

  it.each(
    selected([
      [
        'the mass at the threshold omitted',
        'powers(reciprocal(scale), threshold - 1n, bits)',
        'powers(reciprocal(scale), threshold, bits)',
      ],
      [
        'a key of two rows taken for one',
        'powers(reciprocal(scale), threshold - 1n, bits)',
        'powers(reciprocal(scale), threshold + 1n, bits)',
      ],
      [
        'noise divided by 1 - q',
        'power.upper << shift, one.lower + q.lower',
        'power.upper << shift, one.lower + one.lower',
      ],
      ['above the threshold only', 'noisyCount >= threshold', 'noisyCount > threshold'],
      [
        'the count before its noise against the threshold',
        'noisyCount >= threshold',
        'BigInt(count) >= threshold',
      ],
      ['the true count', 'kept.push({ key, noisyCount })', 'kept.push({ key, noisyCount: BigInt(count) })'],
      ['noise for a key that does not occur', 'if (count === 0) continue', ''],
      [
        'one noise for all keys',
        'const noise = discreteLaplaceSampler(scale, source)',
        'const shared = discreteLaplaceSampler(scale, source)()\n  const noise = () => shared',
      ],
      [
        'positions among the kept',
        'kept.push({ key, noisyCount })',
        'kept.push({ key: kept.length, noisyCount })',
      ],
      [
        'the whole epsilon for each of two keys',
        'const scale = rational(sensitivity.l1 * ONE_EPSILON_NANO, epsilonNano)',
        'const scale = rational(ONE_EPSILON_NANO, epsilonNano)',
      ],
    ]),
  )('%s, with noisy counts', async (_, find, replace) => {
    expect(countsDeparture(await mutant(find, replace))).toBeGreaterThan(1e-5)
  })

  it.each(
    selected([
      [
        'a key of one row too likely',
        'powers(exponent, count - 1n, precision)',
        'powers(exponent, count, precision)',
      ],
      [
        'one step less',
        'powers(exponent, count - 1n, precision)',
        'powers(exponent, count > 1n ? count - 2n : 0n, precision)',
      ],
      ['the crossover one too late', 'powers(exponent, count, bits)', 'powers(exponent, count - 1n, bits)'],
      ['the crossover one too early', 'powers(exponent, count, bits)', 'powers(exponent, count + 1n, bits)'],
      ['certain from the crossover on', 'if (count > 2n * crossover)', 'if (count > crossover)'],
      ['certain a little too early', 'if (count > 2n * crossover)', 'if (count > 2n * crossover - 2n)'],
      ['the second part grows like the first', 'if (count <= crossover)', 'if (count <= crossover + 1n)'],
      [
        'the second part shrinks from the start',
        'powers(exponent, beyond, precision)',
        'powers(exponent, count, precision)',
      ],
      [
        'the probability at the crossover not counted',
        'sum(growth(measurement, crossover, precision), growth(measurement, beyond, precision))',
        'growth(measurement, beyond, precision)',
      ],
      ['at most instead of below, in the coin', 'if (drawn + 1n <= lower)', 'if (drawn <= lower)'],
      ['the coin tossed anew when undecided', 'drawn = drawn * word + source', 'drawn = source'],
      ['the coin decided by its first word', 'if (drawn >= upper) return false', 'return false'],
      [
        'the other side of the coin',
        'if (drawn + 1n <= lower) return true\n    if (drawn >= upper) return false',
        'if (drawn + 1n <= lower) return false\n    if (drawn >= upper) return true',
      ],
      ['coarse bounds for later words', 'bits === BITS_AT_A_TIME ? first : ', 'bits > 0 ? first : '],
      [
        'bounds of another count',
        'firstBounds.get(count)',
        'firstBounds.get(firstBounds.keys().next().value ?? count)',
      ],
      [
        'half the delta where a row comes or goes',
        'const delta = rational(deltaAtto, keys * ONE_DELTA_ATTO)',
        'const delta = rational(deltaAtto, 2n * ONE_DELTA_ATTO)',
      ],
    ]),
  )('%s, with keys alone', async (_, find, replace) => {
    expect(presenceDeparture(await mutant(find, replace))).toBeGreaterThan(1e-4)
  })

  it.each(
    selected([
      [
        'the mass at the threshold omitted',
        'powers(reciprocal(scale), threshold - 1n, bits)',
        'powers(reciprocal(scale), threshold, bits)',
      ],
      ['the true count', 'kept.push({ key, noisyCount })', 'kept.push({ key, noisyCount: BigInt(count) })'],
      [
        'the count before its noise against the threshold',
        'noisyCount >= threshold',
        'BigInt(count) >= threshold',
      ],
      [
        'the whole epsilon for each of two keys',
        'const scale = rational(sensitivity.l1 * ONE_EPSILON_NANO, epsilonNano)',
        'const scale = rational(ONE_EPSILON_NANO, epsilonNano)',
      ],
    ]),
  )('%s, with noisy counts, costs more than its price', async (_, find, replace) => {
    const copy = await mutant(find, replace)
    expect(Math.max(...NEIGHBOURS.map((neighbours) => countsExcess(copy, neighbours)))).toBeGreaterThan(1.05)
  })

  it.each(
    selected([
      [
        'a key of one row too likely',
        'powers(exponent, count - 1n, precision)',
        'powers(exponent, count, precision)',
      ],
      ['the crossover one too late', 'powers(exponent, count, bits)', 'powers(exponent, count - 1n, bits)'],
      ['certain a little too early', 'if (count > 2n * crossover)', 'if (count > 2n * crossover - 2n)'],
      [
        'the whole epsilon for each of two keys',
        'const exponent = rational(epsilonNano, keys * ',
        'const exponent = rational(epsilonNano, ',
      ],
      [
        'the whole delta for each of two keys',
        'const delta = rational(deltaAtto, keys * ',
        'const delta = rational(deltaAtto, ',
      ],
    ]),
  )('%s, with keys alone, costs more than its price', async (_, find, replace) => {
    const copy = await mutant(find, replace)
    expect(Math.max(...NEIGHBOURS.map((neighbours) => presenceExcess(copy, neighbours)))).toBeGreaterThan(
      1.01,
    )
  })

  it.each(
    selected([
      ['the threshold of one key for several', 'sensitivity.rising, rational(delta', '1n, rational(delta'],
      [
        'the noise of one key for several',
        'const scale = rational(sensitivity.l1 * ONE_EPSILON_NANO, epsilonNano)',
        'const scale = rational(ONE_EPSILON_NANO, epsilonNano)',
      ],
    ]),
  )(
    '%s, with noisy counts, costs more than its price for people of several keys',
    async (_, find, replace) => {
      for (const neighbours of NEIGHBOURS) {
        const { excess, allowed } = peopleExcess(await mutant(find, replace), 'counts', neighbours, 2)
        expect(excess).toBeGreaterThan(allowed * 1.2)
      }
    },
  )

  it.each(
    selected([
      [
        'the whole delta for each of several keys',
        'const delta = rational(deltaAtto, keys * ONE_DELTA_ATTO)',
        'const delta = rational(deltaAtto, ONE_DELTA_ATTO)',
      ],
      [
        'the whole epsilon for each of several keys',
        'const exponent = rational(epsilonNano, keys * ONE_EPSILON_NANO)',
        'const exponent = rational(epsilonNano, ONE_EPSILON_NANO)',
      ],
    ]),
  )('%s, with keys alone, costs more than its price for people of several keys', async (_, find, replace) => {
    for (const neighbours of NEIGHBOURS) {
      const { excess, allowed } = peopleExcess(await mutant(find, replace), 'presence', neighbours, 2)
      expect(excess).toBeGreaterThan(allowed * 1.2)
    }
  })

  it.each(
    selected([
      [
        'the mass at the threshold omitted',
        'powers(reciprocal(scale), threshold - 1n, bits)',
        'powers(reciprocal(scale), threshold, bits)',
      ],
      [
        'the whole epsilon for each of two keys',
        'const exponent = rational(epsilonNano, keys * ',
        'const exponent = rational(epsilonNano, ',
      ],
      [
        'the whole delta for each of two keys',
        'const delta = rational(deltaAtto, keys * ',
        'const delta = rational(deltaAtto, ',
      ],
    ]),
  )('the verification of the calibration fails: %s', async (_, find, replace) => {
    const copy = await importKeySelection({ find, replace })
    expect(() => {
      copy.calibrateKeyCounts(ROW_OF_ONE_VALUE['change-one'], epsilon(1), delta(0.02))
      copy.calibrateKeyPresence(ROW_OF_ONE_VALUE['change-one'], epsilon(1), delta(0.02))
    }).toThrow('verification')
  })
})
