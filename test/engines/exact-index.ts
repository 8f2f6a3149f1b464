import type { NumericColumn } from '../../src/core/dataset/dataset.ts'
import { doublesSuffice } from '../../src/engines/duckdb/encodings/numeric.ts'
import { divideRoundingDown } from '../../src/privacy/rational.ts'

/** A number as an exact fraction of nanos. */
interface Exact {
  readonly nanos: bigint
  readonly denominator: bigint
}

const LITERAL = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i
const INFINITY = /^([+-]?)inf(inity)?$/i

/** The exact index of a number in a column: floor(x / step + 1/2) within the bounds; null if it does not fit. */
export function exactIndex(column: NumericColumn, text: string | null): bigint | null {
  const infinite = INFINITY.exec(text?.trim() ?? '')
  if (infinite !== null) return infinite[1] === '-' ? column.lowerIndex : column.upperIndex
  const number = readNumber(text)
  if (number === undefined) return null
  const isWhole = number.nanos % (number.denominator * 1_000_000_000n) === 0n
  return column.type === 'integer' && !isWhole ? null : indexOf(column, number)
}

/**
 * True if ingestion may store an index for a number. It reads a number of at most 15 digits exactly. In place of one of
 * more digits it may read any number that doubles cannot tell from it: so the index may be that of the other side of a half
 * step, and in an `integer` column the number may count as whole.
 */
export function mayBeStored(column: NumericColumn, text: string | null, index: bigint | null): boolean {
  const exact = exactIndex(column, text)
  const number = readNumber(text)
  if (exact === index) return true
  if (index === null || number === undefined || isShort(text ?? '', number)) return false
  if (column.type === 'integer' && exact === null && !isAlmostWhole(number)) return false
  const bounds = [-1n, 1n].map((sign) => indexOf({ ...column, type: 'number' }, nextTo(number, sign)))
  const [least, most] = bounds.sort((a, b) => (a < b ? -1 : 1)) as [bigint, bigint]
  return index >= least && index <= most
}

/**
 * True if {@link mayBeStored} allows more than the exact index of a number. In a column of so many steps that ingestion
 * computes in decimals, this is so for numbers beyond the bounds alone.
 */
export function isBeyondDoubles(column: NumericColumn, text: string): boolean {
  const exact = exactIndex(column, text)
  const clamped = exactIndex({ ...column, type: 'number' }, text)
  const isAtBound = clamped === column.lowerIndex || clamped === column.upperIndex
  if (!doublesSuffice(column) && !isAtBound) return false
  const others = exact === null ? [clamped] : [exact - 1n, exact + 1n]
  return others.some((index) => index !== null && mayBeStored(column, text, index))
}

function readNumber(text: string | null): Exact | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = LITERAL.exec(text?.trim() ?? '') ?? []
  if (whole + fraction === '') return undefined
  const power = BigInt(exponent) - BigInt(fraction.length) + 9n
  // Beyond every bound, or smaller than every half step.
  const held = power > 2_000n ? 2_000n : power < -2_000n ? -2_000n : power
  const magnitude = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n)
  return held > 0n
    ? { nanos: magnitude * 10n ** held, denominator: 1n }
    : { nanos: magnitude, denominator: 10n ** -held }
}

/** True for a number that a double stands for alone. Doubles round the smallest numbers to 0. */
function isShort(text: string, { nanos, denominator }: Exact): boolean {
  const digits = text.replace(/e.*$/i, '').replace(/[^\d]/g, '')
  return digits.replace(/^0+/, '').length <= 15 && (nanos < 0n ? -nanos : nanos) * 10n ** 300n >= denominator
}

/** A number that is more than the distance of two doubles away. */
function nextTo({ nanos, denominator }: Exact, sign: bigint): Exact {
  return { nanos: nanos * (2n ** 52n + sign), denominator: denominator * 2n ** 52n }
}

function isAlmostWhole({ nanos, denominator }: Exact): boolean {
  const one = 1_000_000_000n * denominator
  const distance = nanos - one * divideRoundingDown(2n * nanos + one, 2n * one)
  const [size, magnitude] = [distance < 0n ? -distance : distance, nanos < 0n ? -nanos : nanos]
  return size * 2n ** 52n <= magnitude || size * 10n ** 300n < denominator
}

function indexOf(column: NumericColumn, { nanos, denominator }: Exact): bigint {
  const step = column.stepNano * denominator
  return clamp(column, divideRoundingDown(2n * nanos + step, 2n * step))
}

function clamp({ lowerIndex, upperIndex }: NumericColumn, index: bigint): bigint {
  return index < lowerIndex ? lowerIndex : index > upperIndex ? upperIndex : index
}
