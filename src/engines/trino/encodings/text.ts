import type { CategoryColumn } from '../../../core/dataset/dataset.ts'
import type { SourceType } from '../../tables/encoder.ts'
import { text as textLiteral } from './literals.ts'

/** The value as a text. The conversion pads that of `char(n)`. */
export function textOf(sql: string, type: SourceType): string {
  const text = `CAST(${sql} AS VARCHAR)`
  return type.kind === 'text' && type.isPadded ? `trim(TRAILING ' ' FROM ${text})` : text
}

/** Largest number of categories that are compared one by one. More are looked up in a map. */
const MOST_COMPARED = 16

/** Prints the index of the category that a text equals; NULL for any other text. */
export function encodeCategory(
  categories: CategoryColumn['categories'],
  sql: string,
  type: SourceType,
): string {
  const text = textOf(sql, type)
  if (categories.length <= MOST_COMPARED) {
    const cases = categories.map((category, index) => `WHEN ${textLiteral(category)} THEN ${index}`)
    return `CASE ${text} ${cases.join(' ')} END`
  }
  // One constant, which is faster to plan than one for each category.
  const indexes = JSON.stringify(Object.fromEntries(categories.map((category, index) => [category, index])))
  return `element_at(CAST(json_parse(${textLiteral(indexes)}) AS MAP(VARCHAR, INTEGER)), ${text})`
}

/** Prints a condition for the values that are exactly one of some texts; `undefined` if there are many. */
export function among(texts: readonly string[], sql: string, type: SourceType): string | undefined {
  if (texts.length > MOST_COMPARED) return undefined
  if (texts.length === 0) return 'FALSE'
  return `${textOf(sql, type)} IN (${texts.map(textLiteral).join(', ')})`
}
