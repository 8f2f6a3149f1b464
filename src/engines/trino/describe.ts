import type { TableColumn } from '../../core/dataset/dataset.ts'
import { must } from '../../privacy/must.ts'
import type { TrinoConnection } from '../tables/connection.ts'
import { printTableName } from '../tables/joined.ts'
import type { ShownRelation, TableDataset, TableName } from '../tables/table-engine.ts'
import { TrinoFailure } from './connection.ts'
import { text } from './encodings/literals.ts'
import { type RunStatement, rowsOf } from './sessions.ts'

/**
 * Describes the columns of a table; none if there is no such table. Trino compares names in lower case.
 * @throws RangeError for a result that cannot be read.
 */
export async function describeTable(
  run: RunStatement,
  { schema, name }: TableName,
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

/**
 * Finds the relations whose rows a table shows: itself, and those that the plan of a statement over it reads, if the user
 * may plan one.
 * @throws RangeError for a result that cannot be read.
 */
export async function describeRelations(
  run: RunStatement,
  { host, port, catalog }: Pick<TrinoConnection, 'host' | 'port' | 'catalog'>,
  { schema, name }: TableName,
): Promise<readonly ShownRelation[]> {
  const textOf = (...names: readonly string[]) =>
    ['trino', `${host}:${port}`, ...names].join(' ').toLowerCase()
  const itself = textOf(catalog, schema, name)
  try {
    const sql = `EXPLAIN (TYPE IO, FORMAT JSON) SELECT * FROM ${printTableName({ schema, name })}`
    const [row] = await rowsOf(run(sql), 1)
    const read = readPlan(String(row?.[0])).map((table) =>
      textOf(table.catalog, table.schemaTable.schema, table.schemaTable.table),
    )
    const isOrigin = (text: string) => read.length === 0 || read.includes(text)
    return [...new Set([itself, ...read])].map((text) => ({ text, isOrigin: isOrigin(text) }))
  } catch (error) {
    if (error instanceof TrinoFailure && error.outcome === 'failed') return [{ text: itself, isOrigin: true }]
    throw error
  }
}

interface PlannedTable {
  readonly catalog: string
  readonly schemaTable: { readonly schema: string; readonly table: string }
}

/** Reads the tables of a plan. */
function readPlan(json: string): readonly PlannedTable[] {
  const plan: { readonly inputTableColumnInfos?: readonly { readonly table: PlannedTable }[] } =
    JSON.parse(json)
  return must(plan.inputTableColumnInfos, 'the tables of a plan').map(({ table }) => table)
}

/** Largest number of columns of a table. */
const MOST_COLUMNS = 100_000

/**
 * A table without what statements do not rely on. Trino repeats what a connector claims of NOT NULL, such as that of a
 * foreign table, and enforces nothing.
 */
export function trusted(table: TableDataset): TableDataset {
  return { ...table, columns: table.columns.map((column) => ({ ...column, notNull: false })) }
}
