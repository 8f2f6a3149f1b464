import { INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import type { CategoryColumn } from '../../../catalog/dataset.ts'
import { type Encoding, type SourceColumn, textOf } from './encoding.ts'

/** Stores exactly a declared category as INTEGER: its index in the declared list. */
export function encodeCategory({ categories }: CategoryColumn, source: SourceColumn): Encoding {
  // DuckDB finds a text in an ENUM through a hash table.
  const type = `category${source.position}`
  return {
    layers: [],
    stored: `CAST(enum_code(TRY_CAST(${textOf(source)} AS ${type})) AS INTEGER)`,
    storedType: INTEGER,
    preparation: {
      sql: `CREATE TEMP TYPE ${type} AS ENUM (SELECT unnest($categories))`,
      parameters: { categories: { value: listValue(categories), type: LIST(VARCHAR) } },
    },
  }
}
