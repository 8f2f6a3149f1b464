import type { Column, NumericColumn } from '../../catalog/dataset.ts'
import { quoteIdentifier } from '../dialect.ts'

/**
 * The statements that turn a source's values into stored values. They use total functions only: every value of a file
 * is either stored or invalid, and no value makes a statement fail.
 *
 * | type | valid values | stored value |
 * |---|---|---|
 * | number | a decimal literal, or an infinity (which is clamped) | BIGINT: floor(x / step + 1/2) within the bounds |
 * | integer | a decimal literal with a whole value, such as `42`, `42.0` and `4.2e1`, or an infinity | the same |
 * | boolean | true, t, yes, y, 1, false, f, no, n, 0 in any case | BOOLEAN |
 * | category | exactly a declared category | INTEGER: its index in the declared list |
 * | string | any text | VARCHAR |
 *
 * Every value is read as text, regardless of its type in the file. DuckDB writes integers and decimals in full, and
 * floating point numbers as the shortest decimal that reads back as the same number. White space around numbers and
 * booleans is dropped. DuckDB's own casts from text are not used: they also accept `0x10` and `1_000`, and round.
 */
export interface IngestStatements {
  /** Creates the temporary table `staged`: the values to store, and for each value whether it is invalid. */
  readonly stage: string
  /** Selects one row: the number of rows, then for each column whether it has a value for which the source is refused. */
  readonly inspect: string
  /** Creates the table that queries read. */
  readonly store: string
}

/** The fractional digits of a tick, to which literals are cut: enough to distinguish both sides of every half step. */
const TICK_FRACTION_DIGITS = 10
const TICKS_PER_NANO = 10n

/** The largest number of ticks. HUGEINT holds a little more, which doubling and one more step need. */
const LARGEST_TICKS = 10n ** 37n

const INDEX_TYPES = {
  integer: 'BIGINT',
  number: 'BIGINT',
  boolean: 'BOOLEAN',
  category: 'INTEGER',
  string: 'VARCHAR',
}

/** True if the arithmetic on a column's range in ticks is exact. */
export function rangeIsComputable(column: NumericColumn): boolean {
  const ticksPerStep = column.stepNano * TICKS_PER_NANO
  const largest = [column.lowerIndex, column.upperIndex].map((index) => (index < 0n ? -index : index))
  return largest.every((magnitude) => (magnitude + 1n) * ticksPerStep * 2n <= LARGEST_TICKS)
}

/**
 * Prints the statements that ingest columns.
 *
 * @param source a relation to select from, such as `read_csv(...)`
 * @param sourceColumns the relation's name for each column
 */
export function printIngest(
  columns: readonly Column[],
  source: string,
  sourceColumns: readonly string[],
  table: string,
): IngestStatements {
  const each = (print: (column: Column, index: number) => readonly string[]): string =>
    columns.flatMap(print).join(',\n    ')

  const stage = `CREATE TEMPORARY TABLE staged AS
  WITH source AS (
    SELECT
    ${each((_, i) => [`TRY_CAST(${quoteIdentifier(sourceColumns[i] ?? '')} AS VARCHAR) AS text${i}`])}
    FROM ${source}
  ), trimmed AS (
    SELECT
    ${each((column, i) => [
      column.type === 'string' || column.type === 'category'
        ? `text${i}`
        : `trim(text${i}, ' ' || chr(9) || chr(10) || chr(13)) AS text${i}`,
    ])}
    FROM source
  ), literals AS (
    SELECT *,
    ${each((column, i) => (isNumeric(column) ? printLiteral(i) : []))}
    FROM trimmed
  ), scaled AS (
    SELECT *,
    ${each((column, i) => (isNumeric(column) ? printScaled(i) : []))}
    FROM literals
  ), ticked AS (
    SELECT *,
    ${each((column, i) => (isNumeric(column) ? printTicks(column, i) : []))}
    FROM scaled
  ), encoded AS (
    SELECT
    ${each((column, i) => [`text${i}`, `${printStored(column, i)} AS stored${i}`])}
    FROM ticked
  )
  SELECT
    ${each((column, i) => [
      `stored${i}`,
      `text${i} IS ${column.nullable ? 'NOT NULL AND' : 'NULL OR'} stored${i} IS NULL AS invalidValue${i}`,
    ])}
  FROM encoded`

  const inspect = `SELECT count(*)::VARCHAR,
    ${each((column, i) => [column.invalidValue.kind === 'refuse' ? `coalesce(bool_or(invalidValue${i}), false)` : 'false'])}
  FROM staged`

  const store = `CREATE TABLE ${quoteIdentifier(table)} AS SELECT
    ${each((column, i) => [`${printKept(column, i)} AS ${quoteIdentifier(column.name)}`])}
  FROM staged`

  return { stage, inspect, store }
}

function isNumeric(column: Column): column is NumericColumn {
  return column.type === 'integer' || column.type === 'number'
}

/** Takes a literal apart: +-(digits of whole and fraction) * 10^power. NULL for a text that is no literal. */
function printLiteral(i: number): readonly string[] {
  return [
    `CASE WHEN regexp_full_match(text${i}, '[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?')
      THEN regexp_extract(text${i}, '^[+-]?([0-9]*)\\.?([0-9]*)([eE]([+-]?[0-9]+))?$', ['whole', 'fraction', 'tail', 'exponent'])
    END AS literal${i}`,
    `starts_with(text${i}, '-') AS negative${i}`,
    `coalesce(regexp_full_match(text${i}, '[+-]?inf(inity)?', 'i'), false) AS infinite${i}`,
  ]
}

function printScaled(i: number): readonly string[] {
  return [
    `ltrim(literal${i}.whole || literal${i}.fraction, '0') AS digits${i}`,
    // An exponent beyond 64 bits is replaced by one beyond the length of every field, which has the same effect.
    `CASE
      WHEN literal${i}.exponent = '' THEN 0
      ELSE least(greatest(coalesce(
        TRY_CAST(literal${i}.exponent AS BIGINT),
        CASE WHEN starts_with(literal${i}.exponent, '-') THEN -1000000000000 ELSE 1000000000000 END
      ), -1000000000000), 1000000000000)
    END - length(literal${i}.fraction) AS power${i}`,
  ]
}

function printTicks(column: NumericColumn, i: number): readonly string[] {
  const shift = `(power${i} + ${TICK_FRACTION_DIGITS})`
  const trailingZeros = `(length(digits${i}) - length(rtrim(digits${i}, '0')))`
  return [
    // NULL for a magnitude beyond HUGEINT, and so beyond the bounds.
    `TRY_CAST(CASE
      WHEN digits${i} = '' THEN '0'
      WHEN ${shift} > 38 THEN NULL
      WHEN ${shift} >= 0 THEN digits${i} || repeat('0', least(${shift}, 38))
      WHEN length(digits${i}) + ${shift} <= 0 THEN '0'
      ELSE left(digits${i}, length(digits${i}) + ${shift})
    END AS HUGEINT) AS ticks${i}`,
    `digits${i} <> '' AND ${shift} + ${trailingZeros} < 0 AS cut${i}`,
    column.type === 'integer'
      ? `infinite${i} OR (literal${i} IS NOT NULL AND (digits${i} = '' OR power${i} + ${trailingZeros} >= 0)) AS fits${i}`
      : `infinite${i} OR literal${i} IS NOT NULL AS fits${i}`,
  ]
}

/** Prints the value to store; NULL for an invalid one. */
function printStored(column: Column, i: number): string {
  switch (column.type) {
    case 'integer':
    case 'number': {
      const step = column.stepNano * TICKS_PER_NANO
      const lower = column.lowerIndex * step
      const upper = column.upperIndex * step
      const bound = `CASE WHEN negative${i} THEN ${huge(lower)} ELSE ${huge(upper)} END`
      // Cutting digits off rounds towards zero; for negative numbers the floor is one less.
      const floor = `CASE WHEN NOT negative${i} THEN ticks${i} WHEN cut${i} THEN -ticks${i} - 1 ELSE -ticks${i} END`
      const clamped = `CASE
        WHEN infinite${i} OR ticks${i} IS NULL THEN ${bound}
        ELSE least(greatest(${floor}, ${huge(lower)}), ${huge(upper)})
      END`
      // Counted from the lower bound, no number is negative, so that integer division is the floor.
      const steps = `(2 * (${clamped} - ${huge(lower)}) + ${huge(step)}) // ${huge(2n * step)}`
      return `CASE WHEN fits${i} THEN CAST(${huge(column.lowerIndex)} + ${steps} AS BIGINT) END`
    }
    case 'boolean':
      return `CASE
        WHEN lower(text${i}) IN ('true', 't', 'yes', 'y', '1') THEN true
        WHEN lower(text${i}) IN ('false', 'f', 'no', 'n', '0') THEN false
      END`
    case 'category':
      return `CAST(list_position($category${i}, text${i}) - 1 AS INTEGER)`
    case 'string':
      return `text${i}`
  }
}

function printKept(column: Column, i: number): string {
  switch (column.invalidValue.kind) {
    case 'null':
    case 'refuse':
      // An invalid value is NULL; a source with a refused one is not stored.
      return `stored${i}`
    case 'replace':
      return `CASE WHEN invalidValue${i} THEN CAST($replacement${i} AS ${INDEX_TYPES[column.type]}) ELSE stored${i} END`
  }
}

function huge(value: bigint): string {
  return `${value}::HUGEINT`
}
