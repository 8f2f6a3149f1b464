import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, type DatabaseSync } from 'node:sqlite'
import { LedgerFault } from '../fault.ts'
import { beginBatch, changesOf } from '../protocol/batch.ts'
import {
  applyCommand,
  applyRead,
  type Call,
  failedWith,
  isCommand,
  type ReadName,
  type Settled,
} from '../stores/operation.ts'
import { flush, isDiskFull, isStoreError, openSqliteDatabase } from './database.ts'
import { sqliteReads } from './reads.ts'
import { sqliteRows } from './rows.ts'
import { sqliteWriter } from './writer.ts'

/** A synchronous ledger over one SQLite file. It blocks its thread during I/O. */
export interface SqliteStore {
  /**
   * Carries out calls in order, in one transaction. A call that fails has no effect and does not affect the others.
   * Once this returns, every result is durable.
   * @throws LedgerFault `unknown` if the commit failed and the store can continue, `stopped` if it must not; Error if
   *    the tables refuse what one of the calls writes. The transaction is rolled back.
   */
  batch(calls: readonly Call[]): readonly Settled[]
  /**
   * Copies the database to a new file, readable by its owner alone. The copy has every batch that was carried out before
   * the promise resolves.
   * @param between called several times per second while no page is being copied. Batches must be carried out there, and
   *    nowhere else, until the promise resolves: the copy would otherwise contain a part of a transaction.
   * @throws Error if the file exists or cannot be written.
   */
  backup(file: string, between: () => void): Promise<void>
  /**
   * Writes the log into the database file and closes it.
   * @throws LedgerFault `stopped` if that fails. The log remains durable and is read when the file is opened next.
   */
  close(): void
}

/** Number of pages that a backup copies at a time: a few milliseconds, for which batches wait. */
const BACKUP_PAGES = 500

/**
 * Opens or creates the ledger in a SQLite file. Leases of attempts that an earlier process left unfinished are void.
 * @param now returns the time in milliseconds since 1970
 * @throws LedgerFault `in-use` or `unusable`.
 */
export function openSqliteStore(path: string, now: () => number): SqliteStore {
  return sqliteStore(openSqliteDatabase(path), now)
}

/**
 * Creates the store over a database from {@link openSqliteDatabase}.
 * @param now returns the time in milliseconds since 1970
 */
export function sqliteStore(database: DatabaseSync, now: () => number): SqliteStore {
  const rows = sqliteRows(database)
  const write = sqliteWriter(database)
  const reads = sqliteReads(database, rows, now)
  let stopped: LedgerFault | undefined

  function settleAll(calls: readonly Call[]): readonly Settled[] {
    let batch = beginBatch(rows, now())
    const settled = calls.map(settle)
    write(changesOf(batch))
    return settled

    function settle(call: Call): Settled {
      if (!isCommand(call)) {
        // A read must see the changes of the calls before it.
        write(changesOf(batch))
        batch = beginBatch(rows, now())
      }
      try {
        const result = isCommand(call) ? applyCommand(batch, call) : applyRead(reads, call as Call<ReadName>)
        return { kind: 'done', result }
      } catch (error) {
        // An error of SQLite concerns the whole batch.
        if (error instanceof Error && 'errcode' in error) throw error
        return failedWith(error)
      }
    }
  }

  function batch(calls: readonly Call[]): readonly Settled[] {
    if (stopped !== undefined) throw stopped
    try {
      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(calls)
      database.exec('COMMIT')
      return settled
    } catch (error) {
      const undone = rollBack()
      if (undone && isDiskFull(error)) throw new LedgerFault('unknown', 'the disk is full', error)
      if (undone && !isStoreError(error)) throw error
      // After a failed flush the operating system may report success for pages that it has lost. No later commit of
      // this process can be trusted.
      const reason = error instanceof Error ? error.message : String(error)
      stopped = new LedgerFault('stopped', `the ledger could not commit and has stopped: ${reason}`, error)
      throw stopped
    }
  }

  function rollBack(): boolean {
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
      return true
    } catch {
      return false
    }
  }

  return {
    batch,
    async backup(file, between) {
      if (stopped !== undefined) throw stopped
      closeSync(openSync(file, 'wx', 0o600))
      await backup(database, file, { rate: BACKUP_PAGES, progress: between })
      flush(file)
      flush(dirname(file))
    },
    close() {
      try {
        if (stopped === undefined) database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new LedgerFault(
          'stopped',
          `the ledger was closed, but its log could not be written into the file: ${reason}`,
          error,
        )
      } finally {
        database.close()
      }
    },
  }
}
