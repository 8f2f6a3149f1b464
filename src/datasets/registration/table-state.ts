import { connectionOf } from '../../core/dataset/dataset.ts'
import type { CatalogEntry } from '../../core/dataset/entry.ts'
import { EngineFailure } from '../../engines/engine.ts'
import {
  type ColumnChange,
  describeTables,
  findColumnChanges,
  tablesOf,
} from '../../engines/tables/table-engine.ts'
import type { Connections } from './sources/table.ts'

/** The columns of a live table, or of live tables that are joined, compared with those of its registration. For the custodian only. */
export interface TableState {
  /**
   * - `as-registered`: the declared columns are those of the present version.
   * - `changed`: they differ as `changes` lists.
   * - `missing`: there is no such table, or the connection may no longer read it.
   * - `unknown`: the database did not answer.
   */
  readonly state: 'as-registered' | 'changed' | 'missing' | 'unknown'
  readonly changes: readonly ColumnChange[]
  /** The differences, and how the custodian can end the suspension. */
  readonly message: string
}

type ComparedColumns = Omit<TableState, 'message'>

/** Time limit for the description of a table. */
const DESCRIBE_MS = 5_000

/**
 * Compares the present columns of a live table with those of its registration. Nothing of them is recorded or logged.
 * @returns `undefined` for a dataset that is not a live table
 */
export async function readTableState(
  connections: Connections,
  entry: Pick<CatalogEntry, 'dataset' | 'tableColumns'>,
): Promise<TableState | undefined> {
  const compared = await compareColumns(connections, entry)
  return compared === undefined ? undefined : { ...compared, message: explain(compared) }
}

async function compareColumns(
  connections: Connections,
  { dataset, tableColumns }: Pick<CatalogEntry, 'dataset' | 'tableColumns'>,
): Promise<ComparedColumns | undefined> {
  const connection = connectionOf(dataset)
  if (connection === undefined || tableColumns === undefined) return undefined
  const signal = AbortSignal.timeout(DESCRIBE_MS)
  try {
    const engine = connections.get(connection)?.engine
    if (engine === undefined) return { state: 'unknown', changes: [] }
    const found = await describeTables(engine, tablesOf(dataset), signal)
    if (found === undefined) return { state: 'missing', changes: [] }
    const changes = findColumnChanges(tableColumns, found)
    return { state: changes.length === 0 ? 'as-registered' : 'changed', changes }
  } catch (error) {
    if (!(error instanceof EngineFailure) && !signal.aborted) throw error
    return { state: 'unknown', changes: [] }
  }
}

const RESTORE_OR_PUBLISH =
  'Restore the columns, or publish a new version, which checks the table again and records the present columns. Then resume ' +
  'the dataset.'

function explain({ state, changes }: ComparedColumns): string {
  switch (state) {
    case 'as-registered':
      return 'The table has the columns of the present version. Resume the dataset.'
    case 'missing':
      return (
        'The table no longer exists, or the connection may no longer read it. Restore the table or the grant, then resume ' +
        'the dataset.'
      )
    case 'unknown':
      return `The columns of the table have changed. The database cannot be asked at present which ones. ${RESTORE_OR_PUBLISH}`
    case 'changed': {
      const list = changes.map(describeChange).join('; ')
      const isMissing = changes.some(({ change }) => change === 'missing')
      return `The table has changed since its registration: ${list}. ${isMissing ? RESTORE_MISSING : RESTORE_OR_PUBLISH}`
    }
  }
}

/** A new version cannot leave out a column. */
const RESTORE_MISSING =
  'Restore the columns, then resume the dataset. To go on without a column, withdraw the dataset and register it again ' +
  'without it; its budget and spending remain.'

function describeChange(change: ColumnChange): string {
  const column = JSON.stringify(change.column)
  switch (change.change) {
    case 'missing':
      return `the column ${column} is gone, or the connection may no longer read it`
    case 'type':
      return `the type of the column ${column} was ${change.registered} and is ${change.present}`
    case 'nullable':
      return `the column ${column} may now be NULL`
    case 'not-null':
      return `the column ${column} can no longer be NULL`
    case 'not-unique':
      return `the database no longer guarantees that no value of the column ${column} occurs twice`
  }
}
