import { readFileSync } from 'node:fs'
import type { ClientBase, QueryResult } from 'pg'
import { LedgerFault } from '../fault.ts'
import {
  ask,
  named,
  openConnections,
  prepareConnection,
  type Statement,
  StatementError,
  useOnce,
} from '../postgres/connection.ts'
import { expectSchema, type PostgresSchema, prepareSchema } from '../postgres/schema.ts'
import { answersInTime } from '../stores/operation.ts'
import { DocumentsFault } from './fault.ts'

/** A document as it was at one time. */
export interface StoredDocument {
  /** Changes with every write, and is never used again. */
  readonly revision: string
  readonly text: string
}

/** A text and the name of its document. */
export interface NamedText {
  readonly name: string
  readonly text: string
}

/** Texts in a PostgreSQL database, which several processes change. Every write is durable when its call resolves. */
export interface Documents {
  /** Returns a document as it is now, `undefined` if there is none, or `unchanged` if it still has a known revision. */
  read(name: string, known?: string): Promise<StoredDocument | 'unchanged' | undefined>
  /** Returns the revisions of the documents whose names begin with a prefix, by name. */
  revisions(prefix: string): Promise<ReadonlyMap<string, string>>
  /**
   * Writes a document if it still has the expected revision, or does not exist if none is expected.
   * @param beside a document that is written together with it, whatever it contains now
   * @returns the new revision
   * @throws DocumentsFault if another process has changed it first; then nothing is written.
   */
  write(name: string, text: string, expected: string | undefined, beside?: NamedText): Promise<string>
  /** Removes documents that exist. */
  remove(names: readonly string[]): Promise<void>
  /**
   * Runs a task while no other task, of this process or another one, runs under the same lock. A task whose connection is
   * lost may overlap with the next one, whose writes then exclude each other by their revisions.
   */
  exclusively<Result>(lock: DocumentLock, task: () => Promise<Result>): Promise<Result>
  /** True if the database responds within two seconds. */
  healthy(): Promise<boolean>
  close(): Promise<void>
}

const SCHEMA: PostgresSchema = {
  name: 'sotto_catalog',
  store: 'catalog',
  // `Stc1`.
  lock: 0x53746331,
  version: 1,
  sql: readFileSync(new URL('./schema.sql', import.meta.url), 'utf8'),
  steps: new Map(),
}

/** Keys of advisory locks (`Stc2`, `Stc3`). */
const LOCKS = { keys: 0x53746332, 'key-acts': 0x53746333 } as const
export type DocumentLock = keyof typeof LOCKS

const CONNECTIONS = 4

/** Returns a statement that writes a document under its condition and, if that holds, the one beside it, $3 and $4. */
function writing(condition: string): string {
  return `WITH written AS (${condition} RETURNING revision::text), beside AS (
      INSERT INTO sotto_catalog.documents
      SELECT $3::text, nextval('sotto_catalog.revisions'), $4::text FROM written WHERE $3::text IS NOT NULL
      ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, contents = excluded.contents)
    SELECT revision FROM written`
}
const STATEMENTS = named({
  read: `SELECT revision::text, CASE WHEN revision::text = $2 THEN NULL ELSE contents END AS contents
    FROM sotto_catalog.documents WHERE name = $1`,
  revisions: `SELECT name, revision::text FROM sotto_catalog.documents WHERE starts_with(name, $1) ORDER BY name`,
  insert: writing(`INSERT INTO sotto_catalog.documents VALUES ($1, nextval('sotto_catalog.revisions'), $2)
    ON CONFLICT DO NOTHING`),
  update:
    writing(`UPDATE sotto_catalog.documents SET revision = nextval('sotto_catalog.revisions'), contents = $2
    WHERE name = $1 AND revision = $5::bigint`),
  remove: 'DELETE FROM sotto_catalog.documents WHERE name = ANY ($1::text[])',
  healthy: 'SELECT 1',
})

/**
 * Opens the documents of a database, and creates their schema, `sotto_catalog`. See decision 57.
 * @throws DocumentsFault if the database cannot be used.
 */
export async function openDocuments(url: string): Promise<Documents> {
  // The error for an invalid URL may quote it, with its password.
  if (!URL.canParse(url)) throw new DocumentsFault("the catalog's URL is not valid")
  await guarded(() => useOnce(url, (client) => prepareSchema(client, SCHEMA), SCHEMA.store))
  const prepare = async (client: ClientBase) => {
    await prepareConnection(client, SCHEMA.store)
    await ask(client, 'SET synchronous_commit = on')
    await expectSchema(client, SCHEMA)
  }
  const statements = openConnections(url, CONNECTIONS, prepare, SCHEMA.store)
  const lockHolders = openConnections(url, Object.keys(LOCKS).length, prepare, SCHEMA.store)
  /** The last task of this process for each lock, so that each lock needs one connection at most. */
  const last = new Map<DocumentLock, Promise<unknown>>()

  const run = (statement: Statement, values: readonly unknown[]): Promise<QueryResult> =>
    guarded(() => statements.use((client) => ask(client, statement, values)))

  const query = (statement: Statement, values: readonly unknown[]): Promise<QueryResult> =>
    guarded(() => statements.look(statement, values))

  async function whileLocked<Result>(lock: DocumentLock, task: () => Promise<Result>): Promise<Result> {
    let outcome: Promise<Result> | undefined
    await guarded(() =>
      lockHolders.use(async (client) => {
        await ask(client, `SELECT pg_advisory_lock(${LOCKS[lock]})`)
        outcome = task()
        // The caller gets the error of the task below.
        await outcome.catch(() => undefined)
        // A connection that cannot confirm it is closed, which ends the lock as well.
        await ask(client, `SELECT pg_advisory_unlock(${LOCKS[lock]})`)
      }),
    ).catch((error: unknown) => {
      if (outcome === undefined) throw error
    })
    if (outcome === undefined) throw new Error('the task was not started')
    return outcome
  }

  return {
    async read(name, known = '') {
      const { rows } = await query(STATEMENTS.read, [name, known])
      const [row] = rows
      if (row === undefined) return undefined
      return row.contents === null ? 'unchanged' : { revision: row.revision, text: row.contents }
    },
    async revisions(prefix) {
      const { rows } = await query(STATEMENTS.revisions, [prefix])
      return new Map(rows.map(({ name, revision }) => [name, revision]))
    },
    async write(name, text, expected, beside) {
      const values = [name, text, beside?.name, beside?.text]
      const { rows } =
        expected === undefined
          ? await run(STATEMENTS.insert, values)
          : await run(STATEMENTS.update, [...values, expected])
      if (rows[0] === undefined)
        throw new DocumentsFault('another process has changed the catalog at the same time')
      return rows[0].revision
    },
    async remove(names) {
      if (names.length > 0) await run(STATEMENTS.remove, [names])
    },
    exclusively(lock, task) {
      const result = (last.get(lock) ?? Promise.resolve()).then(() => whileLocked(lock, task))
      last.set(
        lock,
        result.catch(() => undefined),
      )
      return result
    },
    healthy: () => answersInTime(async () => (await query(STATEMENTS.healthy, [])).rowCount === 1),
    async close() {
      await Promise.all([statements.end(), lockHolders.end()])
    },
  }
}

async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw faultFrom(error)
  }
}

function faultFrom(error: unknown): Error {
  if (error instanceof StatementError)
    return new DocumentsFault(`the catalog's database failed: ${error.message}`)
  if (error instanceof LedgerFault) return new DocumentsFault(error.message)
  return error instanceof Error ? error : new Error(String(error))
}
