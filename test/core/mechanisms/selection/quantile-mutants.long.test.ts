import { describe, expect, it } from 'vitest'
import { selectMutants } from '../../../mutants/select-mutants.ts'
import {
  ALWAYS_BIG,
  importQuantile,
  largestDeparture,
  NEIGHBOURS,
  tightLoss,
} from './quantile-distributions.ts'

/** A bug, the text of the source that it replaces, and the replacement. */
type Mutant = readonly [bug: string, find: string, replace: string]

const selected = (mutants: readonly Mutant[]) =>
  selectMutants(import.meta.dirname, mutants, ([, find, replace]) => [
    { file: 'core/mechanisms/selection/quantile.ts', find, replace },
  ])

describe('every mutant breaks the distribution or the guarantee', () => {
  it.each(
    selected([
      [
        'a row at the point weighs as one above, in doubles',
        'return Math.max(0, least, -most)',
        'return Math.abs(least)',
      ],
      ['rows at the point not among those below the next', 'rowsBelow += rowsEqual', ''],
      [
        'the points above the last value left out',
        'append(Number(upperIndex - lowerIndex + 1n), 0)',
        'if (length === 0) append(Number(upperIndex - lowerIndex + 1n), 0)',
      ],
      [
        'the upper end left out',
        'append(Number(upperIndex - lowerIndex + 1n), 0)',
        'append(Number(upperIndex - lowerIndex), 0)',
      ],
      ['a value counted as its own gap', 'append(offset, 0)', ''],
      [
        'an interval one point too long',
        'points[length] = end - covered',
        'points[length] = end - covered + 1',
      ],
      ['always the first point of an interval', '+ BigInt(source.below(entry(points, chosen)))', ''],
      [
        'offsets from zero',
        'return measurement.lowerIndex + BigInt(entry(offsets, chosen))',
        'return BigInt(entry(offsets, chosen))',
      ],
      [
        'the share of the rows above',
        'below: share.denominator - share.numerator, above: -share.numerator',
        'below: share.numerator, above: share.numerator - share.denominator',
      ],
      [
        'a minimum from above',
        'return { below: 1n, above: 0n, target: rank }',
        'return { below: 0n, above: -1n, target: -rank }',
      ],
      ['a maximum of the next rank', 'target: -rank', 'target: -rank - 1n'],
      [
        'the target left out, in doubles',
        'above * (rows - atOrBelow) - target',
        'above * (rows - atOrBelow)',
      ],
    ]),
  )('%s', async (_, find, replace) => {
    expect(largestDeparture(await importQuantile({ find, replace }))).toBeGreaterThan(1e-3)
  })

  it.each(
    selected([
      [
        'a row at the point weighs as one above',
        'if (least > 0n) return least',
        'return least < 0n ? -least : least',
      ],
      ['no point above the quantile is too far', 'if (least > 0n) return least', ''],
      ['rows above counted with those at the point', 'BigInt(rows) - below - equal', 'BigInt(rows) - below'],
      ['the target left out', 'above * rowsAbove - target', 'above * rowsAbove'],
    ]),
  )('%s, in big integers', async (_, find, replace) => {
    expect(largestDeparture(await importQuantile(ALWAYS_BIG, { find, replace }))).toBeGreaterThan(1e-3)
  })

  it('scores taken for monotonic loses more than epsilon', async () => {
    const [find, replace] = ['monotonic: false, outcomes }', 'monotonic: true, outcomes }']
    const copy = await importQuantile({ find, replace })
    expect(Math.max(...NEIGHBOURS.map((neighbours) => tightLoss(copy, neighbours)))).toBeGreaterThan(1.05)
  })
})
