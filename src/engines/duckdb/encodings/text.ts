import { LIST, listValue, VARCHAR } from '@duckdb/node-api'
import type { CategoryColumn } from '../../../core/dataset/dataset.ts'
import { FALSE_WORDS, TRUE_WORDS } from '../../text-values.ts'
import { type Encoding, type SourceColumn, textOf, trimmed } from './source.ts'

/** Stores any text as it is. */
export function encodeText(source: SourceColumn): Encoding {
  return { layers: [], stored: textOf(source) }
}

/** Stores true, t, yes, y, 1, false, f, no, n and 0 in any case, with white space around them, as BOOLEAN. */
export function encodeBoolean(source: SourceColumn): Encoding {
  if (source.type === 'BOOLEAN') return { layers: [], stored: source.name }
  const text = `text${source.position}`
  const list = (words: readonly string[]) => words.map((word) => `'${word}'`).join(', ')
  return {
    layers: [{ [text]: `lower(${trimmed(textOf(source))})` }],
    stored: `CASE WHEN ${text} IN (${list(TRUE_WORDS)}) THEN true WHEN ${text} IN (${list(FALSE_WORDS)}) THEN false END`,
  }
}

/** Stores exactly a declared category as INTEGER: its index in the declared list. */
export function encodeCategory({ categories }: CategoryColumn, source: SourceColumn): Encoding {
  // DuckDB finds a text in an ENUM through a hash table.
  const type = `category${source.position}`
  return {
    layers: [],
    stored: `CAST(enum_code(TRY_CAST(${textOf(source)} AS ${type})) AS INTEGER)`,
    preparation: {
      sql: `CREATE TEMP TYPE ${type} AS ENUM (SELECT unnest($categories))`,
      parameters: { categories: { value: listValue(categories), type: LIST(VARCHAR) } },
    },
  }
}

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
  }
}
