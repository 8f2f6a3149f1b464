import type { CategoryColumn } from '../../../core/dataset/dataset.ts'
import type { Source } from '../../tables/comparisons.ts'
import type { EncodedValue } from '../../tables/table-dialect.ts'
import { FALSE_WORDS, SEPARATORS, TRUE_WORDS } from '../../text-values.ts'
import { quoteLiteral, textLiteral } from './literals.ts'
import type { SourceType } from './source.ts'

/** Kinds of types whose values are the same texts in every engine. */
const TEXT_KINDS: readonly SourceType['kind'][] = ['text', 'enum', 'uuid', 'integer', 'boolean']

/** The value as a text that is compared byte by byte. The conversion removes the padding of `char(n)`. */
function textOf({ sql }: Source): string {
  return `(${sql}::text COLLATE "C")`
}

/** Encodes texts unchanged. */
export function encodeText(source: Source, { kind }: SourceType): EncodedValue | undefined {
  return TEXT_KINDS.includes(kind) ? { stored: textOf(source), misfit: 'none' } : undefined
}

const WHITE_SPACE = "E' \\t\\n\\r'"

/** Encodes booleans, 0 and 1, and the spellings that ingestion accepts. */
export function encodeBoolean(source: Source, { kind }: SourceType): EncodedValue | undefined {
  const { sql } = source
  if (kind === 'boolean') return { stored: sql, misfit: 'none' }
  if (kind === 'integer')
    return { stored: `CASE ${sql} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END`, misfit: `${sql} NOT IN (0, 1)` }
  if (kind !== 'text' && kind !== 'enum') return undefined
  const word = `lower(btrim(${textOf(source)}, ${WHITE_SPACE}))`
  const list = (words: readonly string[]) => words.map((word) => textLiteral(word)).join(', ')
  return {
    stored: `CASE WHEN ${word} IN (${list(TRUE_WORDS)}) THEN TRUE WHEN ${word} IN (${list(FALSE_WORDS)}) THEN FALSE END`,
    misfit: `${word} NOT IN (${list([...TRUE_WORDS, ...FALSE_WORDS])})`,
  }
}

/** Encodes a text as the index of the declared category that equals it. */
export function encodeCategory(
  { categories }: CategoryColumn,
  source: Source,
  { kind, isPadded = false }: SourceType & { readonly isPadded?: boolean },
): EncodedValue | undefined {
  if (!TEXT_KINDS.includes(kind)) return undefined
  const sorted = categories
    .map((text, index) => ({ text, index, bytes: Buffer.from(text) }))
    .filter(({ text }) => canOccur(text, isPadded))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  const stored = printSearch(comparedText(source, isPadded), sorted, isPadded ? 'bpchar' : 'text')
  const texts = sorted.map(({ text }) => text)
  return { stored, fitting: { condition: printMembership(source, isPadded, texts), stored } }
}

/** Prints a condition for the values that are exactly one of some texts; `undefined` if the type has no texts. */
export function compareText(
  source: Source,
  { kind, isPadded = false }: SourceType & { readonly isPadded?: boolean },
  texts: readonly string[],
): string | undefined {
  return TEXT_KINDS.includes(kind)
    ? printMembership(
        source,
        isPadded,
        texts.filter((text) => canOccur(text, isPadded)),
      )
    : undefined
}

function printMembership(source: Source, isPadded: boolean, texts: readonly string[]): string {
  if (texts.length === 0) return 'FALSE'
  const literals = texts.map((text) => textLiteral(text, isPadded ? 'bpchar' : 'text'))
  return `${comparedText(source, isPadded)} IN (${literals.join(', ')})`
}

/** True for a text that a value of the type can be. */
function canOccur(text: string, isPadded: boolean): boolean {
  return !text.includes('\0') && !(isPadded && text.endsWith(' '))
}

/** The value to compare. Comparisons of char(n) ignore the padding, so that it need not be removed for each. */
function comparedText(source: Source, isPadded: boolean): string {
  return isPadded ? `(${source.sql} COLLATE "C")` : textOf(source)
}

interface Indexed {
  readonly text: string
  readonly index: number
}

/** Largest number of categories that are compared one by one. More are found by binary search. */
const MOST_COMPARED = 6

function printSearch(text: string, sorted: readonly Indexed[], type: 'text' | 'bpchar'): string {
  if (sorted.length <= MOST_COMPARED) {
    const cases = sorted.map((each) => `WHEN ${text} = ${textLiteral(each.text, type)} THEN ${each.index}`)
    return cases.length === 0 ? 'NULL::int4' : `CASE ${cases.join(' ')} END`
  }
  const half = sorted.length >> 1
  const [below, above] = [sorted.slice(0, half), sorted.slice(half)]
  const [middle] = above
  if (middle === undefined) throw new RangeError('a search has two halves')
  return `CASE WHEN ${text} < ${textLiteral(middle.text, type)} THEN ${printSearch(text, below, type)} ELSE ${printSearch(text, above, type)} END`
}

const SPACES = quoteLiteral(SEPARATORS)

/** Encodes an identifier as its exact text, and as NULL if the text has only white space. */
export function encodeIdentifier(source: Source, type: SourceType): EncodedValue | undefined {
  const text = textOf(source)
  switch (type.kind) {
    case 'integer':
    case 'uuid':
      return { stored: text, misfit: 'none' }
    case 'numeric':
      // NaN is no identifier.
      return type.scale === 0 ? identifierWhere(`${source.sql} <> 'NaN'::numeric`, text) : undefined
    case 'text': {
      const isPresent = `(${text} >= '!' AND ${text} < E'\\x7f') OR btrim(${text}, ${SPACES}) <> ''`
      return identifierWhere(isPresent, text)
    }
    case 'boolean':
    case 'enum':
    case 'float':
    case 'date':
    case 'timestamp':
    case 'timestamptz':
      return undefined
  }
}

function identifierWhere(condition: string, text: string): EncodedValue {
  return { stored: `CASE WHEN ${condition} THEN ${text} END`, fitting: { condition, stored: text } }
}
