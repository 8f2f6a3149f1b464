import type {
  CategoryColumn,
  DateColumn,
  NumericColumn,
  TimestampColumn,
} from '../../core/dataset/dataset.ts'
import { FALSE_WORDS, SEPARATORS, TRUE_WORDS } from '../text-values.ts'
import type { Comparisons, Order, Source } from './comparisons.ts'
import type { EncodedValue, TableDialect } from './table-dialect.ts'

/**
 * A type of a database whose values can be stored. Domains, arrays, maps, ranges, rows, times, intervals and JSON are not
 * among them.
 */
export type SourceType =
  | { readonly kind: 'integer'; readonly bits: 8 | 16 | 32 | 64 }
  /** Without digits, a number of any size. */
  | { readonly kind: 'decimal'; readonly digits?: Digits }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  /** `isPadded` for char(n). */
  | { readonly kind: 'text'; readonly isPadded?: true }
  | { readonly kind: 'boolean' | 'enum' | 'uuid' | TemporalKind }

/** Number of digits of a decimal, and of those after its point. */
export interface Digits {
  readonly precision: number
  readonly scale: number
}

/** Kinds of types whose values state a date: dates, timestamps without time zone, and instants. */
export type TemporalKind = 'date' | 'timestamp' | 'timestamptz'

/** The rules of one database for values of its types, in total functions: no value makes an expression fail. */
export interface ValueRules {
  /** Reads the name of a type; `undefined` for one whose values cannot be stored. */
  typeOf(name: string): SourceType | undefined
  /**
   * Encodes numbers as floor(x / step + 1/2) within the bounds, where x is the value as a decimal: for floating point the shortest
   * decimal that reads back as the same number. Infinities are clamped. NaN does not fit, nor does a number that is not
   * whole in an `integer` column.
   */
  encodeNumber(column: NumericColumn, source: Source, type: SourceType): EncodedValue | undefined
  /**
   * Encodes dates as floor(days / step + 1/2) within the bounds, counted from 1970-01-01. A time of day is cut off: the date is
   * the one that a timestamp states, or that of an instant in UTC.
   */
  encodeDate(column: DateColumn, source: Source, kind: TemporalKind): string
  /**
   * Encodes instants as floor(seconds / step + 1/2) within the bounds, counted from 1970-01-01T00:00:00Z. Dates are midnight.
   * Dates and timestamps without time zone are in the declared time zone.
   */
  encodeTimestamp(column: TimestampColumn, source: Source, kind: TemporalKind): string
  /** Prints the index of the category that a text equals; NULL for any other text. */
  encodeCategory(categories: CategoryColumn['categories'], sql: string, type: SourceType): string
  /** Prints a condition for the values that are exactly one of some texts; `undefined` if it would be too long. */
  among(texts: readonly string[], sql: string, type: SourceType): string | undefined
  /** The value as a text that is compared byte by byte, without the padding of char(n). */
  textOf(sql: string, type: SourceType): string
  /** A text as a literal. */
  literal(text: string): string
  /** A condition for decimals that are not NaN; absent if none is. */
  isNumber?(sql: string): string
  /** The date that a value states. */
  dateOf(sql: string, kind: TemporalKind): string
  /** A constant date, by the number of days since 1970-01-01. */
  dateAt(days: bigint): string
  /** A 64-bit integer as a literal. */
  integer(value: bigint): string
  /** Comparisons of decimals with numbers. */
  decimalOrder(digits: Digits | undefined): Order
}

/** Creates the parts of a dialect that convert and compare the values of a table, by the same rules as in ingestion. */
export function createEncoder(rules: ValueRules): Pick<TableDialect, 'encode' | 'comparisons'> {
  return {
    encode: (column, { type: name, ...source }) => {
      const type = rules.typeOf(name)
      if (type === undefined) return undefined
      switch (column.type) {
        case 'integer':
        case 'number':
          return rules.encodeNumber(column, source, type)
        case 'date':
          return isTemporal(type.kind) ? exact(rules.encodeDate(column, source, type.kind)) : undefined
        case 'timestamp':
          return isTemporal(type.kind) ? exact(rules.encodeTimestamp(column, source, type.kind)) : undefined
        case 'boolean':
          return encodeBoolean(rules, source.sql, type)
        case 'category': {
          if (!hasTexts(type)) return undefined
          const stored = rules.encodeCategory(column.categories, source.sql, type)
          const condition = rules.among(column.categories, source.sql, type)
          return condition === undefined ? { stored } : { stored, fitting: { condition, stored } }
        }
        case 'string':
          return hasTexts(type) ? exact(rules.textOf(source.sql, type)) : undefined
        case 'identifier':
          return encodeIdentifier(rules, source.sql, type)
      }
    },
    comparisons: ({ type: name, sql }) => {
      const type = rules.typeOf(name)
      return type === undefined ? {} : comparisonsOf(rules, sql, type)
    },
  }
}

const LARGEST_IN_64_BITS = 2n ** 63n - 1n

function comparisonsOf(rules: ValueRules, sql: string, type: SourceType): Comparisons {
  const among = (texts: readonly string[]) => rules.among(texts, sql, type)
  switch (type.kind) {
    case 'integer':
      return {
        order: { kind: 'units', unitsPerOne: 1n, largest: LARGEST_IN_64_BITS, literal: rules.integer },
        among,
      }
    case 'decimal':
      return { order: rules.decimalOrder(type.digits) }
    // Floating-point numbers are compared as their shortest decimals, which only the conversion to text computes.
    case 'float':
      return {}
    case 'date':
    case 'timestamp':
    case 'timestamptz':
      return { order: { kind: 'days', date: rules.dateOf(sql, type.kind), literal: rules.dateAt } }
    case 'boolean':
      return { areBooleans: true, among }
    case 'text':
    case 'enum':
    case 'uuid':
      return { among }
  }
}

function isTemporal(kind: SourceType['kind']): kind is TemporalKind {
  return kind === 'date' || kind === 'timestamp' || kind === 'timestamptz'
}

/** True for types whose values are the same texts in every engine. */
function hasTexts({ kind }: SourceType): boolean {
  return kind === 'text' || kind === 'enum' || kind === 'uuid' || kind === 'integer' || kind === 'boolean'
}

/** A stored value for every value of a type. */
function exact(stored: string): EncodedValue {
  return { stored, isTotal: true }
}

/** A text where it fits. */
function textWhere(condition: string, text: string): EncodedValue {
  return { stored: `CASE WHEN ${condition} THEN ${text} END`, fitting: { condition, stored: text } }
}

/** Encodes booleans, 0 and 1, and the spellings that ingestion accepts. */
function encodeBoolean(rules: ValueRules, sql: string, type: SourceType): EncodedValue | undefined {
  if (type.kind === 'boolean') return exact(sql)
  if (type.kind === 'integer') return { stored: `CASE ${sql} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END` }
  if (type.kind !== 'text' && type.kind !== 'enum') return undefined
  const word = `lower(trim(BOTH ${rules.literal(' \t\n\r')} FROM ${rules.textOf(sql, type)}))`
  const list = (words: readonly string[]) => words.map((each) => `'${each}'`).join(', ')
  return {
    stored: `CASE WHEN ${word} IN (${list(TRUE_WORDS)}) THEN TRUE WHEN ${word} IN (${list(FALSE_WORDS)}) THEN FALSE END`,
  }
}

/** Encodes an identifier as its exact text, and as NULL if the text has only white space. */
function encodeIdentifier(rules: ValueRules, sql: string, type: SourceType): EncodedValue | undefined {
  const text = rules.textOf(sql, type)
  switch (type.kind) {
    case 'integer':
    case 'uuid':
      return exact(text)
    case 'decimal': {
      if (type.digits?.scale !== 0) return undefined
      const isNumber = rules.isNumber?.(sql)
      return isNumber === undefined ? exact(text) : textWhere(isNumber, text)
    }
    case 'text': {
      const isPrintable = `(${text} >= '!' AND ${text} < ${rules.literal('\x7f')})`
      return textWhere(`${isPrintable} OR trim(BOTH ${rules.literal(SEPARATORS)} FROM ${text}) <> ''`, text)
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
