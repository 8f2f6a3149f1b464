import { type Column, isGrid, type NumericColumn } from '../core/dataset/dataset.ts'
import { divideRoundingDown, type Rational, rational } from '../privacy/rational.ts'

export const ONE_NANO = 1_000_000_000n
export const SECONDS_PER_DAY = 86_400n

/** Integers up to this magnitude are exact in doubles. */
export const LARGEST_EXACT_INTEGER = 2n ** 53n

/** Largest magnitude of integers whose products and sums are computed in 64 bits. */
export const LARGEST_IN_64_BITS = 2n ** 62n

/** A column's grid: its step as a fraction in lowest terms, and its bounds as indexes. */
export interface Grid extends Rational {
  readonly lower: bigint
  readonly upper: bigint
  /** Largest magnitude of an index within the bounds and the margin. */
  readonly largest: bigint
  /** True if values must be whole. */
  readonly whole: boolean
}

/** @param margin steps beyond the bounds at which values are clamped before their index is computed */
export function gridOf({ type, stepNano, lowerIndex, upperIndex }: NumericColumn, margin: bigint): Grid {
  return {
    ...rational(stepNano, ONE_NANO),
    lower: lowerIndex,
    upper: upperIndex,
    largest: largestMagnitude(lowerIndex, upperIndex) + margin,
    whole: type === 'integer',
  }
}

/** Returns the largest magnitude of the integers between two bounds. */
export function largestMagnitude(lower: bigint, upper: bigint): bigint {
  return -lower > upper ? -lower : upper
}

/** SQL of integers of 64 bits. */
interface IntegerDialect {
  readonly literal: (value: bigint) => string
  readonly clamped: (integer: string, lower: bigint, upper: bigint) => string
}

/**
 * Prints the index of a 64-bit integer in units of which a step has p / q: floor(x q / p + 1/2), counted from below the
 * smallest index so that no dividend is negative and the quotient is the floor. `undefined` if 64 bits may not suffice.
 */
export function printIndexOfInteger(
  { lower, upper, largest }: Grid,
  sql: string,
  { numerator: p, denominator: q }: Rational,
  { literal, clamped }: IntegerDialect,
): string | undefined {
  if (8n * largest * p + 8n * q > LARGEST_IN_64_BITS) return undefined
  const [least, most] = [
    divideRoundingDown((lower - 1n) * p, q),
    divideRoundingDown((upper + 1n) * p, q) + 1n,
  ]
  const near = clamped(sql, least, most)
  const start = lower - 2n
  const index =
    p === 1n
      ? `(${near} * ${literal(q)})`
      : `((${literal(2n * q)} * ${near} + ${literal(p - 2n * p * start)}) / ${literal(2n * p)} + ${literal(start)})`
  return clamped(index, lower, upper)
}

/**
 * A column whose bounds are one step further apart: a value that is stored beyond the declared bounds is one that they clamp.
 */
export function widenedByOneStep(column: Column): Column {
  if (column.type === 'identifier' || !isGrid(column)) return column
  return { ...column, lowerIndex: column.lowerIndex - 1n, upperIndex: column.upperIndex + 1n }
}
