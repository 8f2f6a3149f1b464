import { describe, expect, it } from 'vitest'
import type * as asItIs from '../../src/privacy/zcdp-conversion.ts'
import { withChangedSource } from '../mutants/changed-source.ts'
import { selectMutants } from '../mutants/select-mutants.ts'
import { mistakes } from './zcdp-reference-values.ts'

const FILE = 'privacy/zcdp-conversion.ts'

/** A defect, the text of the source that it replaces, and the replacement. */
type Defect = readonly [defect: string, find: string, replace: string]

const DEFECTS: readonly Defect[] = [
  ['the older bound: no logarithm of the order', 'return { excess, gain }', 'return { excess, gain: 0n }'],
  ['half of the gain left out', ' + ((excess * logarithm(one + excess, excess)) >> EXCESS_BITS)', ''],
  [
    'the order for its excess',
    'const product = excess * ((1n << EXCESS_BITS) + excess)',
    'const product = excess * excess',
  ],
  ['the excess for its order', '/ (excess * ((1n << EXCESS_BITS) + excess))', '/ (excess * excess)'],
  ['delta forgotten', 'return logarithm(ONE_DELTA_ATTO, delta) + LOGARITHM_ERROR', 'return LOGARITHM_ERROR'],
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
  ['orders that are not large', 'const LARGEST_EXCESS = 2 ** 64', 'const LARGEST_EXCESS = 1000'],
  ['orders that are not near 1', 'const LEAST_EXCESS = 2 ** -64', 'const LEAST_EXCESS = 0.01'],
  ['too few terms', 'power > 0n', 'odd < 9n'],
  ['powers of 2 not counted', 'doublings * LOGARITHM_OF_TWO', '0n * LOGARITHM_OF_TWO'],
]

describe('a defect in the conversion is detected', () => {
  it.each(
    selectMutants(import.meta.dirname, DEFECTS, ([, find, replace]) => [{ file: FILE, find, replace }]),
  )('%s', async (_, find, replace) => {
    const found = await withChangedSource([{ file: FILE, find, replace }], {}, async (load) =>
      mistakes(await load<typeof asItIs>(FILE)),
    )
    expect(found).not.toEqual([])
  })

  it('a copy without a defect passes', async () => {
    const found = await withChangedSource([], {}, async (load) => mistakes(await load<typeof asItIs>(FILE)))
    expect(found).toEqual([])
  })
})
