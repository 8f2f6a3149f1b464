import { INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import type { CategoryColumn } from '../../../catalog/dataset.ts'
import { type Encoding, type SourceColumn, textOf } from './encoding.ts'

/** Stores exactly a declared category as INTEGER: its index in the declared list. */
export function encodeCategory({ categories }: CategoryColumn, source: SourceColumn): Encoding {
  const name = `categories${source.position}`
  return {
    layers: [],
    stored: `CAST(list_position($${name}, ${textOf(source)}) - 1 AS INTEGER)`,
    storedType: INTEGER,
    parameters: { [name]: { value: listValue(categories), type: LIST(VARCHAR) } },
  }
}
