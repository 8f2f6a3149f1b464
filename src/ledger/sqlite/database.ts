import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { entry } from '../../privacy/must.ts'
import { LedgerFault } from '../fault.ts'
import { type StoredSchema, statementsFor } from '../stores/stored-schema.ts'

/** `Stt1`: marks a SQLite file as a Sotto ledger. */
const APPLICATION_ID = 0x53747431n
/** `Stt0`: marks a ledger that was copied to another store, where it continues. */
const COPIED_ID = 0x53747430n

/** The schema of the ledger in a SQLite file. */
export const SQLITE_SCHEMA: StoredSchema = {
  version: 11,
  sql: readFileSync(new URL('./schema.sql', import.meta.url), 'utf8'),
  steps: new Map(),
}

export interface SqliteOptions {
  /** True to open a ledger that was copied to another store, too. */
  readonly copied?: boolean
}

/**
 * Opens a ledger's database, creating it (readable by its owner only) if it does not exist, durable and locked against
 * every other opener. The leases of attempts that an earlier process left are void.
 * @throws LedgerFault `in-use` or `unusable`.
 */
export function openSqliteDatabase(path: string, { copied = false }: SqliteOptions = {}): DatabaseSync {
  const file = resolve(path)
  let database: DatabaseSync | undefined
  try {
    makePrivate(file)
    database = new DatabaseSync(file, { readBigInts: true, timeout: 0, defensive: true })
    configure(database)
    const wasCopied = isMarkedAsCopied(database)
    if (wasCopied && !copied) throw new LedgerFault('unusable', `the ledger ${file} ${COPIED}`)
    prepareSchema(database, file, wasCopied ? COPIED_ID : APPLICATION_ID)
    voidLeases(database)
    // After a crash, the log may exist only in the operating system's cache. Flushing it now ensures that nothing that
    // is acknowledged later depends on it.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    flush(dirname(file))
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    throw openingFault(error, file)
  }
}

function makePrivate(file: string): void {
  try {
    // An existing file is not opened here. Closing any descriptor of a file releases all locks of this process on it,
    // including the one that keeps other processes out.
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

/** Makes a file, or the directory entries of a folder, durable. SQLite does so too, but ignores failures. */
export function flush(fileOrFolder: string): void {
  const descriptor = openSync(fileOrFolder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Oldest supported version. Before it, and in the withdrawn 3.52.0, resetting the log during a write could corrupt the
 * file.
 */
const LEAST_SQLITE = [3, 51, 3] as const

/** True if a version of SQLite, such as `3.53.4`, has no known defect that loses data in WAL mode. */
export function isSoundSqlite(version: string): boolean {
  if (version === '3.52.0') return false
  const parts = version.split('.').map(Number)
  for (const [place, least] of LEAST_SQLITE.entries()) {
    const part = entry(parts, place)
    if (part !== least) return part > least
  }
  return true
}

function configure(database: DatabaseSync): void {
  const version = String(database.prepare('SELECT sqlite_version() AS version').get()?.version)
  if (!isSoundSqlite(version))
    throw new LedgerFault(
      'unusable',
      `SQLite ${version} may corrupt a ledger: it must be 3.51.3 or newer, as in Node 24.15`,
    )
  // The lock is taken before the file is first read, so that SQLite never uses memory shared with another process.
  database.exec('PRAGMA locking_mode = EXCLUSIVE')
  expectPragma(database, 'journal_mode = WAL', 'wal')
  database.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    PRAGMA wal_autocheckpoint = 16000;
  `)
  expectPragma(database, 'synchronous', 2n)
  expectPragma(database, 'foreign_keys', 1n)
}

function expectPragma(database: DatabaseSync, pragma: string, expected: SQLOutputValue): void {
  const value = pragmaValue(database, pragma)
  if (value !== expected) throw new Error(`PRAGMA ${pragma} returned ${value}`)
}

function pragmaValue(database: DatabaseSync, pragma: string): SQLOutputValue | undefined {
  // All rows are read, because a pragma that changes something returns its row before it writes, which may fail.
  const [row] = database.prepare(`PRAGMA ${pragma}`).all()
  return row === undefined ? undefined : Object.values(row)[0]
}

const COPIED =
  'was copied to PostgreSQL, where it continues: set SOTTO_LEDGER_URL to that database. If the copy was interrupted, ' +
  'repeat "npx sotto ledger copy"'

/** True for a ledger that was copied to another store, where it continues. */
export function isMarkedAsCopied(database: DatabaseSync): boolean {
  return pragmaValue(database, 'application_id') === COPIED_ID
}

/** Marks a ledger as copied, so that no service opens it, or removes the mark. The change is durable. */
export function markAsCopied(database: DatabaseSync, copied: boolean): void {
  database.exec(`PRAGMA application_id = ${copied ? COPIED_ID : APPLICATION_ID}`)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Creates the schema in an empty file, or brings an existing one to the version of this release. */
function prepareSchema(database: DatabaseSync, file: string, id: bigint): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(pragmaValue(database, 'user_version'))
    const owner = pragmaValue(database, 'application_id')
    const empty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
    if (owner !== id && !(empty && owner === 0n && version === 0)) {
      throw new LedgerFault('unusable', `${file} is a SQLite database, but not a ledger`)
    }
    for (const statements of statementsFor(version, SQLITE_SCHEMA, `the ledger ${file}`))
      database.exec(statements)
    database.exec(`PRAGMA application_id = ${id}; PRAGMA user_version = ${SQLITE_SCHEMA.version}; COMMIT`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Expires all leases. Their holder has ended, because this process could take the lock of the file. */
function voidLeases(database: DatabaseSync): void {
  database.exec(`
    UPDATE charges SET lease_expires_at_ms = leased_at_ms
    WHERE state = 'charged' AND lease_expires_at_ms > leased_at_ms
  `)
}

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
/** Errors about a value: too big, against a constraint, of the wrong type, at an unknown parameter. */
const SQLITE_REFUSALS: readonly number[] = [18, 19, 20, 25]

function openingFault(error: unknown, file: string): unknown {
  if (error instanceof LedgerFault) return error
  if (sqliteCode(error) === SQLITE_BUSY) {
    return new LedgerFault('in-use', `another process has the ledger ${file} open`, error)
  }
  const reason = error instanceof Error ? error.message : String(error)
  return new LedgerFault('unusable', `the ledger ${file} cannot be opened: ${reason}`, error)
}

/** True if the disk is full, which is the only failed write after which the store can safely continue. */
export function isDiskFull(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_FULL
}

/** True if an error concerns the file, such as the disk or a corrupt page, and not a refused value. */
export function isStoreError(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && !SQLITE_REFUSALS.includes(code)
}

function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  // The lowest byte is the code. The rest has details.
  return error.errcode & 0xff
}
