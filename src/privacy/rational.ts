/** Exact non-negative fraction in lowest terms; the denominator is at least 1. */
export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/**
 * Reduces numerator / denominator to lowest terms.
 * @throws RangeError for a negative numerator or a denominator below 1.
 */
export function rational(numerator: bigint, denominator: bigint): Rational {
  if (numerator < 0n || denominator < 1n) throw new RangeError('a fraction must not be negative')
  const divisor = greatestCommonDivisor(numerator, denominator)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

/** Greatest common divisor of two integers, which is never negative; that of 0 and 0 is 0. */
export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b]
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller]
  return larger < 0n ? -larger : larger
}

/** Quotient rounded towards positive infinity, for a positive divisor. */
export function divideRoundingUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor > 0n ? quotient + 1n : quotient
}

/** Quotient rounded towards negative infinity, for a positive divisor. */
export function divideRoundingDown(dividend: bigint, divisor: bigint): bigint {
  return -divideRoundingUp(-dividend, divisor)
}

/** Double nearest to a fraction, to within one rounding of each part; for display and accuracy only. */
export function numberFromRational(value: Rational): number {
  return Number(value.numerator) / Number(value.denominator)
}
