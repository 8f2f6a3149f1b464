import { readFileSync } from 'node:fs'
import type { ClientBase } from 'pg'
import { must } from '../../privacy/must.ts'
import { LedgerFault } from '../fault.ts'
import { type StoredSchema, statementsFor } from '../stores/stored-schema.ts'
import { ask, type StoreName } from './connection.ts'

/** A schema of Sotto in a database. */
export interface PostgresSchema extends StoredSchema {
  readonly name: 'sotto' | 'sotto_catalog'
  /** What the schema holds, as messages name it. */
  readonly store: StoreName
  /** Key of the advisory lock under which it is created, so that replicas that start together create it once. */
  readonly lock: number
}

/** The schema of the ledger in a PostgreSQL database. */
export const LEDGER_SCHEMA: PostgresSchema = {
  name: 'sotto',
  store: 'ledger',
  // `Stt1`.
  lock: 0x53747431,
  version: 10,
  sql: readFileSync(new URL('./schema.sql', import.meta.url), 'utf8'),
  steps: new Map(),
}

/**
 * Creates a schema, or brings it to the version of this release, in one transaction. If it is already there, no right to
 * change the schema is needed.
 * @throws LedgerFault `unusable` if the schema is of another release or another program; StatementError.
 */
export async function prepareSchema(client: ClientBase, schema: PostgresSchema): Promise<void> {
  const { name, lock, version } = schema
  if ((await missingStatements(client, schema)).length === 0) return
  // The statements, here or in another replica, may take long.
  await ask(client, 'BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0')
  try {
    await ask(client, `SELECT pg_advisory_xact_lock(${lock})`)
    for (const statements of await missingStatements(client, schema)) await ask(client, statements)
    await ask(client, `UPDATE ${name}.schema_version SET version = ${version}; COMMIT`)
  } catch (error) {
    // If the connection is lost, the transaction has ended.
    await ask(client, 'ROLLBACK').catch(() => {})
    throw error
  }
}

/**
 * Returns the statements that bring a schema to the version of this release.
 * @throws LedgerFault `unusable` if the schema is of another release or another program.
 */
async function missingStatements(client: ClientBase, schema: PostgresSchema): Promise<readonly string[]> {
  const { name, store, version } = schema
  const { rows } = await ask(
    client,
    `SELECT to_regclass('${name}.schema_version') IS NOT NULL AS versioned, to_regnamespace('${name}') IS NULL AS missing,
      EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('${name}')) AS used`,
  )
  const { versioned, missing, used } = must(rows[0], 'the state of the schema')
  if (versioned === true) {
    const found = await ask(client, `SELECT version FROM ${name}.schema_version`)
    return statementsFor(Number(found.rows[0]?.version), schema, `the ${store}`)
  }
  if (used === true) throw new LedgerFault('unusable', `the schema ${name} belongs to another program`)
  return [
    // An operator may have created the schema. Creating it needs a right that filling it does not.
    missing === true ? `CREATE SCHEMA ${name}` : '',
    `CREATE TABLE ${name}.schema_version (version integer NOT NULL CHECK (version > 0));
     CREATE UNIQUE INDEX one_schema_version ON ${name}.schema_version ((true));
     INSERT INTO ${name}.schema_version VALUES (${version})`,
    ...statementsFor(0, schema, `the ${store}`),
  ]
}

/**
 * Requires that a schema is that of this release.
 * @throws LedgerFault `unusable` if it is not.
 */
export async function expectSchema(client: ClientBase, schema: PostgresSchema): Promise<void> {
  if ((await missingStatements(client, schema)).length > 0)
    throw new LedgerFault('unusable', `the ${schema.store} is not complete`)
}
