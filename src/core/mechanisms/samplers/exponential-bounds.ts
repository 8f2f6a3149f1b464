import { divideRoundingUp, type Rational } from '../../../privacy/rational.ts'

/** Two whole numbers that enclose a real number. */
export interface Bounds {
  readonly lower: bigint
  readonly upper: bigint
}

/** Bits that cover the roundings of the series, which has fewer than 2^15 terms for up to 2^17 bits. */
const GUARD_BITS = 16

/**
 * Computes proven bounds of exp(-exponent) as a binary fraction: lower <= exp(-exponent) * 2^bits <= upper, at most 2
 * apart.
 *
 * All values are whole numbers of 2^-precision, and every step rounds outwards. The exponent is halved until it is below
 * 1/16, Taylor's series is summed there, and the sum is squared as many times. A squaring at most doubles the width of
 * bounds below 1 and adds 1 to it, so each one is given one more bit of precision.
 *
 * @param exponent any size, not negative.
 * @param bits a whole number from 0 to 2^17.
 */
export function exponentialBounds(exponent: Rational, bits: number): Bounds {
  const { numerator, denominator } = exponent
  if (numerator === 0n) return { lower: 1n << BigInt(bits), upper: 1n << BigInt(bits) }
  // exp(-x) < 2^-x.
  if (numerator >= BigInt(bits) * denominator) return { lower: 0n, upper: 1n }
  let squarings = 4n
  while (numerator >> (squarings - 4n) >= denominator) squarings += 1n
  const guard = squarings + BigInt(GUARD_BITS)
  const precision = BigInt(bits) + guard
  let { lower, upper } = seriesBounds((numerator << precision) / (denominator << squarings), precision)
  for (let squaring = 0n; squaring < squarings; squaring += 1n) {
    lower = (lower * lower) >> precision
    upper = shiftRoundingUp(upper * upper, precision)
  }
  return { lower: lower >> guard, upper: shiftRoundingUp(upper, guard) }
}

/**
 * Computes bounds of exp(-y), in units of 2^-precision, for every y below 1/16 whose floor is `x`. The terms of the
 * series fall and alternate in sign, so the remainder is less than the first omitted term, which is less than one unit.
 */
function seriesBounds(x: bigint, precision: bigint): Bounds {
  const one = 1n << precision
  let [lower, upper, termLower, termUpper] = [one, one, one, one]
  for (let order = 1n; termUpper > 1n; order += 1n) {
    termLower = ((termLower * x) >> precision) / order
    termUpper = divideRoundingUp(shiftRoundingUp(termUpper * x, precision), order)
    lower += order % 2n === 0n ? termLower : -termUpper
    upper += order % 2n === 0n ? termUpper : -termLower
  }
  // One unit for the remainder; below, another for y - x, because exp falls by at most as much as y grows.
  return { lower: lower - 2n, upper: upper + 1n }
}

/** Divides by 2^bits and rounds towards positive infinity. */
export function shiftRoundingUp(value: bigint, bits: bigint): bigint {
  return -(-value >> bits)
}
