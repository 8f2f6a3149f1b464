import { BOOLEAN } from '@duckdb/node-api'
import { type Encoding, type SourceColumn, textOf, trimmed } from './encoding.ts'

/** Stores true, t, yes, y, 1, false, f, no, n and 0 in any case, with white space around them, as BOOLEAN. */
export function encodeBoolean(source: SourceColumn): Encoding {
  const text = `text${source.position}`
  return {
    layers: [{ [text]: `lower(${trimmed(textOf(source))})` }],
    stored: `CASE
        WHEN ${text} IN ('true', 't', 'yes', 'y', '1') THEN true
        WHEN ${text} IN ('false', 'f', 'no', 'n', '0') THEN false
      END`,
    storedType: BOOLEAN,
  }
}
