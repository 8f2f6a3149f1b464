import { must } from '../../../privacy/must.ts'
import { type Refusal, refuseField } from '../../../privacy/refusal.ts'
import { type SourceColumn, type Statement, textOf } from '../encodings/source.ts'

/** Bounds on a source. A file of a few bytes can stand for more rows and longer texts than a disk can hold. */
export interface SourceBounds {
  /** Largest number of rows. */
  readonly maxRows: number
  /** Largest size of the source, and of what it decompresses to, in bytes. */
  readonly maxBytes: number
  /** Largest size of one value in a declared column, in bytes of UTF-8. */
  readonly maxValueBytes: number
}

/** Bounds for an ingestion that is given none. */
export const DEFAULT_BOUNDS: SourceBounds = {
  maxRows: 100_000_000,
  maxBytes: 16 * 2 ** 30,
  maxValueBytes: 65_536,
}

/** Largest size of a CSV record, in bytes of UTF-8. DuckDB reads lines of at most 2,000,000 bytes. */
const LARGEST_RECORD_BYTES = 1_999_000

/** Sizes of a column's values as text, in bytes of UTF-8. */
export interface ValueSizes {
  readonly longest: number
  readonly total: number
}

/** Bytes that a value of a type with a fixed size counts for, at least its stored size. */
const FIXED_BYTES = 8

/** DuckDB's types whose values have a fixed size, and so texts that are short. */
const FIXED_TYPES =
  /^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|UUID|DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?|TIME( WITH TIME ZONE|_NS)?|INTERVAL)$/

/** @throws Refusal `source-does-not-fit` for more rows than the bounds allow. */
export function requireRows(rows: number, { maxRows }: SourceBounds): void {
  if (rows > maxRows) throw refuseSource(`must have at most ${maxRows} rows (SOTTO_INGEST_MAX_ROWS)`)
}

/** @throws Refusal `source-does-not-fit` for a source that is, or decompresses to, more bytes than the bounds allow. */
export function requireBytes(bytes: number, { maxBytes }: SourceBounds): void {
  if (bytes > maxBytes)
    throw refuseSource(`must have at most ${maxBytes} bytes, decompressed (SOTTO_INGEST_MAX_BYTES)`)
}

/** @throws Refusal `source-does-not-fit` for a CSV record that is too long. An unterminated quote makes one. */
export function requireRecordBytes(bytes: number): void {
  if (bytes > LARGEST_RECORD_BYTES)
    throw refuseSource(`must not have a record of more than ${LARGEST_RECORD_BYTES} bytes`)
}

/** Refusal of an ingestion that needs more than its memory or its temporary space. */
export function refuseMemory(): Refusal {
  return refuseSource('needs more memory or temporary disk space than an ingestion may use')
}

/**
 * Prints a statement for the sizes of the columns whose types have no fixed size: one row of texts, the longest value
 * and the total of each. It reads the source once and keeps no value. Undefined if there are none.
 */
export function printValueSizes(source: Statement, columns: readonly SourceColumn[]): Statement | undefined {
  const measured = columns.filter(({ type }) => !FIXED_TYPES.test(type))
  if (measured.length === 0) return undefined
  const sizes = measured.flatMap((column) => {
    const bytes = `strlen(${textOf(column)})`
    return [`coalesce(max(${bytes}), 0)::VARCHAR`, `coalesce(sum(${bytes}), 0)::VARCHAR`]
  })
  return { sql: `SELECT ${sizes.join(', ')} FROM ${source.sql}`, parameters: source.parameters }
}

/** Reads the result of {@link printValueSizes}: the sizes of each column, estimated for types with a fixed size. */
export function readValueSizes(
  columns: readonly SourceColumn[],
  counts: readonly number[],
  rows: number,
): readonly ValueSizes[] {
  let next = 0
  return columns.map(({ type }) => {
    if (FIXED_TYPES.test(type)) return { longest: FIXED_BYTES, total: FIXED_BYTES * rows }
    next += 2
    return {
      longest: must(counts[next - 2], 'the longest value of a column'),
      total: must(counts[next - 1], 'the total of a column'),
    }
  })
}

/**
 * Requires that the values of columns are within the bounds.
 * @param sizes of each column
 * @param fieldOf the field that names the column at a position
 * @throws Refusal `source-does-not-fit`, naming the column of a value that is too long
 */
export function requireValueSizes(
  sizes: readonly ValueSizes[],
  bounds: SourceBounds,
  fieldOf: (position: number) => string,
): void {
  const tooLong = sizes.findIndex(({ longest }) => longest > bounds.maxValueBytes)
  if (tooLong !== -1) throw valueTooLong(fieldOf(tooLong), bounds)
  requireBytes(
    sizes.reduce((sum, { total }) => sum + total, 0),
    bounds,
  )
}

/** The field that names a declared column. */
export function fieldOfColumn(position: number): string {
  return `columns.${position}.name`
}

/** Refusal of a value that is too long, by the field that names its column. */
export function valueTooLong(field: string, { maxValueBytes }: SourceBounds): Refusal {
  const rule = `the source has a value of more than ${maxValueBytes} bytes (SOTTO_INGEST_MAX_VALUE_BYTES)`
  return refuseField('source-does-not-fit', field, rule)
}

function refuseSource(rule: string): Refusal {
  return refuseField('source-does-not-fit', 'source', rule)
}
