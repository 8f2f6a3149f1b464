import fc from 'fast-check'
import { type DeltaAtto, deltaAtto, type EpsilonNano, epsilonNano } from '../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import type { KeySensitivity, Sensitivity } from '../../../src/privacy/sensitivity.ts'

/** One entry moves by at most `distance`. */
export function scalarSensitivity(distance: bigint): Sensitivity {
  return { l0: 1n, l1: distance, l2Squared: distance * distance, lInfinity: distance }
}

/**
 * One person contributes to at most `keys` counts, by 1 each: added or removed, the person moves as many; replaced, the
 * person raises as many and lowers as many.
 */
export function personOfKeys(keys: bigint): Readonly<Record<Neighbours, KeySensitivity>> {
  const moved = (l0: bigint) => ({ l0, l1: l0, l2Squared: l0, lInfinity: 1n, rising: keys })
  return { 'add-remove': moved(keys), 'change-one': moved(2n * keys) }
}

/**
 * One row is added or removed, and one count moves by 1; or one row is replaced, and one count rises and one falls by
 * 1.
 */
export const ROW_OF_ONE_VALUE = personOfKeys(1n)

/** Integers spread evenly over the orders of magnitude from 2^0 to 2^`mostBits`. */
export function integersOfEverySize(mostBits: number): fc.Arbitrary<bigint> {
  return fc.integer({ min: 0, max: mostBits }).chain((bits) => fc.bigInt(1n, 1n << BigInt(bits)))
}

/** Every epsilon that a query may have: 1e-9 to 1000. */
export const anyEpsilon: fc.Arbitrary<EpsilonNano> = integersOfEverySize(40)
  .filter((count) => count <= 1_000_000_000_000n)
  .map(epsilonNano)

/** Every delta the Gaussian mechanism may have: 1e-18 to 0.999. */
export const anyDelta: fc.Arbitrary<DeltaAtto> = integersOfEverySize(60)
  .filter((count) => count <= 999_000_000_000_000_000n)
  .map(deltaAtto)

/** One entry that moves by up to 2^55, or several: the square of the L2 sensitivity goes up to 2^110. */
export const anySensitivity: fc.Arbitrary<Sensitivity> = fc
  .tuple(integersOfEverySize(54), fc.integer({ min: 1, max: 4 }))
  .map(([distance, entries]) => ({
    l0: BigInt(entries),
    l1: BigInt(entries) * distance,
    l2Squared: BigInt(entries) * distance * distance,
    lInfinity: distance,
  }))
