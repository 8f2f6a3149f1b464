import { type Column, isGrid } from '../../core/dataset/dataset.ts'
import { gridPoints } from '../../core/dataset/value-limits.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import type { Bind } from '../dialect.ts'
import { widenedByOneStep } from '../grid.ts'
import { MISFIT_KINDS, type MisfitKind } from '../misfits.ts'
import { type PrintedStatement, printBound } from '../printing/printer.ts'
import { printJoinedCounts, printSource, readJoinedCounts, SOURCE } from './joined.ts'
import {
  acceptsNull,
  alwaysFits,
  type EncodedColumn,
  encodeColumns,
  personOf,
  printKeptRows,
} from './relation.ts'
import type { TableDialect } from './table-dialect.ts'
import type { TableDataset, TableInspection } from './table-engine.ts'

/**
 * The statements that check a table. Each result is one row of integers as texts; {@link readInspection} reads these rows
 * joined in this order.
 */
interface InspectionStatements {
  /** The number of rows, those without identifier, for each column the numbers of its misfits by kind, and of its clamped values. */
  readonly counts: PrintedStatement
  /** For each column, 1 if it is an identifier that must not repeat and does, otherwise 0. */
  readonly repeated: PrintedStatement
  /** The number of rows that queries read, and that of people; the same number twice if rows are people. */
  readonly stored: PrintedStatement
  /** For each column the number of distinct stored values and the length of the longest; 0 without a declared limit. */
  readonly limits: PrintedStatement
  /** The numbers of joined tables; absent for one table. */
  readonly joined?: PrintedStatement
}

/** The number 0 as an aggregate, so that a statement has one row even if it counts nothing. */
const ZERO = '(0 * count(*))'

/** Prints the statements whose results {@link readInspection} reads. Keys that repeat are counted, and make none of them fail. */
export function printInspection(
  { failUnless: _, ...dialect }: TableDialect,
  table: TableDataset,
): InspectionStatements {
  const encoded = encodeColumns(dialect, table)
  const ofKept = (print: (rows: string) => string) =>
    printBound((bind) => print(printKeptRows(dialect, encoded, printSource(dialect, table, bind))))
  const checks = encodeColumns(dialect, widened(dialect, table)).map((column, i) =>
    checkOf(column, i, entry(table.dataset.columns, i)),
  )
  const identified = checks.flatMap(({ drops, fits }) => (drops && fits !== undefined ? [fits] : []))
  const isIdentified = identified.length === 0 ? 'TRUE' : identified.join(' AND ')
  const misfits = checks.flatMap(({ drops, misfits }) =>
    MISFIT_KINDS.map((kind) => {
      const condition = misfits[kind]
      if (condition === undefined) return ZERO
      return dialect.countIf(drops ? condition : `${condition} AND ${isIdentified}`)
    }),
  )
  const clamped = checks.map((check) =>
    check.clamped === undefined ? ZERO : dialect.countIf(`${check.clamped} AND ${isIdentified}`),
  )
  const counts = ['count(*)', dialect.countIf(`NOT (${isIdentified})`), ...misfits, ...clamped]
  const repeated = encoded.map(({ column, kept: value }) =>
    table.unit.kind === 'row' && column.type === 'identifier'
      ? `CASE WHEN count(DISTINCT ${value}) < count(*) THEN 1 ELSE 0 END`
      : ZERO,
  )
  const limits = encoded.flatMap(({ column, kept: value }) => [
    hasLimit(column) ? `count(DISTINCT ${value})` : ZERO,
    column.type === 'string' && column.selectable !== undefined ? `coalesce(max(length(${value})), 0)` : ZERO,
  ])
  const joined = printJoinedCounts(dialect, table)
  return {
    counts: printBound(
      (bind) => `SELECT ${texts(counts)} FROM ${printCheckedRows(dialect, checks, table, bind)}`,
    ),
    repeated: ofKept((rows) => `SELECT ${texts(repeated)} FROM ${rows}`),
    stored: ofKept((rows) => printStored(encoded, table.unit, rows)),
    limits: ofKept((rows) => `SELECT ${texts(limits)} FROM ${rows}`),
    ...defined({ joined }),
  }
}

/** The table with columns whose stored values show whether the declared bounds clamp them, where the database can compute that. */
function widened(dialect: TableDialect, table: TableDataset): TableDataset {
  const columns = table.dataset.columns.map((column, i) => {
    const found = entry(table.columns, i)
    const wider = widenedByOneStep(column)
    return dialect.encode(wider, { ...found, sql: SOURCE }) === undefined ? column : wider
  })
  return { ...table, dataset: { ...table.dataset, columns } }
}

/** The check of a column, as columns of two nested relations. */
interface Check {
  /** True if rows whose value does not fit are left out as rows without identifier are. */
  readonly drops: boolean
  /** Columns of the relation over the table: the stored value, and flags of the value in the table. */
  readonly stored: readonly string[]
  /** Columns of the relation over that one: the stored value, and flags that are never NULL. */
  readonly checked: readonly string[]
  /** A condition for the values that fit; absent if every value does. */
  readonly fits?: string
  /** The condition of each kind of misfit that the column can have. */
  readonly misfits: { readonly [Kind in MisfitKind]?: string }
  /** A condition for the values that are clamped; absent for a column without bounds. */
  readonly clamped?: string
}

/** @param declared the column with its own bounds */
function checkOf(encoded: EncodedColumn, i: number, declared: Column): Check {
  const { column, source, stored, isTotal, notNull } = encoded
  const [value, flag, invalid, missing] = [
    `sotto_stored${i}`,
    `sotto_flag${i}`,
    `sotto_invalid${i}`,
    `sotto_missing${i}`,
  ] as const
  const { isInvalid, flagged } = printIsInvalid(encoded, value, flag)
  // An identifier of any value that does not fit is missing.
  const isMissing = column.type === 'identifier' || isTotal
  const mayBeBoth = !alwaysFits(encoded) && !isMissing && !acceptsNull(encoded) && !notNull
  const misfits = mayBeBoth
    ? { missing, unfit: `${invalid} AND NOT ${missing}` }
    : { [isMissing ? 'missing' : 'unfit']: invalid }
  return {
    drops: column.invalidValue.kind === 'drop-row',
    stored: [
      `${stored} AS ${value}`,
      ...(flagged === undefined ? [] : [`${flagged} AS ${flag}`]),
      ...(mayBeBoth ? [`(${source} IS NULL) AS ${missing}`] : []),
    ],
    checked: [value, `${isInvalid} AS ${invalid}`, ...(mayBeBoth ? [missing] : [])],
    ...(alwaysFits(encoded) ? { misfits: {} } : { misfits, fits: `NOT ${invalid}` }),
    ...(declared.type === 'identifier' || !isGrid(declared)
      ? {}
      : { clamped: `(${value} < ${declared.lowerIndex} OR ${value} > ${declared.upperIndex})` }),
  }
}

/**
 * Prints that a value does not fit, from its stored value or from a flag that is computed beside it. In a column that is
 * not nullable, NULL does not fit.
 * @param value name of the stored value
 * @param flag name of the flag
 */
function printIsInvalid(
  encoded: EncodedColumn,
  value: string,
  flag: string,
): { readonly isInvalid: string; readonly flagged?: string } {
  const { source, isTotal } = encoded
  if (alwaysFits(encoded)) return { isInvalid: 'FALSE' }
  if (isTotal) return { isInvalid: flag, flagged: `(${source} IS NULL)` }
  return acceptsNull(encoded)
    ? { isInvalid: `(${flag} AND ${value} IS NULL)`, flagged: `(${source} IS NOT NULL)` }
    : { isInvalid: `(${value} IS NULL)` }
}

/** Prints all rows of a table with the columns that checks read. */
function printCheckedRows(
  dialect: TableDialect,
  checks: readonly Check[],
  table: TableDataset,
  bind: Bind,
): string {
  const list = (columns: readonly (readonly string[])[]) => columns.flat().join(', ')
  const stored = list(checks.map(({ stored }) => stored))
  const rows = `(SELECT ${stored} FROM ${printSource(dialect, table, bind)}) AS sotto_stored_rows`
  return `(SELECT ${list(checks.map(({ checked }) => checked))} FROM ${rows}) AS sotto_checked_rows`
}

/** Prints a statement that counts the rows that queries read, and their people. It needs no order of a person's rows. */
function printStored(encoded: readonly EncodedColumn[], unit: TableDataset['unit'], rows: string): string {
  if (unit.kind === 'row') return `SELECT ${texts(['count(*)', 'count(*)'])} FROM ${rows}`
  const ofEach = `SELECT least(count(*), ${unit.maxRows}) AS sotto_rows FROM ${rows} GROUP BY ${personOf(encoded, unit)}`
  return `SELECT ${texts(['coalesce(sum(sotto_rows), 0)', 'count(*)'])} FROM (${ofEach}) AS sotto_people`
}

/**
 * Reads the row of an inspection, the results of its statements joined.
 * @throws RangeError for a row of another length, and for results that are not integers.
 */
export function readInspection(table: TableDataset, row: readonly unknown[]): TableInspection {
  const { dataset, unit } = table
  const { columns } = dataset
  const width = 4 + (MISFIT_KINDS.length + 4) * columns.length
  const left = row.slice(0, width).map(readCount)
  const joined = readJoinedCounts(table, row.slice(width).map(readCount))
  if (left.length !== width || (joined === undefined && row.length !== width))
    throw new RangeError('the result has another number of columns')
  const [rowsRead, rowsWithoutIdentifier] = [entry(left, 0), entry(left, 1)]
  const [, , ...counts] = left
  const misfits = counts.splice(0, MISFIT_KINDS.length * columns.length)
  const clamped = counts.splice(0, columns.length)
  const repeated = counts.splice(0, columns.length)
  const [rowsStored, people] = [entry(counts, 0), entry(counts, 1)]
  const limits = counts.slice(2)
  return {
    ...{ rowsRead, rowsWithoutIdentifier, rowsStored, misfits, clamped },
    ...(unit.kind === 'person' ? { people } : {}),
    repeated: repeated.map((count) => count === 1),
    distinctValues: columns.map((column, i) => (hasLimit(column) ? limits[2 * i] : undefined)),
    longestTexts: columns.map((column, i) =>
      column.type === 'string' && column.selectable !== undefined ? limits[2 * i + 1] : undefined,
    ),
    ...defined({ joined }),
  }
}

/** True for a column with a limit on its distinct values. A limit that the grid cannot exceed needs no check. */
function hasLimit(column: Column): boolean {
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return column.rankable !== undefined && gridPoints(column) > BigInt(column.rankable.maxValues)
    case 'string':
      return column.selectable !== undefined
    case 'boolean':
    case 'category':
    case 'identifier':
      return false
  }
}

function texts(integers: readonly string[]): string {
  return integers.map((integer) => `CAST(${integer} AS VARCHAR)`).join(', ')
}

/** @throws RangeError unless a value is an integer as text. */
export function readCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(count)) throw new RangeError('a count is not an integer')
  return count
}
