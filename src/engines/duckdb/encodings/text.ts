import { VARCHAR } from '@duckdb/node-api'
import { type Encoding, type SourceColumn, textOf } from './encoding.ts'

/** Stores any text as it is. */
export function encodeText(source: SourceColumn): Encoding {
  return { layers: [], stored: textOf(source), storedType: VARCHAR }
}
