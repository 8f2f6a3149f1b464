import type { CategoryColumn } from '../../../core/dataset/dataset.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { FALSE_WORDS, SEPARATORS, TRUE_WORDS } from '../../text-values.ts'
import { text as textLiteral } from './literals.ts'
import type { SourceType } from './source.ts'

/** The value as a text; `undefined` for types whose values are not the same texts in every engine. */
function textOf(sql: string, { kind }: SourceType): string | undefined {
  switch (kind) {
    case 'text':
    case 'uuid':
    case 'integer':
    case 'boolean':
      return `CAST(${sql} AS VARCHAR)`
    case 'char':
      // The conversion pads the text.
      return `trim(TRAILING ' ' FROM CAST(${sql} AS VARCHAR))`
    default:
      return undefined
  }
}

/** Encodes texts unchanged. */
export function encodeText(sql: string, type: SourceType): EncodedValue | undefined {
  const text = textOf(sql, type)
  return text === undefined ? undefined : { stored: text, misfit: 'none' }
}

const WHITE_SPACE = textLiteral(' \t\n\r')

/** Encodes booleans, 0 and 1, and the spellings that ingestion accepts. */
export function encodeBoolean(sql: string, type: SourceType): EncodedValue | undefined {
  if (type.kind === 'boolean') return { stored: sql, misfit: 'none' }
  if (type.kind === 'integer') return { stored: `CASE ${sql} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END` }
  const text = type.kind === 'uuid' ? undefined : textOf(sql, type)
  if (text === undefined) return undefined
  const word = `lower(trim(BOTH ${WHITE_SPACE} FROM ${text}))`
  const list = (words: readonly string[]) => words.map((each) => `'${each}'`).join(', ')
  return {
    stored: `CASE WHEN ${word} IN (${list(TRUE_WORDS)}) THEN TRUE WHEN ${word} IN (${list(FALSE_WORDS)}) THEN FALSE END`,
  }
}

/** Largest number of categories that are compared one by one. More are looked up in a map. */
const MOST_COMPARED = 16

/** Encodes a text as the index of the declared category that equals it. */
export function encodeCategory(
  { categories }: CategoryColumn,
  sql: string,
  type: SourceType,
): EncodedValue | undefined {
  const text = textOf(sql, type)
  if (text === undefined) return undefined
  const condition = compareText(sql, type, categories)
  if (condition !== undefined) {
    const cases = categories.map((category, index) => `WHEN ${textLiteral(category)} THEN ${index}`)
    const stored = `CASE ${text} ${cases.join(' ')} END`
    return { stored, fitting: { condition, stored } }
  }
  // One constant, which is faster to plan than one for each category.
  const indexes = JSON.stringify(Object.fromEntries(categories.map((category, index) => [category, index])))
  return { stored: `element_at(CAST(json_parse(${textLiteral(indexes)}) AS MAP(VARCHAR, INTEGER)), ${text})` }
}

/**
 * Prints a condition for the values that are exactly one of some texts; `undefined` if there are many, or the type has no
 * texts.
 */
export function compareText(sql: string, type: SourceType, texts: readonly string[]): string | undefined {
  const text = textOf(sql, type)
  if (text === undefined || texts.length > MOST_COMPARED) return undefined
  if (texts.length === 0) return 'FALSE'
  return `${text} IN (${texts.map((each) => textLiteral(each)).join(', ')})`
}

const SPACES = textLiteral(SEPARATORS)

/** Encodes an identifier as its exact text, and as NULL if the text has only white space. */
export function encodeIdentifier(sql: string, type: SourceType): EncodedValue | undefined {
  switch (type.kind) {
    case 'integer':
    case 'uuid':
      return { stored: `CAST(${sql} AS VARCHAR)`, misfit: 'none' }
    case 'decimal':
      return type.scale === 0 ? { stored: `CAST(${sql} AS VARCHAR)`, misfit: 'none' } : undefined
    case 'text':
    case 'char': {
      const text = textOf(sql, type)
      if (text === undefined) return undefined
      const isPresent = `(${text} >= '!' AND ${text} < ${textLiteral('\x7f')}) OR trim(BOTH ${SPACES} FROM ${text}) <> ''`
      return {
        stored: `CASE WHEN ${isPresent} THEN ${text} END`,
        fitting: { condition: isPresent, stored: text },
      }
    }
    case 'boolean':
    case 'float':
    case 'date':
    case 'timestamp':
    case 'timestamptz':
      return undefined
  }
}
