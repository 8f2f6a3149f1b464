import { decimalFromNumber, numberFromDecimal } from '../../privacy/decimal.ts'
import type { GridColumn } from './dataset.ts'
import { dateText, instantText, parseDate, parseInstant } from './iso-time.ts'

/*
 * Values of grid columns as requests and answers show them: numbers as JSON numbers, dates and timestamps as ISO 8601
 * texts. A value is exact in 1e-9 of the column's unit: 1 for numbers, one day for dates, one second for timestamps.
 */

/** A value of a grid column as it is shown. */
export type GridValue = number | string

/** Number of decimal digits of a value in its unit. */
const FRACTION_DIGITS = 9
/** One unit of a column, in 1e-9 of it. */
export const ONE_NANO = 10n ** BigInt(FRACTION_DIGITS)

/** A value in 1e-9 of the unit, or the rule that it breaks. */
export type ParsedGridValue = { readonly nano: bigint } | { readonly rule: string }

/** Parses a value of a grid column of this type. */
export function parseGridValue(type: GridColumn['type'], value: unknown): ParsedGridValue {
  switch (type) {
    case 'integer':
    case 'number': {
      if (typeof value !== 'number') return { rule: 'must be a number' }
      const nano = decimalFromNumber(value, FRACTION_DIGITS)
      return nano === undefined ? { rule: 'must have at most 9 fractional digits' } : { nano }
    }
    case 'date': {
      const days = typeof value === 'string' ? parseDate(value) : undefined
      return days === undefined
        ? { rule: 'must be an existing date in ISO 8601, such as "2024-02-29"' }
        : { nano: days * ONE_NANO }
    }
    case 'timestamp': {
      const nano = typeof value === 'string' ? parseInstant(value) : undefined
      return nano === undefined
        ? { rule: 'must be an existing date or time in ISO 8601, such as "2024-02-29T13:30:00Z"' }
        : { nano }
    }
  }
}

/** Returns the value of a grid index. */
export function valueOfIndex(
  { type, stepNano }: Pick<GridColumn, 'type' | 'stepNano'>,
  index: bigint,
): GridValue {
  return shownValue(type, numberFromDecimal(index * stepNano, FRACTION_DIGITS))
}

/** Returns the value of a number in the column's unit. Dates and timestamps are rounded to a whole unit. */
export function shownValue(type: GridColumn['type'], units: number): GridValue {
  switch (type) {
    case 'integer':
    case 'number':
      return units
    case 'date':
      return dateText(BigInt(Math.round(units)))
    case 'timestamp':
      return instantText(BigInt(Math.round(units)))
  }
}

/** Writes a date or a time of a whole second in the form of {@link shownValue}. Other values are returned unchanged. */
export function normalValue(type: GridColumn['type'], value: GridValue): GridValue {
  const parsed = parseGridValue(type, value)
  if (typeof value === 'number' || !('nano' in parsed) || parsed.nano % ONE_NANO !== 0n) return value
  return shownValue(type, Number(parsed.nano / ONE_NANO))
}

/** Returns the number in the column's unit that a shown value stands for. */
export function unitsOfValue(value: GridValue): number {
  if (typeof value === 'number') return value
  const days = parseDate(value)
  const nano = days === undefined ? parseInstant(value) : days * ONE_NANO
  if (nano === undefined) throw new RangeError('a value is neither a number nor an ISO 8601 text')
  return numberFromDecimal(nano, FRACTION_DIGITS)
}
