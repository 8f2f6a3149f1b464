import type { NumericColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import { divideRoundingDown, type Rational, rational } from '../../../privacy/rational.ts'
import { type Grid, gridOf, LARGEST_EXACT_INTEGER, printIndexOfInteger } from '../../grid.ts'
import { rangeIsComputable } from '../../source-rules.ts'
import type { Order, Source } from '../../tables/comparisons.ts'
import type { Digits, SourceType } from '../../tables/encoder.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { bigint, clamped, double, wide } from './literals.ts'

/** The fractional digits to which numbers are cut: enough to distinguish both sides of every half step. */
const TICK_FRACTION_DIGITS = 10
const TICKS_PER_ONE = 10n ** BigInt(TICK_FRACTION_DIGITS)

/**
 * Encodes numbers; see `ValueRules`.
 *
 * Java chooses a decimal exactly between two REALs as the shortest of the even one, which other databases do not: 7.5e9
 * for 7500000256. The index may then differ from theirs by 1. It still depends on the value alone.
 */
export function encodeNumber(
  column: NumericColumn,
  { sql }: Source,
  type: SourceType,
): EncodedValue | undefined {
  if (!rangeIsComputable(column)) return undefined
  const grid = gridOf(column, 2n)
  switch (type.kind) {
    case 'integer':
      return { stored: printInteger(grid, sql), isTotal: true }
    case 'decimal': {
      const digits = requireDigits(type.digits)
      const index = printDecimal(grid, sql, digits)
      return grid.whole && digits.scale > 0
        ? guarded(`${sql} = truncate(${sql})`, index)
        : { stored: index, isTotal: true }
    }
    case 'float':
      return encodeFloat(grid, sql, type.bits)
    default:
      return undefined
  }
}

/** Trino may compute an expression before the condition on its row, so the guard remains. */
function guarded(condition: string, index: string): EncodedValue {
  const stored = `CASE WHEN ${condition} THEN ${index} END`
  return { stored, fitting: { condition, stored } }
}

/** Prints the index of an integer. */
function printInteger(grid: Grid, sql: string): string {
  return (
    printBigint(grid, `CAST(${sql} AS BIGINT)`, grid) ??
    printWide(grid, `CAST(${sql} AS DECIMAL(38, 0))`, { precision: 19, scale: 0 })
  )
}

/** Prints the index of a 64-bit integer in units of which a step has a number. `undefined` if 64 bits may not suffice. */
function printBigint(grid: Grid, sql: string, units: Rational): string | undefined {
  const within = (value: string, lower: bigint, upper: bigint) => clamped(value, bigint(lower), bigint(upper))
  if (units.numerator === 1n && units.denominator === 1n) return within(sql, grid.lower, grid.upper)
  return printIndexOfInteger(grid, sql, units, { literal: bigint, clamped: within })
}

function requireDigits(digits: Digits | undefined): Digits {
  return must(digits, 'the digits of a decimal of Trino')
}

/** Decimals of this precision fit 64 bits, without their point. */
const BIGINT_DIGITS = 18

function printDecimal(grid: Grid, sql: string, digits: Digits): string {
  const { precision, scale } = digits
  if (precision <= BIGINT_DIGITS) {
    const units = rational(grid.numerator * 10n ** BigInt(scale), grid.denominator)
    const inUnits = scale === 0 ? sql : `${sql} * DECIMAL '${10n ** BigInt(scale)}'`
    const index = printBigint(grid, `CAST(${inUnits} AS BIGINT)`, units)
    if (index !== undefined) return index
  }
  return printWide(grid, sql, digits)
}

/**
 * Prints the index of any decimal. Its whole part and its fraction are computed separately, because a product with a
 * power of ten has too many digits for a DECIMAL.
 */
function printWide(grid: Grid, sql: string, digits: Digits): string {
  const { precision, scale } = digits
  const { numerator: p, denominator: q, lower, upper } = grid
  const largestUnits = 10n ** BigInt(precision) - 1n
  // In units of the last digit.
  const units = (index: bigint) => divideRoundingDown(index * p * 10n ** BigInt(scale), q)
  const held = (count: bigint) =>
    count > largestUnits ? largestUnits : count < -largestUnits ? -largestUnits : count
  const near = clamped(
    sql,
    decimal(held(units(lower - 1n)), digits),
    decimal(held(units(upper + 1n) + 1n), digits),
  )
  const whole = `CAST(truncate(${near}) AS DECIMAL(38, 0)) * ${wide(TICKS_PER_ONE)}`
  if (scale === 0) return printTicks(grid, whole)
  const fraction = `(${near} - truncate(${near}))`
  const cut = scale <= TICK_FRACTION_DIGITS ? fraction : `truncate(${fraction}, ${TICK_FRACTION_DIGITS})`
  const ticks = `CAST(CAST(${cut} AS DECIMAL(11, 10)) * DECIMAL '10000000000' AS BIGINT)`
  // Cutting digits off rounds towards zero; for negative numbers the floor is one less.
  const floor =
    scale <= TICK_FRACTION_DIGITS ? ticks : `(${ticks} - CASE WHEN ${cut} > ${fraction} THEN 1 ELSE 0 END)`
  return printTicks(grid, `(${whole} + ${floor})`)
}

/** Comparisons of decimals. A constant of another type could have no common type with the column, which would be an error. */
export function decimalOrder(known: Digits | undefined): Order {
  const digits = requireDigits(known)
  return {
    kind: 'units',
    unitsPerOne: 10n ** BigInt(digits.scale),
    largest: 10n ** BigInt(digits.precision) - 1n,
    literal: (units) => decimal(units, digits),
  }
}

/** A decimal, given without its point. */
function decimal(units: bigint, { precision, scale }: Digits): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  const number = `${units < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
  return `CAST('${scale === 0 ? units : number}' AS DECIMAL(${precision}, ${scale}))`
}

/** Prints the index of a number of ticks near the bounds, in the type of sums. */
function printTicks({ numerator, denominator, lower, upper }: Grid, sql: string): string {
  // A step is a whole number of nanos.
  const ticks = (numerator * TICKS_PER_ONE) / denominator
  const start = lower - 2n
  const dividend = `(2 * ${sql} + ${wide(ticks - 2n * ticks * start)})`
  const index = `CAST(${printWideQuotient(dividend, wide(2n * ticks))} + ${wide(start)} AS BIGINT)`
  return clamped(index, bigint(lower), bigint(upper))
}

/**
 * The integer part of a quotient that is not negative, in the type of sums. The quotient of DECIMALs is rounded, so the
 * remainder is subtracted first.
 */
export function printWideQuotient(dividend: string, divisor: string): string {
  return `((${dividend} - ${dividend} % ${divisor}) / ${divisor})`
}

function encodeFloat(grid: Grid, sql: string, bits: 32 | 64): EncodedValue {
  const value = bits === 64 ? sql : `CAST(${sql} AS DOUBLE)`
  const shortest = `json_format(CAST(${sql} AS JSON))`
  // A REAL is not the double of its shortest decimal.
  const nearest =
    bits === 64 ? sql : `CASE WHEN is_finite(${value}) THEN TRY_CAST(${shortest} AS DOUBLE) ELSE ${value} END`
  const fits = grid.whole ? `${value} = floor(${value})` : `NOT is_nan(${value})`
  const index = doublesAreExact(grid) ? printDouble(grid, nearest) : printShortest(grid, value, shortest)
  return guarded(fits, index)
}

/** A decimal of at most this many significant digits is the only such decimal that its nearest double stands for. */
const DISTINCT_DIGITS = 15

/**
 * True if a double decides for every value on which side of a half step it lies.
 *
 * With n = floor(x / step) in doubles, the index is n or n + 1: it is n + 1 if the value d is at least the half step
 * h = (n + 1/2) step. Let x and H be the doubles nearest to d and h. Rounding is monotone, so that x > H implies d > h,
 * and x < H implies d < h. For x = H, d equals h: both are the shortest decimal of the double, because a decimal of at
 * most 15 digits is.
 */
function doublesAreExact({ numerator, denominator, largest }: Grid): boolean {
  const doubledHalfStep = (2n * largest + 1n) * numerator
  // Then the division that computes H has exact operands, and n is off by less than a quarter.
  const halfStepsAreNearest = doubledHalfStep < LARGEST_EXACT_INTEGER && largest < 2n ** 49n
  let scale = 1n
  while ((numerator * scale) % (2n * denominator) !== 0n) scale *= 10n
  return (
    halfStepsAreNearest && (doubledHalfStep * scale) / (2n * denominator) < 10n ** BigInt(DISTINCT_DIGITS)
  )
}

/** Prints the index of a double that is not NaN. */
function printDouble({ numerator, denominator, lower, upper }: Grid, sql: string): string {
  const edge = (index: bigint) => double(Number(index * numerator) / Number(denominator))
  const near = clamped(sql, edge(lower - 1n), edge(upper + 1n))
  const steps = `floor(${near} / ${double(Number(numerator) / Number(denominator))})`
  const half = `((2 * ${steps} + 1) * ${double(Number(numerator))} / ${double(Number(2n * denominator))})`
  const index = `CAST(${steps} AS BIGINT) + CASE WHEN ${near} >= ${half} THEN 1 ELSE 0 END`
  return clamped(`(${index})`, bigint(lower), bigint(upper))
}

/** Prints the index of a double that is not NaN, from the digits of its shortest decimal. */
function printShortest(grid: Grid, value: string, shortest: string): string {
  const { numerator, denominator, lower, upper } = grid
  const edge = (index: bigint) => double(Number(index * numerator) / Number(denominator))
  // The number has the form -d.dddE-e, or -ddd.ddd.
  const digits = "replace(replace(split_part(decimal, 'E', 1), '.', ''), '-', '')"
  const fractionDigits = "length(split_part(split_part(decimal, 'E', 1), '.', 2))"
  const exponent = "coalesce(TRY_CAST(split_part(decimal, 'E', 2) AS BIGINT), 0)"
  const kept = `greatest(length(${digits}) + ${exponent} - ${fractionDigits} + ${TICK_FRACTION_DIGITS}, 0)`
  const magnitude = `TRY_CAST('0' || rpad(digits, kept, '0') AS DECIMAL(38, 0))`
  // Cutting digits off rounds towards zero; for negative numbers the floor is one less.
  const isCut = `replace(substr(digits, kept + 1), '0', '') <> ''`
  const floor = `CASE WHEN starts_with(decimal, '-') THEN -(${magnitude}) - CASE WHEN ${isCut} THEN 1 ELSE 0 END ELSE ${magnitude} END`
  const ticks = named('digits', digits, named('kept', kept, floor))
  const index = printTicks(grid, 'ticks')
  return (
    `CASE WHEN ${value} >= ${edge(upper + 2n)} THEN ${bigint(upper)} WHEN ${value} <= ${edge(lower - 2n)} THEN ${bigint(lower)}` +
    ` ELSE ${named('decimal', shortest, named('ticks', ticks, index))} END`
  )
}

/** Gives an expression a name in another one, so that it is computed once. */
function named(name: string, value: string, expression: string): string {
  return `element_at(transform(ARRAY[${value}], ${name} -> ${expression}), 1)`
}
