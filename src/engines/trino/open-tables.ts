import { type DatasetVersion, versionKey } from '../../catalog/dataset.ts'
import type { Dialect } from '../dialect.ts'
import { EngineFailure } from '../engine.ts'
import type { TrinoConnection } from '../tables/connection.ts'
import { printRelation, printSelectedRows } from '../tables/relation.ts'
import { requireColumns, type TableDataset, type TableEngine } from '../tables/table-engine.ts'
import { trinoDialect } from './dialect.ts'
import { createQueries, isShortEnough, type Queries, type UseDataset } from './queries.ts'
import type { Sessions } from './sessions.ts'
import { asPrinted, describeTable } from './statements.ts'

/** A dataset that can be queried. */
interface OpenDataset {
  readonly table: TableDataset
  /** The dialect whose relation is the dataset's table. */
  readonly dialect: Dialect
  /** Cancels the dataset's statements. */
  readonly closing: AbortController
}

/** The datasets of one connection that can be queried. */
export type OpenTables = Queries &
  Required<Pick<TableEngine, 'accepts' | 'open' | 'closeDataset'>> & {
    /** Closes every dataset. */
    closeAll(): Promise<void>
  }

/** Creates an empty set of open datasets. */
export function createOpenTables(
  sessions: Sessions,
  { limits, schema }: Pick<TrinoConnection, 'limits' | 'schema'>,
): OpenTables {
  const opened = new Map<string, OpenDataset>()

  const useDataset: UseDataset = async (dataset, query) => {
    const open = opened.get(versionKey(dataset))
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    const { table, dialect, closing } = open
    return sessions.use({ timeoutMs: limits.statementTimeoutMs, signal: closing.signal }, async (run) => {
      const comparison = describeTable(run, { schema, ...table.table }).then((found) =>
        requireColumns(table.columns, found),
      )
      return runBeside(comparison, async (signal) => query({ dialect, run: (sql) => run(sql, signal) }))
    })
  }

  const closeDataset = async (dataset: DatasetVersion): Promise<void> => {
    const key = versionKey(dataset)
    opened.get(key)?.closing.abort()
    opened.delete(key)
  }

  return {
    ...createQueries(useDataset),
    accepts: (dataset, reading) => {
      const open = opened.get(versionKey(dataset))
      return open === undefined || isShortEnough(open.dialect, dataset, reading)
    },
    open: (table) => {
      const key = versionKey(table.dataset)
      if (opened.has(key)) return
      const printed = asPrinted(table, schema)
      const relation = printRelation(trinoDialect, printed)
      const dialect: Dialect = {
        ...trinoDialect,
        relation: () => relation,
        selectRows: (_, conditions) => printSelectedRows(trinoDialect, printed, conditions),
      }
      opened.set(key, { table, dialect, closing: new AbortController() })
    },
    closeDataset,
    closeAll: async () => {
      await Promise.all([...opened.values()].map(({ table }) => closeDataset(table.dataset)))
    },
  }
}

/**
 * Runs a query while the table's columns are compared. The outcome of the query counts only if the comparison succeeds;
 * otherwise the query is cancelled, and its answer or failure is dropped.
 * @throws the failure of the comparison, otherwise that of the query
 */
async function runBeside<Answer>(
  comparison: Promise<void>,
  query: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const cancelling = new AbortController()
  const answer = query(cancelling.signal)
  const [compared] = await Promise.allSettled([
    comparison.catch((error: unknown) => {
      cancelling.abort()
      throw error
    }),
    answer,
  ])
  if (compared.status === 'rejected') throw compared.reason
  return answer
}
