import type { CategoryColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import type { SourceType } from '../../tables/encoder.ts'
import { textLiteral } from './literals.ts'

/** The value as a text that is compared byte by byte. The conversion removes the padding of `char(n)`. */
export function textOf(sql: string): string {
  return `(${sql}::text COLLATE "C")`
}

/** Prints the index of the category that a text equals; NULL for any other text. */
export function encodeCategory(
  categories: CategoryColumn['categories'],
  sql: string,
  type: SourceType,
): string {
  const { text, literal, canOccur } = comparedAs(sql, type)
  const sorted = categories
    .map((category, index) => ({ category, index, bytes: Buffer.from(category) }))
    .filter(({ category }) => canOccur(category))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ category, index }) => ({ literal: literal(category), index }))
  return printSearch(text, sorted)
}

/** Prints a condition for the values that are exactly one of some texts. */
export function among(texts: readonly string[], sql: string, type: SourceType): string {
  const { text, literal, canOccur } = comparedAs(sql, type)
  const literals = texts.filter(canOccur).map(literal)
  return literals.length === 0 ? 'FALSE' : `${text} IN (${literals.join(', ')})`
}

/**
 * The value to compare with literals, and those that a value of the type can be. Comparisons of char(n) ignore the padding, so
 * that it need not be removed for each.
 */
function comparedAs(sql: string, type: SourceType) {
  const isPadded = type.kind === 'text' && type.isPadded === true
  return {
    text: isPadded ? `(${sql} COLLATE "C")` : textOf(sql),
    literal: (text: string) => textLiteral(text, isPadded ? 'bpchar' : 'text'),
    canOccur: (text: string) => !text.includes('\0') && !(isPadded && text.endsWith(' ')),
  }
}

interface Indexed {
  readonly literal: string
  readonly index: number
}

/** Largest number of categories that are compared one by one. More are found by binary search. */
const MOST_COMPARED = 6

function printSearch(text: string, sorted: readonly Indexed[]): string {
  if (sorted.length <= MOST_COMPARED) {
    const cases = sorted.map(({ literal, index }) => `WHEN ${text} = ${literal} THEN ${index}`)
    return cases.length === 0 ? 'NULL::int4' : `CASE ${cases.join(' ')} END`
  }
  const half = sorted.length >> 1
  const [below, above] = [sorted.slice(0, half), sorted.slice(half)]
  const { literal } = must(above[0], 'the upper half of a search')
  return `CASE WHEN ${text} < ${literal} THEN ${printSearch(text, below)} ELSE ${printSearch(text, above)} END`
}
