import { VARCHAR } from '@duckdb/node-api'
import { type Encoding, type SourceColumn, textOf } from './encoding.ts'

/** Types of a source's column that can hold identifiers: texts, and integers in full. */
const IDENTIFIER_TYPES = /^(VARCHAR|UUID|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,0\))$/

/** True if values of a type can identify people. */
export function canIdentify(type: string): boolean {
  return IDENTIFIER_TYPES.test(type)
}

/**
 * The identifier as its exact text; NULL if it is missing. A text without a character other than white space is
 * missing.
 */
export function encodeIdentifier(source: SourceColumn): Encoding {
  const text = `text${source.position}`
  // Most identifiers begin with a printable ASCII character, which needs no search.
  const isPresent = `(${text} >= '!' AND ${text} < chr(127)) OR regexp_matches(${text}, '[^\\s\\x0b\\x85\\p{Z}]')`
  return {
    layers: [{ [text]: textOf(source) }],
    stored: `CASE WHEN ${isPresent} THEN ${text} END`,
    storedType: VARCHAR,
  }
}
