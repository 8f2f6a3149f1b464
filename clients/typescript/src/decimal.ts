/** A number of a request. Strings are decimals such as `'0.25'`. */
export type Decimal = number | bigint | string

/** Fractional digits of numbers in requests, except delta. */
const FRACTION_DIGITS = 9
const DELTA_DIGITS = 18

/**
 * Returns a number rounded to the nearest decimal with 9 fractional digits. The service computes with exact decimals and
 * never rounds, so `0.1 + 0.2` must become `0.3` before it is sent.
 * @throws RangeError for NaN, infinity, and whole numbers and strings that a 64-bit float does not hold exactly
 */
export function wireNumber(value: Decimal, digits: number = FRACTION_DIGITS): number {
  if (typeof value === 'string') return numberOfText(value, digits)
  if (typeof value === 'bigint') {
    if (BigInt(Number(value)) !== value)
      throw new RangeError(`${value} has more digits than a 64-bit float holds`)
    return Number(value)
  }
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a finite number`)
  // toFixed rounds the exact value of the float. `+ 0` turns -0 into 0.
  return Math.abs(value) < 1e15 ? Number(value.toFixed(digits)) + 0 : value
}

/** Returns the number that a decimal text denotes. Texts are exact: they are refused, not rounded. */
function numberOfText(text: string, digits: number): number {
  const match = /^(-?)0*(\d+)(?:\.(\d*?)0*)?$/.exec(text.trim())
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is not a decimal number such as 0.25`)
  const [, sign = '', whole = '', fraction = ''] = match
  if (fraction.length > digits) throw new RangeError(`${text} has more than ${digits} fractional digits`)
  const value = Number(`${sign}${whole}.${fraction}`)
  if (plainDecimal(Math.abs(value)) !== (fraction === '' ? whole : `${whole}.${fraction}`))
    throw new RangeError(`${text} has more digits than a 64-bit float holds`)
  return value + 0
}

/** Returns the shortest decimal of a float of at least 0, without an exponent. */
function plainDecimal(value: number): string {
  const [digits = '', exponent] = String(value).split('e')
  if (exponent === undefined) return digits
  const [whole = '', fraction = ''] = digits.split('.')
  const places = Number(exponent)
  return places < 0
    ? `0.${'0'.repeat(-places - 1)}${whole}${fraction}`
    : `${whole}${fraction}`.padEnd(whole.length + places, '0')
}

/** Returns a date as ISO 8601 in UTC. Midnight is written as its date, which columns of dates need. */
function wireTime(value: Date): string {
  if (Number.isNaN(value.getTime())) throw new RangeError('an invalid Date cannot be sent')
  const text = value.toISOString()
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.replace('.000Z', 'Z')
}

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/**
 * Returns a value as JSON of the service: numbers rounded, dates in UTC, expressions as their JSON, and fields that are
 * undefined left out.
 * @param name name of the field that has the value
 */
export function wire(value: unknown, name = ''): Json {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return wireNumber(value, name === 'delta' ? DELTA_DIGITS : FRACTION_DIGITS)
    case 'string':
      return NUMERIC_FIELDS.has(name)
        ? wireNumber(value, name === 'delta' ? DELTA_DIGITS : FRACTION_DIGITS)
        : value
    case 'boolean':
      return value
  }
  if (value instanceof Date) return wireTime(value)
  if (Array.isArray(value)) return value.map((part) => wire(part, name))
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`${value} cannot be part of a query; test for missing values with col(...).isNull()`)
  if ('toJSON' in value && typeof value.toJSON === 'function') return wire(value.toJSON(), name)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([part, inner]) => [part, wire(inner, part)]),
  )
}

/** Fields that are always numbers, so that a text in them is a decimal. Values of columns are not among them. */
const NUMERIC_FIELDS = new Set(['epsilon', 'delta', 'halfWidth', 'confidence', 'ridge', 'p', 'threshold'])
