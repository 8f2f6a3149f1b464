import type { Estimate } from './answers.ts'
import { printable } from './text.ts'

/** A number without noise, an answer that is one number, or an estimate of a table. */
export type Operand = number | Estimate

type Ends = { readonly lower: number; readonly upper: number }

/**
 * Returns a - b. The interval holds every result that the intervals of both allow, and the half-width reaches to its farther
 * end. Both are right when those of a and b are, so the confidence is 1 less the sum of their failure probabilities: 90% for
 * two answers of 95%.
 * @throws TypeError for a quantile, whose half-width is a number of ranks, and for dates
 */
export function difference(a: Operand, b: Operand): Estimate<number> {
  return combined(a, b, (left, right) => left - right, subtractedEnds)
}

/**
 * Returns a / b, with interval, half-width and confidence as {@link difference}. The half-width is null if b may be 0.
 * @throws TypeError as {@link difference}
 */
export function ratio(a: Operand, b: Operand): Estimate<number> {
  return combined(a, b, (left, right) => left / right, dividedEnds)
}

function combined(
  a: Operand,
  b: Operand,
  operation: (left: number, right: number) => number,
  endsOf: (left: Ends, right: Ends) => Ends | undefined,
): Estimate<number> {
  const [left, right] = [read(a), read(b)]
  const value = operation(left.value, right.value)
  // 1 - (1 - left) - (1 - right), rounded, because 0.95 is not exact.
  const confidence = Math.max(0, Number((left.confidence + right.confidence - 1).toFixed(12)))
  const interval = left.interval && right.interval && endsOf(left.interval, right.interval)
  if (interval === undefined) return printable({ value, halfWidth: null, confidence })
  const halfWidth = Math.max(interval.upper - value, value - interval.lower)
  return printable({ value, halfWidth, confidence, interval })
}

/** Returns an operand with an interval, unless it has no bound. */
function read(operand: Operand): Omit<Estimate<number>, 'unit'> {
  if (typeof operand === 'number') return read({ value: operand, halfWidth: 0, confidence: 1 })
  const { value, halfWidth, unit, interval } = operand
  // Only the half-width of a number that is no quantile is in the unit of its value.
  if (unit !== undefined || typeof value !== 'number')
    throw new TypeError('quantiles and times cannot be computed with')
  if (interval !== undefined || halfWidth === null) return operand as Estimate<number>
  return {
    ...operand,
    value,
    interval: { lower: value - halfWidth, upper: value + halfWidth },
  } as Estimate<number>
}

function subtractedEnds(a: Ends, b: Ends): Ends {
  return { lower: a.lower - b.upper, upper: a.upper - b.lower }
}

function dividedEnds(a: Ends, b: Ends): Ends | undefined {
  if (b.lower <= 0 && b.upper >= 0) return undefined
  const quotients = [a.lower, a.upper].flatMap((end) => [end / b.lower, end / b.upper])
  return { lower: Math.min(...quotients), upper: Math.max(...quotients) }
}
