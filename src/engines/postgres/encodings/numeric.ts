import type { NumericColumn } from '../../../core/dataset/dataset.ts'
import { type Grid, gridOf, LARGEST_IN_64_BITS, ONE_NANO, printIndexOfInteger } from '../../grid.ts'
import type { Source } from '../../tables/comparisons.ts'
import type { Digits, SourceType } from '../../tables/encoder.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { clamped, int8 } from './literals.ts'
import { unlessNull } from './source.ts'

/** Encodes numbers; see `ValueRules`. PostgreSQL's numeric may be NaN and infinite. */
export function encodeNumber(
  column: NumericColumn,
  source: Source,
  type: SourceType,
): EncodedValue | undefined {
  const grid = gridOf(column, 1n)
  switch (type.kind) {
    case 'integer':
      return { stored: unlessNull(source, printInteger(grid, source.sql, type.bits)), isTotal: true }
    case 'decimal':
      return encodeNumeric(grid, source, type.digits)
    case 'float':
      return encodeFloat(grid, source.sql, type.bits)
    default:
      return undefined
  }
}

/** Prints the index of an integer that is not NULL. */
function printInteger(grid: Grid, sql: string, bits: 8 | 16 | 32 | 64): string {
  const { numerator, denominator, lower, upper } = grid
  const integer = `(${sql})::int8`
  if (numerator === 1n && denominator === 1n) {
    const [least, most] = [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    return lower <= least && upper >= most ? integer : clamped(integer, lower, upper)
  }
  return (
    printIndexOfInteger(grid, integer, grid, { literal: int8, clamped }) ??
    printNumeric(grid, `(${sql})::numeric`)
  )
}

/** NaN occurs in every numeric, and infinities in those of any number of digits. */
export function isNumber(sql: string): string {
  return `${sql} <> 'NaN'::numeric`
}

function encodeNumeric(grid: Grid, { sql }: Source, digits: Digits | undefined): EncodedValue {
  const isWhole = digits !== undefined && digits.scale <= 0
  if (grid.whole && !isWhole) {
    const stored = `CASE WHEN ${sql} = trunc(${sql}) THEN ${printNumeric(grid, sql)} END`
    const condition = `${sql} = trunc(${sql}) AND ${isNumber(sql)}`
    const fitting = { condition, stored: printNumeric(grid, sql) }
    return { stored, fitting }
  }
  const index = digits && printFewDigits(grid, sql, digits)
  const condition = isNumber(sql)
  const stored = index === undefined ? printNumeric(grid, sql) : `CASE WHEN ${condition} THEN ${index} END`
  return { stored, fitting: { condition, stored: index ?? stored } }
}

/**
 * Prints the index of a numeric with so few digits that its number of steps fits 64 bits before it is clamped;
 * `undefined` for other types and steps.
 */
function printFewDigits(
  { numerator, denominator, lower, upper }: Grid,
  sql: string,
  { precision, scale }: Digits,
): string | undefined {
  const most = 10n ** BigInt(Math.max(precision - scale, 0)) * denominator
  if (numerator !== 1n || most > LARGEST_IN_64_BITS) return undefined
  const steps = denominator === 1n ? sql : `${sql} * ${denominator}`
  const isInteger = scale <= 0 || denominator % 10n ** BigInt(scale) === 0n
  return clamped(`(${isInteger ? steps : `floor(${steps} + 0.5)`})::int8`, lower, upper)
}

/** Prints the index of any numeric; NULL for NULL and NaN. NaN is greater than every number. */
function printNumeric({ numerator: p, denominator: q, lower, upper }: Grid, sql: string): string {
  const start = lower - 1n
  const steps = `div(${sql} * ${2n * q} + ${numericLiteral(p - 2n * p * start)}, ${2n * p})`
  const index = clamped(`(${int8(start)} + ${steps}::int8)`, lower, upper)
  const [least, most] = [decimal((lower - 1n) * p, q), decimal((upper + 1n) * p, q)]
  return (
    `CASE WHEN ${sql} <= ${most} THEN CASE WHEN ${sql} >= ${least} THEN ${index} ELSE ${int8(lower)} END` +
    ` WHEN ${sql} <> 'NaN'::numeric THEN ${int8(upper)} END`
  )
}

/** Integers up to this magnitude are their own shortest decimals. */
const LARGEST_WHOLE = { 32: 2n ** 24n, 64: 2n ** 53n } as const

function encodeFloat(grid: Grid, sql: string, bits: 32 | 64): EncodedValue {
  // PostgreSQL writes the shortest decimal, because the session sets extra_float_digits.
  const text = `(${sql})::text::numeric`
  const double = bits === 64 ? sql : `(${sql})::float8`
  const isNumber = `${double} <> 'NaN'::float8`
  if (!grid.whole) {
    const stored = printNearest(grid, double, bits, text)
    return { stored, fitting: { condition: isNumber, stored } }
  }
  const { numerator: p, lower, upper } = grid
  const [least, most] = [(lower - 1n) * p, (upper + 1n) * p]
  const exact = -least <= LARGEST_WHOLE[bits] && most <= LARGEST_WHOLE[bits]
  const index = exact
    ? `CASE WHEN ${double} > ${float8(most)} THEN CASE WHEN ${double} <> 'NaN'::float8 THEN ${int8(upper)} END` +
      ` WHEN ${double} < ${float8(least)} THEN ${int8(lower)} ELSE ${printInteger(grid, double, 64)} END`
    : printNumeric(grid, text)
  return {
    stored: `CASE WHEN floor(${double}) = ${double} THEN ${index} END`,
    fitting: { condition: `floor(${double}) = ${double} AND ${isNumber}`, stored: index },
  }
}

/** Largest error for which a number of steps is computed in doubles. */
const LARGEST_ERROR = 2 ** -4

/**
 * Prints the index of a double. With h as half a step, the index is the floor of (x + h) / step. In doubles this is off
 * by at most `error`: the decimal differs from its double by 2^-53 of it (2^-24 for `real`), and so does the result of
 * each of the three operations; `error` allows for 8 of these. If no integer is that near, the floor is exact. Otherwise
 * the decimal decides.
 *
 * Neither the sum nor the quotient can overflow or underflow, which would be an error: x is within the bounds and one
 * step, and x + h is 0 or, as a difference of nearby doubles, not much smaller than an ulp of h.
 */
function printNearest(grid: Grid, sql: string, bits: 32 | 64, text: string): string {
  const { numerator, denominator, lower, upper, largest } = grid
  const error = Number(largest + 1n) * 2 ** (bits === 64 ? -50 : -21)
  const slow = printNumeric(grid, text)
  if (error > LARGEST_ERROR) return slow
  const step = Number(numerator) / Number(denominator)
  const edge = (index: bigint) => float8((Number(index) * Number(numerator)) / Number(denominator))
  const steps = `((${sql} + ${float8(step / 2)}) / ${float8(step)})`
  const index = clamped(`floor(${steps})::int8`, lower, upper)
  return (
    `CASE WHEN ${sql} > ${edge(upper + 1n)} THEN CASE WHEN ${sql} <> 'NaN'::float8 THEN ${int8(upper)} END` +
    ` WHEN ${sql} < ${edge(lower - 1n)} THEN ${int8(lower)}` +
    ` WHEN abs(${steps} - round(${steps})) > ${float8(error)} THEN ${index} ELSE ${slow} END`
  )
}

function float8(value: number | bigint): string {
  return `'${value}'::float8`
}

function numericLiteral(value: bigint): string {
  return `'${value}'::numeric`
}

/** A fraction of nanos as a decimal. */
function decimal(numerator: bigint, denominator: bigint): string {
  const nano = numerator * (ONE_NANO / denominator)
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0')
  return `'${nano < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}'::numeric`
}
