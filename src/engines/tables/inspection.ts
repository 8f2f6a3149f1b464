import type { Column } from '../../catalog/dataset.ts'
import { gridPoints } from '../../catalog/value-limits.ts'
import { MISFIT_KINDS } from '../misfits.ts'
import {
  encodeColumns,
  personOf,
  printCheckedRows,
  printKeptRows,
  printMisfits,
  printStays,
  type TableDialect,
} from './relation.ts'
import type { TableDataset, TableInspection } from './table-engine.ts'

/** The statements that check a table. Each result is one row of integers as texts. */
export interface InspectionStatements {
  /** The number of rows, the number of rows without identifier, and for each column the numbers of its misfits by kind. */
  readonly counts: string
  /** For each column, 1 if it is an identifier that must not repeat and does, otherwise 0. */
  readonly repeated: string
  /** The number of rows that queries read, and that of people; the same number twice if rows are people. */
  readonly stored: string
  /** For each column the number of distinct stored values and the length of the longest; 0 without a declared limit. */
  readonly limits: string
}

/** The number 0 as an aggregate, so that a statement has one row even if it counts nothing. */
const ZERO = '(0 * count(*))'

/** Prints the statements whose results {@link readInspection} reads. */
export function printInspection(dialect: TableDialect, table: TableDataset): InspectionStatements {
  const encoded = encodeColumns(dialect, table)
  const kept = printKeptRows(dialect, encoded, table.table)
  const identified = printStays(encoded.filter(({ column }) => column.invalidValue.kind === 'drop-row'))
  const misfits = encoded.flatMap((each) => {
    const conditions = printMisfits(each)
    return MISFIT_KINDS.map((kind) => {
      const condition = conditions[kind]
      if (condition === undefined) return ZERO
      return dialect.countIf(
        each.column.invalidValue.kind === 'drop-row' ? condition : `${condition} AND ${identified}`,
      )
    })
  })
  const counts = [dialect.countIf(`NOT (${identified})`), ...misfits]
  const repeated = encoded.map(({ column, kept: value }) =>
    table.unit.kind === 'row' && column.type === 'identifier'
      ? `CASE WHEN count(DISTINCT ${value}) < count(*) THEN 1 ELSE 0 END`
      : ZERO,
  )
  const limits = encoded.flatMap(({ column, kept: value }) => [
    hasLimit(column) ? `count(DISTINCT ${value})` : ZERO,
    column.type === 'string' && column.selectable !== undefined ? `coalesce(max(length(${value})), 0)` : ZERO,
  ])
  return {
    counts: `SELECT ${texts(['count(*)', ...counts])} FROM ${printCheckedRows(encoded, table.table, { withMissing: true })}`,
    repeated: `SELECT ${texts(repeated)} FROM ${kept}`,
    stored: printStored(encoded, table.unit, kept),
    limits: `SELECT ${texts(limits)} FROM ${kept}`,
  }
}

/** Prints a statement that counts the rows that queries read, and their people. It needs no order of a person's rows. */
function printStored(
  encoded: Parameters<typeof personOf>[0],
  unit: TableDataset['unit'],
  rows: string,
): string {
  if (unit.kind === 'row') return `SELECT ${texts(['count(*)', 'count(*)'])} FROM ${rows}`
  const ofEach = `SELECT least(count(*), ${unit.maxRows}) AS sotto_rows FROM ${rows} GROUP BY ${personOf(encoded, unit)}`
  return `SELECT ${texts(['coalesce(sum(sotto_rows), 0)', 'count(*)'])} FROM (${ofEach}) AS sotto_people`
}

/** Rows of texts, as the statements of {@link printInspection} return them. */
export type InspectionResults = Readonly<Record<keyof InspectionStatements, readonly unknown[]>>

/** @throws RangeError for results that are not integers. */
export function readInspection({ dataset, unit }: TableDataset, results: InspectionResults): TableInspection {
  const [rowsRead = 0, rowsWithoutIdentifier = 0, ...misfits] = results.counts.map(readCount)
  const [rowsStored = 0, people = 0] = results.stored.map(readCount)
  const limits = results.limits.map(readCount)
  return {
    rowsRead,
    rowsWithoutIdentifier,
    rowsStored,
    ...(unit.kind === 'person' ? { people } : {}),
    misfits,
    repeated: results.repeated.map((value) => readCount(value) === 1),
    distinctValues: dataset.columns.map((column, i) => (hasLimit(column) ? limits[2 * i] : undefined)),
    longestTexts: dataset.columns.map((column, i) =>
      column.type === 'string' && column.selectable !== undefined ? limits[2 * i + 1] : undefined,
    ),
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

function readCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(count)) throw new RangeError('a count is not an integer')
  return count
}
