import type { TableColumn } from '../../catalog/dataset.ts'
import { MISFIT_KINDS } from '../misfits.ts'
import {
  type InspectionResults,
  type InspectionStatements,
  printInspection,
  readInspection,
} from '../tables/inspection.ts'
import type { StoredRows, TableDataset, TableInspection, TableName } from '../tables/table-engine.ts'
import { LONGEST_STATEMENT, type TrinoRows } from './client.ts'
import { trinoDialect } from './dialect.ts'
import { text } from './encodings/literals.ts'
import type { RunStatement } from './sessions.ts'

/**
 * Describes the columns of a table; none if there is no such table. Trino compares names in lower case.
 * @throws RangeError for a result that cannot be read.
 */
export async function describeTable(
  run: RunStatement,
  { schema, name }: Required<TableName>,
): Promise<readonly TableColumn[]> {
  const named = (part: string) => text(part.toLowerCase())
  const rows = await rowsOf(
    run(
      // Without ORDER BY, for which Trino would sort on several nodes and take more than twice the time.
      'SELECT column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns ' +
        `WHERE table_schema = ${named(schema)} AND table_name = ${named(name)}`,
    ),
    MOST_COLUMNS,
  )
  const columns = rows.map(([column, type, isNullable, place]) => {
    if (typeof column !== 'string' || typeof type !== 'string' || typeof place !== 'number')
      throw new RangeError('a column has no name, type or place')
    return { name: column, type, notNull: isNullable === 'NO', place }
  })
  return columns.sort((a, b) => a.place - b.place).map(({ place: _, ...column }) => column)
}

/** Largest number of columns of a table. */
const MOST_COLUMNS = 100_000

/**
 * A table as it is printed. Trino repeats what a connector claims of NOT NULL, such as that of a foreign table, and
 * enforces nothing, so that statements do not rely on it.
 * @param schema the schema of tables that are named without one
 */
export function asPrinted(table: TableDataset, schema: string): TableDataset {
  return {
    ...table,
    table: { schema, ...table.table },
    columns: table.columns.map((column) => ({ ...column, notNull: false })),
  }
}

/**
 * Inspects a table in one statement, in which all parts see the same snapshot where the connector has snapshots; in
 * several if it would be too long.
 * @throws RangeError for a result that cannot be read.
 */
export async function inspectTable(run: RunStatement, table: TableDataset): Promise<TableInspection> {
  const statements = printInspection(trinoDialect, table)
  const parts = PARTS.map((part) => `(${statements[part]}) AS sotto_${part}`)
  const together = `SELECT * FROM ${parts.join(' CROSS JOIN ')}`
  const row: unknown[] = []
  for (const sql of together.length <= LONGEST_STATEMENT
    ? [together]
    : PARTS.map((part) => statements[part])) {
    const [values = []] = await rowsOf(run(sql), 1)
    row.push(...values)
  }
  return readInspection(table, splitResults(row, table.columns.length))
}

const PARTS = [
  'counts',
  'repeated',
  'stored',
  'limits',
] as const satisfies readonly (keyof InspectionStatements)[]

function splitResults(row: readonly unknown[], columns: number): InspectionResults {
  const widths = {
    counts: 2 + MISFIT_KINDS.length * columns,
    repeated: columns,
    stored: 2,
    limits: 2 * columns,
  }
  let start = 0
  const [counts, repeated, stored, limits] = PARTS.map((part) => {
    const from = start
    start += widths[part]
    return row.slice(from, start)
  })
  if (
    counts === undefined ||
    repeated === undefined ||
    stored === undefined ||
    limits === undefined ||
    start !== row.length
  )
    throw new RangeError('the result has another number of columns')
  return { counts, repeated, stored, limits }
}

/**
 * Reads all rows of a statement.
 * @throws RangeError if there are more rows.
 */
export async function rowsOf(pages: AsyncIterable<TrinoRows>, mostRows: number): Promise<TrinoRows> {
  const rows: (readonly unknown[])[] = []
  for await (const page of pages) {
    if (rows.length + page.length > mostRows) throw new RangeError('the result has too many rows')
    for (const row of page) rows.push(row)
  }
  return rows
}

/** @throws RangeError for values that are not texts. */
export function storedRowsOf(page: TrinoRows): StoredRows {
  return page.map((row) =>
    row.map((value) => {
      if (value === null || typeof value === 'string') return value
      throw new RangeError('a value is not a text')
    }),
  )
}
