import type { ClientBase } from 'pg'
import { LedgerFault } from '../ledger.ts'
import { ask, type StoreName } from './connection.ts'

/** A schema of Sotto in a database. */
export interface Schema {
  readonly name: 'sotto' | 'sotto_catalog'
  /** What the schema holds, as messages name it. */
  readonly store: StoreName
  /** Key of the advisory lock for migrations, so that replicas that start together migrate once. */
  readonly lock: number
  /** The statements that lead from each version to the next one. */
  readonly migrations: readonly string[]
}

/**
 * Migrates a schema to the newest version in one transaction. If it is already there, no right to change the schema is
 * needed.
 * @throws LedgerFault `unusable` if the schema is from a newer release or another program; StatementError.
 */
export async function migrateSchema(client: ClientBase, schema: Schema): Promise<void> {
  const { name, lock, migrations } = schema
  if ((await schemaVersion(client, schema)) === migrations.length) return
  // Migrations, here or in another replica, may take long.
  await ask(client, 'BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0')
  try {
    await ask(client, `SELECT pg_advisory_xact_lock(${lock})`)
    const version = await schemaVersion(client, schema)
    if (version === 0) {
      const { rows } = await ask(client, `SELECT to_regnamespace('${name}') IS NULL AS missing`)
      // An operator may have created the schema. Creating it needs a right that filling it does not.
      if (rows[0]?.missing === true) await ask(client, `CREATE SCHEMA ${name}`)
      await ask(
        client,
        `CREATE TABLE ${name}.schema_version (version integer NOT NULL CHECK (version > 0));
        CREATE UNIQUE INDEX one_schema_version ON ${name}.schema_version ((true));
        INSERT INTO ${name}.schema_version VALUES (${migrations.length})`,
      )
    }
    for (const step of migrations.slice(version)) await ask(client, step)
    await ask(client, `UPDATE ${name}.schema_version SET version = ${migrations.length}; COMMIT`)
  } catch (error) {
    // If the connection is lost, the transaction has ended.
    await ask(client, 'ROLLBACK').catch(() => {})
    throw error
  }
}

/**
 * Reads the version of a schema; 0 if there is none.
 * @throws LedgerFault `unusable` if it is newer than this release, or belongs to another program.
 */
export async function schemaVersion(
  client: ClientBase,
  { name, store, migrations }: Schema,
): Promise<number> {
  const { rows } = await ask(
    client,
    `SELECT to_regclass('${name}.schema_version') IS NOT NULL AS versioned,
      EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('${name}')) AS used`,
  )
  if (rows[0]?.versioned !== true) {
    if (rows[0]?.used === true)
      throw new LedgerFault('unusable', `the schema ${name} belongs to another program`)
    return 0
  }
  const found = await ask(client, `SELECT version FROM ${name}.schema_version`)
  const version = Number(found.rows[0]?.version)
  if (version > migrations.length) {
    throw new LedgerFault(
      'unusable',
      `the ${store} has schema version ${version}; this release supports up to ${migrations.length}`,
    )
  }
  return version
}
