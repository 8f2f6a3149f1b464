/**
 * Exact decimals. A JSON number arrives as the double nearest to its literal. The HTTP layer has already refused
 * every literal that the double does not represent exactly, so the shortest decimal that reads back as that double
 * _is_ the literal's value. From here on it is an integer count of a decimal unit.
 */

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/**
 * Returns the exact integer number of 10^-fractionDigits units in a decimal literal.
 *
 * @returns the integer, or `undefined` if the text is no decimal, if the value has more fractional digits, or if its
 * exponent is beyond +-400 (no quantity in Sotto is).
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

/**
 * Applies {@link parseDecimal} to the shortest decimal that reads back as this double; `undefined` also for NaN and
 * infinities.
 */
export function decimalFromNumber(value: number, fractionDigits: number): bigint | undefined {
  // Most numbers are whole, and thousands of them may be in one request.
  if (Number.isSafeInteger(value)) return BigInt(value) * 10n ** BigInt(fractionDigits)
  return parseDecimal(String(value), fractionDigits)
}

/**
 * Decimal text of `units` * 10^-fractionDigits, exact, without trailing zeros: `formatDecimal(700000000n, 9)` is
 * `0.7`.
 */
export function formatDecimal(units: bigint, fractionDigits: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(fractionDigits + 1, '0')
  const whole = digits.slice(0, digits.length - fractionDigits)
  const fraction = digits.slice(digits.length - fractionDigits).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Double nearest to `units` * 10^-fractionDigits, for display and JSON. */
export function numberFromDecimal(units: bigint, fractionDigits: number): number {
  const one = 10n ** BigInt(fractionDigits)
  // The double nearest to a whole number. Most are whole, and thousands of them may be in one request.
  if (units % one === 0n) return Number(units / one)
  return Number(formatDecimal(units, fractionDigits))
}

/** Longest number literal that is compared. Longer ones are never exact doubles that a client would send. */
const LONGEST_LITERAL = 64

/** Returns true if two literals of JSON denote the same decimal, in any notation. Of a long literal it returns false. */
export function isSameDecimal(a: string, b: string): boolean {
  if (a === b) return true
  if (a.length > LONGEST_LITERAL) return false
  const [left, right] = [normalForm(a), normalForm(b)]
  return left !== undefined && left === right
}

/** Returns the sign, the significant digits without zeros at either end, and the exponent of the last digit. */
function normalForm(literal: string): string | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/.exec(literal)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
