import type { TrinoConnection } from '../tables/connection.ts'
import { printInspection, readInspection } from '../tables/inspection.ts'
import { printRead } from '../tables/relation.ts'
import type { StoredRows, TableDataset, TableEngine, TableInspection } from '../tables/table-engine.ts'
import { LONGEST_STATEMENT, type TrinoRows } from './connection.ts'
import { describeRelations, describeTable, trusted } from './describe.ts'
import { trinoDialect } from './dialect.ts'
import { type RunStatement, rowsOf, type Sessions, type SessionTerms } from './sessions.ts'

/**
 * Creates the part of an engine that registrations use.
 * @param closing cancels the statements
 */
export function createRegistration(
  sessions: Sessions,
  connection: TrinoConnection,
  closing: AbortSignal,
): Pick<TableEngine, 'describe' | 'relations' | 'inspect' | 'read'> {
  const { limits } = connection
  const termsOf = (signal?: AbortSignal): SessionTerms => ({
    timeoutMs: limits.registrationTimeoutMs,
    signal: signal === undefined ? closing : AbortSignal.any([closing, signal]),
  })

  async function* read(table: TableDataset, signal?: AbortSignal): AsyncGenerator<StoredRows, void, void> {
    signal?.throwIfAborted()
    const session = await sessions.begin(termsOf(signal)).catch((error: unknown) => reject(error, signal))
    try {
      for await (const page of session.run(printRead(trinoDialect, trusted(table)).sql))
        yield storedRowsOf(page)
    } catch (error) {
      reject(session.failureOf(error), signal)
    } finally {
      session.end()
    }
  }

  return {
    describe: (table, signal) =>
      sessions
        .use(termsOf(signal), async (run) => {
          const columns = await describeTable(run, table)
          return columns.length === 0 ? undefined : columns
        })
        .catch((error: unknown) => reject(error, signal)),
    relations: (table, signal) =>
      sessions
        .use(termsOf(signal), (run) => describeRelations(run, connection, table))
        .catch((error: unknown) => reject(error, signal)),
    inspect: (table, signal) =>
      sessions
        .use(termsOf(signal), (run) => inspectTable(run, trusted(table)))
        .catch((error: unknown) => reject(error, signal)),
    read,
  }
}

/** Throws the reason of a signal that is aborted, otherwise the error. */
function reject(error: unknown, signal: AbortSignal | undefined): never {
  signal?.throwIfAborted()
  throw error
}

/**
 * Inspects a table in one statement, in which all parts see the same snapshot where the connector has snapshots; in
 * several if it would be too long.
 * @throws RangeError for a result that cannot be read.
 */
async function inspectTable(run: RunStatement, table: TableDataset): Promise<TableInspection> {
  const statements = Object.entries(printInspection(trinoDialect, table))
  const parts = statements.map(([name, { sql }]) => `(${sql}) AS sotto_${name}`)
  const together = `SELECT * FROM ${parts.join(' CROSS JOIN ')}`
  const results: TrinoRows[number][] = []
  for (const sql of together.length <= LONGEST_STATEMENT ? [together] : statements.map(([, { sql }]) => sql))
    results.push(...(await rowsOf(run(sql), 1)))
  return readInspection(table, results.flat())
}

/** @throws RangeError for values that are not texts. */
function storedRowsOf(page: TrinoRows): StoredRows {
  return page.map((row) =>
    row.map((value) => {
      if (value === null || typeof value === 'string') return value
      throw new RangeError('a value is not a text')
    }),
  )
}
