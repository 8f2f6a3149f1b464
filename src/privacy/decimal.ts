/**
 * Exact decimals. A JSON number reaches us as the double nearest to what was written; the HTTP layer has already
 * refused every literal that the double does not stand for exactly, so the shortest decimal that reads back as that
 * double *is* what the caller wrote, and from there on it is an integer count of a decimal unit.
 */

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/**
 * The exact integer number of 10^-fractionDigits units in a decimal literal.
 *
 * @returns the integer, or `undefined` where the text is no decimal, where the value has more fractional digits than
 * that, or where its exponent is beyond +-400 (no quantity of ours is).
 */
export function parseDecimal(text: string, fractionDigits: number): bigint | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > 400) return undefined
  const digits = BigInt(whole + fraction)
  if (digits === 0n) return 0n
  const shift = exponent - fraction.length + fractionDigits
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : divideExactly(digits, 10n ** BigInt(-shift))
  if (magnitude === undefined) return undefined
  return sign === '-' ? -magnitude : magnitude
}

function divideExactly(dividend: bigint, divisor: bigint): bigint | undefined {
  return dividend % divisor === 0n ? dividend / divisor : undefined
}

/** {@link parseDecimal} of the shortest decimal that reads back as this double; `undefined` for NaN and infinities too. */
export function decimalFromNumber(value: number, fractionDigits: number): bigint | undefined {
  return parseDecimal(String(value), fractionDigits)
}

/** Decimal text of `units` * 10^-fractionDigits, exact, without trailing zeros: `formatDecimal(700000000n, 9)` is `0.7`. */
export function formatDecimal(units: bigint, fractionDigits: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(fractionDigits + 1, '0')
  const whole = digits.slice(0, digits.length - fractionDigits)
  const fraction = digits.slice(digits.length - fractionDigits).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** The double nearest to `units` * 10^-fractionDigits, for people and JSON to read. */
export function numberFromDecimal(units: bigint, fractionDigits: number): number {
  return Number(formatDecimal(units, fractionDigits))
}
