import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'

/** A lock was not free within the time limit. */
export class FileLockTimeout extends Error {}

/** Time between two attempts to get a lock that another task holds. */
const RETRY_MS = 10

/**
 * Runs a task while no other task, of this process or another one, holds the lock of the same file. The lock is that
 * of an SQLite transaction on an otherwise empty database: the operating system releases it when the process ends, so
 * a crash leaves no stale lock behind.
 *
 * @throws FileLockTimeout if the lock is not free within `waitMs`
 * @throws Error if the file system has no locks
 */
export async function withFileLock<Result>(
  file: string,
  task: () => Promise<Result>,
  waitMs = 10_000,
): Promise<Result> {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    const deadlineMs = performance.now() + waitMs
    while (!begin(database)) {
      if (performance.now() > deadlineMs)
        throw new FileLockTimeout(`another process has held the lock ${file} for too long`)
      await setTimeout(RETRY_MS)
    }
    return await task()
  } finally {
    database.close()
  }
}

/** Begins the transaction; returns false if another task holds the lock. */
function begin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}

const SQLITE_BUSY = 5
