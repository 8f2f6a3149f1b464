import { type Column, isQueryable, type TableColumn } from '../../core/dataset/dataset.ts'
import type { Predicate } from '../../core/planner/language/aggregate.ts'
import { plausibleRowsOf } from '../../privacy/neighbours.ts'
import {
  type Bind,
  type Dialect,
  quoteIdentifier,
  type RelationNeeds,
  type SelectedRows,
} from '../dialect.ts'
import {
  DIGESTED_TYPES,
  isConstantPerPerson,
  PERSON_COLUMN,
  printRowOrder,
  RANK_COLUMN,
  requireKey,
} from '../person-rows.ts'
import { type PrintedStatement, printBound } from '../printing/printer.ts'
import { type ComparisonOf, printComparison } from './comparisons.ts'
import { inSource, printSource, printSourceValue } from './joined.ts'
import type { EncodedValue, TableDialect } from './table-dialect.ts'
import type { TableDataset } from './table-engine.ts'

/** A declared column with the SQL of its values. */
export interface EncodedColumn extends EncodedValue {
  readonly column: Column
  readonly found: TableColumn
  /** The value in the table. */
  readonly source: string
  /** True if the database guarantees that the value is never NULL. */
  readonly notNull: boolean
  /** Name of the value after the rule for values that do not fit. */
  readonly kept: string
}

/** The rows of a table that are read. */
interface Selection {
  /** Conditions on the source, computed before all others of their cost. */
  readonly conditions: readonly string[]
  /** True if the database may compute stored values of rows that do not fit. */
  readonly guarded: boolean
}

/** A select list is computed for the rows that satisfy WHERE, and no condition uses its values. */
const UNGUARDED: Selection = { conditions: [], guarded: false }

/**
 * Prints the rows of a table as a relation with the columns that ingestion stores, computed row by row. Where people
 * are the privacy units, the relation has the person and the rank of each row, and at most `maxRows` rows of a person.
 * The text can follow `FROM`. See decision 42.
 *
 * @param bind adds the secret key that orders the rows of people; absent for a dialect without parameters
 * @param needs as for {@link Dialect.relation}
 * @throws RangeError for a column whose types do not fit, which registration excludes.
 */
export function printRelation(
  dialect: TableDialect,
  table: TableDataset,
  bind: Bind = rejectParameter,
  { extent, unorderedUpTo = 1 }: RelationNeeds = {},
): string {
  const encoded = encodeColumns(dialect, table).map(withinLength)
  const { unit } = table
  const rows = printSource(dialect, table, bind)
  if (unit.kind === 'row')
    return printRelationOfRows(dialect, encoded, rows, { conditions: [], guarded: true })
  // The rows of a person are only counted then.
  if (extent === 'plausible') {
    const maxRows = plausibleRowsOf(unit) + 1
    return printRowsOfPeople(dialect, encoded, { ...unit, maxRows }, rows, {
      bind,
      unorderedUpTo: maxRows,
    })
  }
  return printRowsOfPeople(dialect, encoded, unit, rows, { bind, unorderedUpTo })
}

function rejectParameter(): never {
  throw new RangeError('a dialect without parameters binds a value')
}

function printRelationOfRows(
  dialect: TableDialect,
  encoded: readonly EncodedColumn[],
  rows: string,
  selection: Selection,
): string {
  return `(SELECT ${printColumns(encoded)} FROM ${printKeptRows(dialect, encoded, rows, selection)}) AS sotto_table`
}

/**
 * Prints the relation of the rows that satisfy conditions, which are compared with the values in the table where that is
 * exact. `undefined` where rows are ranked before conditions apply.
 */
export function printSelectedRows(
  dialect: TableDialect,
  table: TableDataset,
  predicates: readonly Predicate[],
): SelectedRows | undefined {
  if (table.unit.kind !== 'row') return undefined
  const encoded = encodeColumns(dialect, table).map(withinLength)
  const conditions: string[] = []
  const remaining: number[] = []
  for (const [place, predicate] of predicates.entries()) {
    const condition = printOnSource(dialect, encoded, predicate)
    if (condition === undefined) remaining.push(place)
    else conditions.push(condition)
  }
  // The database may compute a remaining condition, with the stored values in it, before it checks a row.
  const selection = { conditions, guarded: remaining.length > 0 }
  return {
    relation: printRelationOfRows(dialect, encoded, printSource(dialect, table, rejectParameter), selection),
    remaining,
  }
}

/** Prints a condition on the source that is TRUE for exactly the rows that fit and for which a predicate holds. */
function printOnSource(
  dialect: TableDialect,
  encoded: readonly EncodedColumn[],
  predicate: Predicate,
): string | undefined {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = predicate.predicates.flatMap((each) => printOnSource(dialect, encoded, each) ?? [])
      if (operands.length < predicate.predicates.length) return undefined
      if (operands.length === 0) return predicate.kind === 'and' ? 'TRUE' : 'FALSE'
      return printJoined(dialect, operands, predicate.kind === 'and' ? 'AND' : 'OR')
    }
    case 'not': {
      const operand = printOnSource(dialect, encoded, predicate.predicate)
      return operand === undefined ? undefined : dialect.isNotTrue(operand)
    }
    default: {
      const found = encoded.find(({ column }) => column.name === predicate.column)
      // A value that does not fit must not become another one.
      if (found === undefined || !(alwaysFits(found) || removesMisfits(found))) return undefined
      if (predicate.kind === 'is-null')
        return found.notNull || !acceptsNull(found) ? 'FALSE' : `(${found.source} IS NULL)`
      return compareSource(dialect, found, predicate)
    }
  }
}

function compareSource(
  dialect: TableDialect,
  { column, found, source }: EncodedColumn,
  predicate: ComparisonOf,
): string | undefined {
  const compared = { ...found, sql: source }
  return printComparison(column, compared, predicate, dialect.comparisons(compared))
}

/**
 * True if rows whose value does not fit are left out. With the rule `refuse`, a misfit that comes after registration
 * leaves out its row, so that no row can break the declaration and no value can make a query fail.
 */
function removesMisfits({ column }: EncodedColumn): boolean {
  return column.invalidValue.kind === 'refuse' || column.invalidValue.kind === 'drop-row'
}

/**
 * Limits the length of texts that queries can return. Registration refuses a table with longer texts. One that arrives
 * later does not fit, so that the size of an answer stays limited.
 */
function withinLength(encoded: EncodedColumn): EncodedColumn {
  const { column } = encoded
  if (column.type !== 'string' || column.selectable === undefined) return encoded
  const { isTotal: _, fitting: __, ...others } = encoded
  return { ...others, ...limitLength(encoded, column.selectable.maxLength) }
}

/**
 * Largest number of characters of a text of a person's row. The digest that orders rows joins their texts, and joined
 * texts must stay below the longest text of a database: in PostgreSQL 1 GB, for at most 1,664 columns. It is also the
 * default limit of ingestion.
 */
const LONGEST_DIGESTED_TEXT = 65_536

/** Limits the length of the texts that the order of a person's rows depends on. A longer text does not fit. */
function withinDigest(column: Column, encoded: EncodedValue): EncodedValue {
  const isText = column.type === 'string' && column.selectable === undefined
  // Identifiers of which every value fits are integers and UUIDs.
  const isIdentifier = column.type === 'identifier' && !encoded.isTotal
  return isText || isIdentifier ? limitLength(encoded, LONGEST_DIGESTED_TEXT) : encoded
}

function limitLength({ stored, isTotal, fitting }: EncodedValue, longest: number): EncodedValue {
  const within = (text: string) => `length(${text}) <= ${longest}`
  const limited = `CASE WHEN ${within(stored)} THEN ${stored} END`
  if (isTotal) return { stored: limited, fitting: { condition: within(stored), stored } }
  if (fitting === undefined) return { stored: limited }
  const condition = `(${fitting.condition}) AND ${within(fitting.stored)}`
  return { stored: limited, fitting: { condition, stored: fitting.stored } }
}

/**
 * Prints all rows that no rule leaves out, as a statement: the stored values of the declared columns in their order, as
 * texts.
 */
export function printRead(dialect: TableDialect, table: TableDataset): PrintedStatement {
  const encoded = encodeColumns(dialect, table)
  const texts = encoded.map(({ kept }) => `CAST(${kept} AS VARCHAR)`)
  return printBound(
    (bind) =>
      `SELECT ${texts.join(', ')} FROM ${printKeptRows(dialect, encoded, printSource(dialect, table, bind))}`,
  )
}

type PersonUnit = Extract<TableDataset['unit'], { kind: 'person' }>

function printRowsOfPeople(
  dialect: TableDialect,
  encoded: readonly EncodedColumn[],
  unit: PersonUnit,
  rows: string,
  { bind, unorderedUpTo }: { readonly bind: Bind; readonly unorderedUpTo: number },
): string {
  const person = personOf(encoded, unit)
  const digested = encoded
    .filter(({ column }) => isQueryable(column))
    .map(({ column, kept }) => ({ type: DIGESTED_TYPES[column.type], sql: kept }))
  const key = dialect.value(requireKey(unit.key), 'text', bind)
  const order = printRowOrder(dialect, key, person, digested)
  const isOrdered = unorderedUpTo === 1 || encoded.some(({ column }) => isConstantPerPerson(column))
  const digests = order.map((digest, i) => ({
    name: `sotto_digest${i}`,
    sql: isOrdered ? digest : `CASE WHEN sotto_size > ${unorderedUpTo} THEN ${digest} END`,
  }))
  const ownRows = `(PARTITION BY ${person} ORDER BY ${digests.map(({ name }) => name).join(', ')})`
  const kept = printKeptRows(dialect, encoded, rows)
  // The number of rows is counted in the one scan of the table: two scans may see different rows, so that a person could
  // keep too many.
  const sized = isOrdered
    ? kept
    : `(SELECT *, count(*) OVER (PARTITION BY ${person}) AS sotto_size FROM ${kept}) AS sotto_sized`
  const placed = `SELECT *, ${digests.map(({ sql, name }) => `${sql} AS ${name}`).join(', ')} FROM ${sized}`
  const columns = [
    printColumns(encoded, ({ column, kept }) =>
      isConstantPerPerson(column) ? `first_value(${kept}) OVER ${ownRows}` : kept,
    ),
    `${person} AS ${PERSON_COLUMN}`,
    `row_number() OVER ${ownRows} AS ${RANK_COLUMN}`,
  ]
  const ranked = `SELECT ${columns.join(', ')} FROM (${placed}) AS sotto_digested`
  return `(SELECT * FROM (${ranked}) AS sotto_ranked WHERE ${RANK_COLUMN} <= ${unit.maxRows}) AS sotto_table`
}

/** The kept value of the column that identifies people. */
export function personOf(encoded: readonly EncodedColumn[], { column }: PersonUnit): string {
  const person = encoded.find((each) => each.column.name === column)
  if (person === undefined) throw new RangeError('the column that identifies people is not declared')
  return person.kept
}

/** Prints the columns that queries can use, under their declared names. */
function printColumns(
  encoded: readonly EncodedColumn[],
  value: (column: EncodedColumn) => string = ({ kept }) => kept,
): string {
  const columns = encoded
    .filter(({ column }) => isQueryable(column))
    .map((each) => `${value(each)} AS ${quoteIdentifier(each.column.name)}`)
  // A relation needs a column, even if all that is declared are identifiers.
  return columns.length === 0 ? 'TRUE AS sotto_row' : columns.join(', ')
}

/**
 * Prints the rows that no rule leaves out, with their values under the names `kept`. The conditions are on the source
 * alone, so that the database can divide the work.
 * @param rows as {@link printSource} prints them
 */
export function printKeptRows(
  dialect: TableDialect,
  encoded: readonly EncodedColumn[],
  rows: string,
  { conditions, guarded }: Selection = UNGUARDED,
): string {
  const values = encoded.map((each) => `${printKeptValue(dialect, each, guarded)} AS ${each.kept}`)
  const checks = [...conditions, ...encoded.flatMap(printFits)]
  const where = checks.length === 0 ? '' : ` WHERE ${printJoined(dialect, checks, 'AND')}`
  return `(SELECT ${values.join(', ')} FROM ${rows}${where}) AS sotto_kept_rows`
}

function printJoined(dialect: TableDialect, conditions: readonly string[], operator: 'AND' | 'OR'): string {
  return dialect.join?.(conditions, operator) ?? `(${conditions.join(` ${operator} `)})`
}

/** Prints the condition on a value under which its row stays, if there is one. */
function printFits(encoded: EncodedColumn): readonly string[] {
  const { source, stored, isTotal, fitting, notNull } = encoded
  if (alwaysFits(encoded) || !removesMisfits(encoded)) return []
  if (isTotal) return [`${source} IS NOT NULL`]
  const fits = fitting?.condition ?? `(${stored}) IS NOT NULL`
  return [acceptsNull(encoded) && !notNull ? `(${fits} OR ${source} IS NULL)` : `(${fits})`]
}

/** Prints a value after the rule for values that do not fit. */
function printKeptValue(dialect: TableDialect, encoded: EncodedColumn, guarded: boolean): string {
  const { column, source, stored, fitting, notNull } = encoded
  const ifPresent = (value: string) =>
    acceptsNull(encoded) && !notNull ? `CASE WHEN ${source} IS NOT NULL THEN ${value} END` : value
  if (removesMisfits(encoded)) return guarded || fitting === undefined ? stored : ifPresent(fitting.stored)
  if (alwaysFits(encoded) || column.type === 'identifier' || column.invalidValue.kind !== 'replace')
    return stored
  return `coalesce(${stored}, ${ifPresent(printReplacement(dialect, column.invalidValue.value))})`
}

/** Prints a stored value as a literal. */
function printReplacement(dialect: TableDialect, value: bigint | number | boolean | string): string {
  if (typeof value === 'string') return dialect.literal(value)
  if (typeof value === 'number') return dialect.value(BigInt(value), 'integer', rejectParameter)
  return dialect.value(value, typeof value === 'boolean' ? 'boolean' : 'bigint', rejectParameter)
}

/** True if no value of the column is a misfit. */
export function alwaysFits(encoded: EncodedColumn): boolean {
  return encoded.isTotal === true && (encoded.notNull || acceptsNull(encoded))
}

/** True if NULL fits. */
export function acceptsNull({ column }: EncodedColumn): boolean {
  return column.nullable && column.type !== 'identifier'
}

/** @throws RangeError for a column whose types do not fit. */
export function encodeColumns(dialect: TableDialect, table: TableDataset): readonly EncodedColumn[] {
  const { dataset, columns, unit } = table
  return dataset.columns.map((column, i) => {
    const registered = columns[i]
    if (registered === undefined) throw new RangeError('a declared column has no counterpart in the table')
    const found = inSource(table, registered)
    const source = printSourceValue(table, found, i)
    const encoded = dialect.encode(column, { ...found, sql: source })
    if (encoded === undefined) throw new RangeError('a column of the table does not fit its declaration')
    const value = unit.kind === 'person' ? withinDigest(column, encoded) : encoded
    return { ...value, column, found, source, notNull: found.notNull, kept: `sotto_kept${i}` }
  })
}
