import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import { type Dataset, isQueryable, type QueryableColumn } from '../../core/dataset/dataset.ts'
import { parseDate, parseInstant } from '../../core/dataset/iso-time.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { isSameDecimal } from '../../privacy/decimal.ts'
import { didYouMean } from '../../privacy/did-you-mean.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import { cut, fold } from './parsing/identifiers.ts'
import type { CastType, Expression, ExpressionOf, Statement } from './parsing/statement.ts'
import { refusePart } from './place.ts'
import { type NamedTables, namedTables } from './tables.ts'

type ColumnName = ExpressionOf<'column'>

/** The statement under translation, and the dataset that it is about. */
export interface Scope {
  readonly text: string
  readonly dataset: Dataset
  /** What may be before a column, such as `v` in `v.age`. */
  readonly tables: NamedTables
  /** The condition on the rows of the statement. */
  readonly where: Expression | undefined
  /** Translates a condition to the rows where it is TRUE. */
  readonly condition: (expression: Expression) => QueryPredicate
  /** Notes the place of the expression that a predicate comes from, or those of the values of a list. Returns it. */
  readonly place: <Part extends QueryPredicate | readonly unknown[]>(
    part: Part,
    at: Part extends readonly unknown[] ? readonly number[] : number,
  ) => Part
  readonly places: Places
  /**
   * Counts a condition that is computed for every cell of a column, which takes time.
   * @throws Refusal `sql-not-supported` for too many in one statement
   */
  readonly countComputed: (at: number) => void
  /** Computes what is asked for several times under a name once. */
  readonly once: <Result>(name: string, compute: () => Result) => Result
  /** Creates the refusal of a part that the service does not support. */
  readonly unsupported: (at: number | undefined, rule: string) => Refusal
  /** Creates the refusal of a part that does not fit the dataset. */
  readonly misfit: (at: number, rule: string) => Refusal
}

/** The byte offset of each predicate, and those of the elements of each list of values. */
export type Places = WeakMap<object, number | readonly number[]>

/** Largest number of conditions that are computed for every cell of a column. */
const MOST_COMPUTED = 20

/**
 * @param conditionOf translates a condition
 * @throws Refusal `query-does-not-fit` for a statement over another table
 */
export function openScope(
  text: string,
  statement: Statement,
  dataset: Dataset,
  conditionOf: (scope: Scope, expression: Expression) => QueryPredicate,
): Scope {
  const misfit = (at: number, rule: string) => refusePart(text, at, 'query-does-not-fit', rule)
  const unsupported = (at: number | undefined, rule: string) =>
    refusePart(text, at, 'sql-not-supported', rule)
  let computed = 0
  const known = new Map<string, unknown>()
  const places: Places = new WeakMap()
  const scope: Scope = {
    where: statement.where,
    condition: (expression) => conditionOf(scope, expression),
    place: (part, at) => {
      places.set(part, at)
      return part
    },
    places,
    once: <Result>(name: string, compute: () => Result) => {
      if (!known.has(name)) known.set(name, compute())
      return known.get(name) as Result
    },
    countComputed: (at) => {
      computed += 1
      if (computed > MOST_COMPUTED)
        throw unsupported(
          at,
          `at most ${MOST_COMPUTED} conditions on functions are supported in a statement.`,
        )
    },
    text,
    dataset,
    tables: namedTables(statement, dataset, misfit),
    unsupported,
    misfit,
  }
  return scope
}

/**
 * Returns the names of the columns that an identifier means: the one that is spelled so, or those that differ in the case
 * of their letters only.
 */
function namesMeant({ dataset, tables }: Scope, { table, name }: ColumnName): readonly string[] {
  // The names of joined tables are part of the declared names.
  const starts = [...tables].flatMap(([name, start]) =>
    table === undefined || table === name ? [start] : [],
  )
  const names = [...dataset.columns, ...(dataset.derived ?? [])].map((each) => each.name)
  const meant = (spelling: (own: string) => string) =>
    names.filter((each) =>
      starts.some((start) => each.startsWith(start) && spelling(each.slice(start.length)) === name),
    )
  const exact = meant(cut)
  return exact.length > 0 ? exact : meant(fold)
}

/** @throws Refusal `query-does-not-fit` for a name that is before a column but is not that of a table */
function requireTable({ tables, misfit }: Scope, column: ColumnName): void {
  if (column.table === undefined || tables.has(column.table)) return
  throw misfit(column.at, `columns are those of ${[...tables.keys()].map((name) => `"${name}"`).join(', ')}.`)
}

/**
 * Finds a column that queries can use.
 * @throws Refusal `query-does-not-fit` for an unknown or ambiguous name, and for identifiers
 */
export function columnOf(scope: Scope, column: ColumnName): QueryableColumn {
  const { dataset, misfit } = scope
  requireTable(scope, column)
  const [name, other] = namesMeant(scope, column)
  if (other !== undefined)
    throw misfit(column.at, `"${name}" or "${other}"? Write the name in double quotes.`)
  const found = name === undefined ? undefined : columnNamed(dataset, name)
  if (found !== undefined) return found
  if (name !== undefined) {
    const instead =
      dataset.privacyUnit.kind === 'person' && dataset.privacyUnit.column === name
        ? ` COUNT(DISTINCT ${name}) counts people.`
        : ''
    throw misfit(column.at, `queries cannot use the identifier ${name}.${instead}`)
  }
  const names = [...dataset.columns.filter(isQueryable), ...(dataset.derived ?? [])].map((each) => each.name)
  const advice = didYouMean(column.name, names)
  throw misfit(column.at, `the dataset has no column "${column.name}"${advice}; it has ${names.join(', ')}.`)
}

/** Returns true if a name is that of a column of the dataset. */
export function isColumn(scope: Scope, column: ColumnName): boolean {
  return namesMeant(scope, column).length > 0
}

/** Returns the type of a column of dates or timestamps; undefined for another name. */
export function temporalTypeOf(scope: Scope, column: ColumnName): 'date' | 'timestamp' | undefined {
  const [name, other] = namesMeant(scope, column)
  const found = name === undefined || other !== undefined ? undefined : columnNamed(scope.dataset, name)
  return found?.type === 'date' || found?.type === 'timestamp' ? found.type : undefined
}

/** The declared name of a column, or the name as it is written if there is no such column. */
export function declaredName(scope: Scope, column: ColumnName): string {
  const [name = column.name] = namesMeant(scope, column)
  return name
}

/** Returns true for the column whose values identify people. */
export function isPersonColumn(scope: Scope, column: ColumnName): boolean {
  const { privacyUnit } = scope.dataset
  requireTable(scope, column)
  const [name] = namesMeant(scope, column)
  return privacyUnit.kind === 'person' && privacyUnit.column === name
}

/**
 * Returns a number that is spelled in a statement.
 * @throws Refusal `sql-not-supported` for another expression, and for a number that no double represents exactly
 */
export function numberOf({ unsupported }: Scope, expression: Expression, role: string): number {
  if (expression.kind !== 'number') throw unsupported(expression.at, `${role} must be a number.`)
  const value = Number(expression.text)
  if (isSameDecimal(expression.text, String(value))) return value
  throw unsupported(expression.at, `${role} must have at most 17 significant digits, within 1e308.`)
}

/** A column or another value that constants are compared with. */
export interface Compared {
  readonly name: string
  readonly type: QueryableColumn['type'] | 'text'
}

/**
 * Returns a constant that is compared with a column or another value, as queries spell it.
 * @throws Refusal `query-does-not-fit` for a constant of another type, `sql-not-supported` for another expression
 */
export function literalOf(
  scope: Scope,
  { name, type }: Compared,
  expression: Expression,
): number | string | boolean {
  const { misfit, unsupported } = scope
  const { at, kind } = expression
  const mistyped = (expected: string) =>
    misfit(at, `${name} is of type ${type}: compare it with ${expected}.`)
  if (kind === 'null')
    throw unsupported(at, 'a comparison with NULL is never true. Write IS NULL or IS NOT NULL.')
  if (kind !== 'number' && kind !== 'text' && kind !== 'boolean')
    throw unsupported(at, 'a column is compared with constants only.')
  switch (type) {
    case 'integer':
    case 'number': {
      const number = kind === 'text' ? readNumber(expression, type) : expression
      if (number?.kind !== 'number') throw mistyped('a number')
      return numberOf(scope, number, 'the value')
    }
    case 'boolean':
      if (kind !== 'boolean') throw mistyped('TRUE or FALSE')
      return expression.value
    case 'date': {
      if (kind !== 'text' || parseDate(expression.value) === undefined)
        throw mistyped("a date such as '2024-02-29'")
      return expression.value
    }
    case 'timestamp': {
      const text = kind === 'text' ? instantOf(expression.value, expression.type) : undefined
      if (text === undefined) throw mistyped("a time such as '2024-02-29 13:30:00Z'")
      return text
    }
    case 'category':
    case 'string':
    case 'text':
      if (kind !== 'text' || expression.type !== undefined) throw mistyped("a text such as 'a'")
      return expression.value
  }
}

/** A number that is written as a text, as drivers and variables of dashboards write it. It has the type of what it is compared with. */
function readNumber(
  { value, type, at }: Extract<Expression, { kind: 'text' }>,
  compared: 'integer' | 'number',
): Expression | undefined {
  const pattern =
    compared === 'integer' ? /^\s*(?:\+(?!-))?(-?\d+)\s*$/ : /^\s*(?:\+(?!-))?(-?\d+(?:\.\d+)?)\s*$/
  const [, text] = (type === undefined && pattern.exec(value)) || []
  return text === undefined ? undefined : { kind: 'number', text, at }
}

/**
 * Returns an instant in ISO 8601, from a spelling that SQL also accepts: a space before the time, and offsets without
 * minutes. Instants without an offset are UTC.
 * @param cast the type that the text is cast to. PostgreSQL drops the time from a date, and the offset from a timestamp
 * without a time zone, so texts that have one are refused.
 */
export function instantOf(text: string, cast: CastType | undefined): string | undefined {
  const [, date, time, offset] = TIME.exec(text) ?? []
  if (time === undefined) return parseDate(text) === undefined ? undefined : text
  if (cast === 'date' || (cast === 'timestamp' && offset !== undefined)) return undefined
  const [, hours, minutes = '00'] = OFFSET.exec(offset ?? '') ?? []
  const iso = `${date}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`
  return parseInstant(iso) === undefined ? undefined : iso
}

/** A date, a time in microseconds at most, and an offset. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:T| +)(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) *(Z|[+-]\d\d(?::?\d\d)?)?$/i
const OFFSET = /^([+-]\d\d):?(\d\d)?$/
