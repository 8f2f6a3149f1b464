import type { Column } from '../core/dataset/dataset.ts'

/*
 * The order of a person's rows, as SQL. It decides which rows are kept where a person has too many of them, so every
 * engine must compute the same order from the same values. It depends on the person's own rows and a secret key only.
 */

/** The column of a stored row that holds the number of its person. */
export const PERSON_COLUMN = 'sotto_person'

/** The column of a stored row that holds its place among its person's rows, counted from 1. */
export const RANK_COLUMN = 'sotto_rank'

/** A stored value of a row, as SQL. */
export interface DigestedValue {
  readonly type: 'integer' | 'boolean' | 'text'
  readonly sql: string
}

/** The types of stored values. */
export const DIGESTED_TYPES: Readonly<Record<Column['type'], DigestedValue['type']>> = {
  integer: 'integer',
  number: 'integer',
  date: 'integer',
  timestamp: 'integer',
  category: 'integer',
  boolean: 'boolean',
  string: 'text',
  identifier: 'text',
}

/** True for a column whose value is that of the first row in all rows of a person. */
export function isConstantPerPerson(column: Column): boolean {
  return column.type !== 'identifier' && column.constantPerPerson === true
}

/** The SQL of one database, as far as it differs. */
export interface DigestDialect {
  /**
   * Expressions to order by. They order texts as the hexadecimal digits of the MD5 of their UTF-8 bytes are ordered.
   * MD5 is a function of every engine; that its collisions can be constructed does not matter under a secret key.
   */
  md5Order(text: string): readonly string[]
}

/** Each part is up to three arguments, and PostgreSQL rejects calls with more than 100. */
const MOST_PARTS = 30

/**
 * Expressions that order the rows of one person: the digest of the key, the person's identifier and the row's values.
 * Rows with equal digests are identical.
 *
 * @param key the secret key as SQL, which {@link requireKey} has checked
 * @param identifier the person's identifier, a text that is not NULL
 */
export function printRowOrder(
  dialect: DigestDialect,
  key: string,
  identifier: string,
  values: readonly DigestedValue[],
): readonly string[] {
  return dialect.md5Order(
    concatenated([key, `'row'`, lengthPrefixed(identifier), ...values.map(canonicalText)]),
  )
}

/**
 * Expressions that order people: the digest of the key and the person's identifier. After the key there is the purpose, so
 * that digests for different purposes are unrelated.
 * @param key as for {@link printRowOrder}
 */
export function printPersonOrder(dialect: DigestDialect, key: string, identifier: string): readonly string[] {
  return dialect.md5Order(concatenated([key, `'person'`, lengthPrefixed(identifier)]))
}

/**
 * Returns a secret key of a version. Any quotation makes a literal of it.
 * @throws RangeError for a text other than 64 hexadecimal digits
 */
export function requireKey(key: string): string {
  if (!/^[0-9a-f]{64}$/.test(key)) throw new RangeError('the key is not 64 hexadecimal digits')
  return key
}

/** A value as a text that no other value has, and that ends unambiguously where the next one begins. */
function canonicalText({ type, sql }: DigestedValue): string {
  switch (type) {
    case 'integer':
      return `coalesce(CAST(${sql} AS VARCHAR), 'n'), ','`
    case 'boolean':
      return `CASE WHEN ${sql} THEN '1,' WHEN NOT ${sql} THEN '0,' ELSE 'n,' END`
    case 'text':
      return `CASE WHEN ${sql} IS NULL THEN 'n,' ELSE concat(${lengthPrefixed(sql)}) END`
  }
}

/** Arguments of a concatenation: a text after its length in characters. */
function lengthPrefixed(text: string): string {
  return `CAST(length(${text}) AS VARCHAR), ':', ${text}`
}

function concatenated(parts: readonly string[]): string {
  if (parts.length <= MOST_PARTS) return `concat(${parts.join(', ')})`
  const half = Math.ceil(parts.length / 2)
  return `concat(${concatenated(parts.slice(0, half))}, ${concatenated(parts.slice(half))})`
}
