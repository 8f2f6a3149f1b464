import { didYouMean } from '../../../privacy/did-you-mean.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import { type Column, type Dataset, isQueryable, type QueryableColumn } from '../../dataset/dataset.ts'
import { findColumn } from './columns.ts'

/*
 * The columns that a field of a question takes, as data. The planner refuses all others; forms and clients read the same
 * rules.
 */

/** Types of columns that queries can use. */
export type ColumnType = QueryableColumn['type']

/** A rule for the column that a field of a question names. */
export interface ColumnRule<Type extends ColumnType = ColumnType> {
  readonly types: readonly Type[]
  /** The rule in words, after "must be". */
  readonly words: string
  /** True if columns of free text must be declared as selectable. */
  readonly selectable?: true
}

/** Columns whose values are numbers. */
export const NUMBERS = { types: ['integer', 'number'], words: 'numeric' } satisfies ColumnRule

/** Columns whose values have an order and lie on a public grid. */
export const ORDERED = {
  types: [...NUMBERS.types, 'date', 'timestamp'],
  words: 'of numbers, dates or timestamps',
} satisfies ColumnRule

/** Columns whose values can be multiplied: a boolean is 0 or 1. */
export const MULTIPLIED = {
  types: [...ORDERED.types, 'boolean'],
  words: 'numeric, boolean or temporal',
} satisfies ColumnRule

/** Columns with a declared domain, by which rows can be grouped: as they are, or divided into bins or periods. */
export const GROUPED = {
  types: ['category', ...MULTIPLIED.types],
  words: 'a column whose values are declared',
} satisfies ColumnRule

/** Columns of free text whose common values may be released. */
export const SELECTABLE = {
  types: ['string'],
  words: 'a free-text column',
  selectable: true,
} satisfies ColumnRule

/** Columns whose distinct values can be counted. */
export const COUNTED = {
  types: [...GROUPED.types, ...SELECTABLE.types],
  words: 'a column whose values are declared, or selectable',
  selectable: true,
} satisfies ColumnRule

/** All columns but identifiers: those that conditions can be about. */
export const ANY = { types: [...GROUPED.types, 'string'], words: 'a column' } satisfies ColumnRule

/** Returns true for a column that a field with this rule takes. */
export function fits<Type extends ColumnType>(
  { types, selectable }: ColumnRule<Type>,
  column: Column,
): column is Extract<QueryableColumn, { type: Type }> {
  if (!types.some((type) => type === column.type)) return false
  return selectable === undefined || column.type !== 'string' || column.selectable !== undefined
}

/**
 * Finds the column that a field names, by the rule for the field.
 * @throws Refusal `query-does-not-fit` naming `field` and the rule, also as {@link requireColumn} does.
 */
export function requireColumnOf<Type extends ColumnType>(
  rule: ColumnRule<Type>,
  dataset: Dataset,
  name: string,
  field: string,
): Extract<QueryableColumn, { type: Type }> {
  const column = requireColumn(dataset, name, field)
  if (fits(rule, column)) return column
  throw refuseQuery(field, `must be ${rule.words}, and ${name} is of type ${column.type}`)
}

/**
 * Finds a column of the dataset by its name, or by an expression.
 * @throws Refusal `query-does-not-fit` naming `field` and the existing columns, the rule that no query may use an
 * identifier, or the rule that an expression breaks.
 */
export function requireColumn(dataset: Dataset, name: string, field: string): QueryableColumn {
  const found = findColumn(dataset, name)
  if ('column' in found) return found.column
  if (dataset.columns.some((known) => known.name === name))
    throw refuseQuery(field, `must not be ${name}: queries cannot use an identifier`)
  if (found.rule !== undefined) throw refuseQuery(field, `is no column, and as an expression ${found.rule}`)
  const names = [...dataset.columns.filter(isQueryable), ...(dataset.derived ?? [])].map(
    (known) => known.name,
  )
  throw refuseQuery(
    field,
    `the dataset has no column "${name}"${didYouMean(name, names)}; it has ${names.join(', ')}`,
  )
}

/**
 * Finds the free-text column whose values a query releases.
 * @throws Refusal `query-does-not-fit` for a column of another type, or one that is not declared as selectable.
 */
export function requireSelectable(dataset: Dataset, name: string, field: string) {
  const column = requireColumn(dataset, name, field)
  if (column.type !== 'string') {
    const rule = `must be ${SELECTABLE.words}; ${name} is of type ${column.type}: use histogram or noisyMax`
    throw refuseQuery(field, rule)
  }
  if (fits(SELECTABLE, column)) return column
  throw refuseQuery(field, `must be declared as selectable; the values of ${name} may identify people`)
}
