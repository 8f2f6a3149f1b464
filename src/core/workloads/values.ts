import { entry } from '../../privacy/must.ts'
import { type Rational, rational } from '../../privacy/rational.ts'
import type { NoiseShape } from '../mechanisms/measurement.ts'
import type { ColumnSet } from './column-sets.ts'
import { estimates, type Reconstruction, reconstructionOf } from './reconstruction.ts'
import type { Share, Workload } from './shares.ts'

/** Weighs measured tables by the variance that their shares of a price buy. */
export function reconstructionBy(
  shares: readonly Share[],
  shape: NoiseShape,
  workload: Workload,
): Reconstruction {
  return reconstructionOf(
    workload,
    shares.map(({ set }) => set),
    shares.map(
      ({ share, sensitivity }) => sensitivity ** 2 * (shape === 'gaussian' ? 1 / share : share ** -2),
    ),
  )
}

/**
 * Prepares the values of estimated tables, as the doubles nearest to exact fractions.
 * @param noisy the noisy integers of each measured table, each in units of 2^-`fractionBits`
 * @param unit what values are multiples of
 */
export function valuesFrom(
  reconstruction: Reconstruction,
  noisy: readonly (readonly bigint[])[],
  fractionBits: readonly number[],
  unit: Rational = rational(1n, 1n),
): (table: ColumnSet) => number[] {
  const finest = Math.max(...fractionBits)
  const inOneUnit = noisy.map((table, place) => {
    const shift = BigInt(finest - entry(fractionBits, place))
    return shift === 0n ? table : table.map((integer) => integer << shift)
  })
  const estimate = estimates(reconstruction, inOneUnit)
  return (table) => {
    const { numerators, denominator } = estimate(table)
    const divisor = Number(denominator * unit.denominator) * 2 ** finest
    return numerators.map((numerator) => Number(numerator * unit.numerator) / divisor)
  }
}
