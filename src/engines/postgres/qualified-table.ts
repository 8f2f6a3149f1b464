import type { PostgresConnection } from '../tables/connection.ts'
import { requireColumns, type TableDataset, type TableName } from '../tables/table-engine.ts'
import { printColumns, printHold, type QualifiedName, readColumns } from './table-facts.ts'
import type { TransactionTerms } from './transactions.ts'

/** A dataset's table whose schema is known. */
export type QualifiedTable = TableDataset & { readonly table: QualifiedName }

type DefaultSchema = Pick<PostgresConnection, 'schema'>

/** Completes the name of a table by the schema of its connection. */
export function qualify({ schema, name }: TableName, connection: DefaultSchema): QualifiedName {
  return { schema: schema ?? connection.schema, name }
}

/** Completes the name of a dataset's table. */
export function qualifyTable(table: TableDataset, connection: DefaultSchema): QualifiedTable {
  return { ...table, table: qualify(table.table, connection) }
}

/** Terms of statements that read a table: its definition is kept and compared first. */
export function readingTerms(
  { table, columns }: QualifiedTable,
  terms: Pick<TransactionTerms, 'isolation' | 'timeoutMs' | 'signal'>,
): TransactionTerms {
  return {
    ...terms,
    prepare: [printHold(table), printColumns(table)],
    check: (rows) => requireColumns(columns, readColumns(rows)),
  }
}
