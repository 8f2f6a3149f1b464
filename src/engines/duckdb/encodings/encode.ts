import { BIGINT, BOOLEAN, type DuckDBType, INTEGER, VARCHAR } from '@duckdb/node-api'
import type { Column } from '../../../core/dataset/dataset.ts'
import { encodeNumber } from './numeric.ts'
import type { Encoding, SourceColumn } from './source.ts'
import { encodeDate, encodeTimestamp } from './temporal.ts'
import { encodeBoolean, encodeCategory, encodeIdentifier, encodeText } from './text.ts'

/** Prints how a source's values are stored in a column. */
export function encodeValue(column: Column, source: SourceColumn): Encoding {
  switch (column.type) {
    case 'integer':
    case 'number':
      return encodeNumber(column, source)
    case 'date':
      return encodeDate(column, source)
    case 'timestamp':
      return encodeTimestamp(column, source)
    case 'boolean':
      return encodeBoolean(source)
    case 'category':
      return encodeCategory(column, source)
    case 'string':
      return encodeText(source)
    case 'identifier':
      return encodeIdentifier(source)
  }
}

/** The type of a column's stored values. */
export function storedType({ type }: Column): DuckDBType {
  return STORED_TYPES[type]
}

const STORED_TYPES: Readonly<Record<Column['type'], DuckDBType>> = {
  integer: BIGINT,
  number: BIGINT,
  date: BIGINT,
  timestamp: BIGINT,
  category: INTEGER,
  boolean: BOOLEAN,
  string: VARCHAR,
  identifier: VARCHAR,
}

/**
 * Prints a query for the stored values of columns: `stored<i>` for the encoding at position i, beside all other names.
 * @param source a relation with the names of the sources of these encodings
 */
export function printEncoded(encodings: readonly Encoding[], source: string): string {
  const depth = Math.max(0, ...encodings.map(({ layers }) => layers.length))
  const layers = Array.from({ length: depth }, (_, level) =>
    encodings.flatMap(({ layers }) => {
      const layer = layers[level]
      return layer === undefined ? [] : Object.entries(layer).map(([name, sql]) => `${sql} AS ${name}`)
    }),
  )
  const layer = (level: number) => (level === 0 ? source : `layer${level}`)
  const named = layers.map(
    (expressions, level) =>
      `layer${level + 1} AS (SELECT ${['*', ...expressions].join(', ')} FROM ${layer(level)})`,
  )
  const stored = encodings.map((encoding, i) => `${encoding.stored} AS stored${i}`)
  const ctes = named.length === 0 ? '' : `WITH ${named.join(',\n  ')} `
  return `${ctes}SELECT ${['*', ...stored].join(', ')} FROM ${layer(depth)}`
}
