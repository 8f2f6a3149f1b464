import type { TableColumn } from '../../core/dataset/dataset.ts'
import { mapNames, type TableDataset, type TableName } from '../tables/table-engine.ts'
import { text } from './encodings/literals.ts'
import { type RunStatement, rowsOf } from './sessions.ts'

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
    table: mapNames(table.table, (name) => ({ schema, ...name })),
    columns: table.columns.map((column) => ({ ...column, notNull: false })),
  }
}
