import type { NumericColumn } from '../../../core/dataset/dataset.ts'
import { gridOf, LARGEST_EXACT_INTEGER, ONE_NANO } from '../../grid.ts'
import { type Encoding, indexOf, numberTextOf, type SourceColumn, within } from './source.ts'

/** Steps beyond the bounds at which a double is held: more than doubles round, so that it is clamped as an integer. */
const MARGIN = 8n

/** Types whose values become doubles without a text. A double is its own nearest double, as is an integer below 2^53. */
const CAST_TYPES = /^(DOUBLE|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)$/

/**
 * Stores numbers as BIGINT: floor(x / step + 1/2) within the bounds, where x is the double nearest to the value. A valid
 * value is a decimal literal or an infinity (which is clamped), with white space around it; in an `integer` column x is
 * whole, as in `42`, `42.0` and `4.2e1`.
 *
 * With n = floor(x / step), the index is n + 1 if x is at least the half step h = (n + 1/2) step, otherwise n. One division
 * of exact integers computes the double nearest to h, and rounding is monotone. A value of more than 15 digits that is as
 * good as h may therefore be taken for h; every other value has its exact index.
 */
export function encodeNumber(column: NumericColumn, source: SourceColumn): Encoding {
  const i = source.position
  const { numerator, denominator } = gridOf(column, MARGIN)
  const [step, edge] = [
    double(numerator, denominator),
    (index: bigint) => double(index * numerator, denominator),
  ]
  const isWhole = column.type === 'integer' ? ` AND floor(number${i}) = number${i}` : ''
  const near = `least(greatest(number${i}, ${edge(column.lowerIndex - MARGIN)}), ${edge(column.upperIndex + MARGIN)})`
  const layers = [
    { [`number${i}`]: doubleOf(source) },
    { [`near${i}`]: `CASE WHEN NOT isnan(number${i})${isWhole} THEN ${near} END` },
  ]
  if (!doublesSuffice(column)) return encodeWide(column, source, layers)
  const half = `(2 * floor${i} + 1) * ${double(numerator, 1n)} / ${double(2n * denominator, 1n)}`
  const index = `CAST(floor${i} AS BIGINT) + CASE WHEN near${i} >= ${half} THEN 1 ELSE 0 END`
  return {
    layers: [...layers, { [`floor${i}`]: `floor(near${i} / ${step})` }, { [`index${i}`]: index }],
    stored: within(`index${i}`, column.lowerIndex, column.upperIndex),
  }
}

/** The double nearest to a value; NULL for a text that is no number. */
function doubleOf(source: SourceColumn): string {
  if (CAST_TYPES.test(source.type)) return `TRY_CAST(${source.name} AS DOUBLE)`
  const text = numberTextOf(source)
  // DuckDB would read `1_000` and `+-1` as well.
  return `CASE WHEN NOT contains(${text}, '_') AND NOT contains(${text}, '+-') THEN TRY_CAST(${text} AS DOUBLE) END`
}

/** True if doubles distinguish the half steps of a column: then the operands of {@link encodeNumber} are exact. */
export function doublesSuffice(column: NumericColumn): boolean {
  const { numerator, largest } = gridOf(column, MARGIN + 1n)
  return (2n * largest + 1n) * numerator < LARGEST_EXACT_INTEGER && largest < 2n ** 49n
}

/**
 * Digits of the decimals in a column of more steps. Sums of twice two of them, without their points, stay within 128
 * bits.
 */
const DECIMAL_DIGITS = 36

/**
 * Reads a value in a column of more steps as a decimal. DuckDB reads no infinity, no number far beyond the bounds and not
 * every literal with an exponent as one; such a value is the shortest decimal of its double.
 */
function encodeWide(column: NumericColumn, source: SourceColumn, layers: Encoding['layers']): Encoding {
  const i = source.position
  const { numerator, denominator, largest } = gridOf(column, MARGIN + 1n)
  const scale = DECIMAL_DIGITS - `${(largest * numerator) / denominator}`.length
  const type = `DECIMAL(38, ${scale})`
  // The floor of the least decimal would have one digit too many, which is an error.
  const misfit = column.type === 'integer' ? ` OR trunc(decimal${i}) <> decimal${i}` : ''
  return {
    layers: [
      ...layers,
      { [`decimal${i}`]: `TRY_CAST(${numberTextOf(source)} AS ${type})` },
      {
        [`exact${i}`]: `CASE WHEN near${i} IS NULL${misfit} THEN NULL ELSE coalesce(decimal${i}, TRY_CAST(CAST(near${i} AS VARCHAR) AS ${type})) END`,
      },
      // A decimal without its point.
      { [`ticks${i}`]: `TRY_CAST(replace(CAST(exact${i} AS VARCHAR), '.', '') AS HUGEINT)` },
    ],
    stored: indexOf(column, `ticks${i}`, (column.stepNano * 10n ** BigInt(scale)) / ONE_NANO),
  }
}

/** A quotient as a double. A literal with a decimal point would be a DECIMAL. */
function double(numerator: bigint, denominator: bigint): string {
  return `CAST('${Number(numerator) / Number(denominator)}' AS DOUBLE)`
}
