import { DatabaseSync } from 'node:sqlite'
import type { Ledger, OperationName } from '../../src/ledger/ledger.ts'
import { SQLITE_SCHEMA } from '../../src/ledger/sqlite/database.ts'
import { type SqliteStore, sqliteStore } from '../../src/ledger/sqlite/store.ts'
import { createGroupCommit } from '../../src/ledger/stores/group-commit.ts'
import { ledgerMethods } from '../../src/ledger/stores/operation.ts'

/** A ledger under test, with a clock that the test sets. */
export interface Fixture {
  readonly clock: { ms: number }
  /** The ledger that was opened last. */
  readonly ledger: Ledger
  /** Closes the ledger and opens it again. */
  reopen(): Promise<void>
}

/** The time at which every test starts. */
export const FIRST_MS = Date.UTC(2026, 0, 1)

/** A ledger over a SQLite store, without a worker thread. */
export function ledgerOver(store: SqliteStore): Ledger {
  const batches = createGroupCommit<OperationName>({
    maxBatchSize: 256,
    commit: async (calls) => store.batch(calls),
  })
  return {
    ...ledgerMethods(batches.submit),
    exclusively: (task) => task(async () => undefined),
    async close() {
      await batches.close()
      store.close()
    },
  }
}

/** The code of the store, which mutants replace. */
export interface StoreSource {
  readonly sqliteStore: typeof sqliteStore
}

/** The file of a new ledger. Copying it takes a tenth of the time of creating it. */
const EMPTY_LEDGER = (() => {
  const database = new DatabaseSync(':memory:')
  database.exec(SQLITE_SCHEMA.sql)
  const bytes = database.serialize()
  database.close()
  return bytes
})()

/**
 * Opens a SQLite store in memory. As with a file, reopening it voids the leases.
 */
export function fixtureInMemory(source: StoreSource = { sqliteStore }): Fixture {
  const database = new DatabaseSync(':memory:', { readBigInts: true, timeout: 0 })
  database.deserialize(EMPTY_LEDGER)
  const clock = { ms: FIRST_MS }
  let ledger = ledgerOver(source.sqliteStore(database, () => clock.ms))
  return {
    clock,
    get ledger() {
      return ledger
    },
    async reopen() {
      database.exec("UPDATE charges SET lease_expires_at_ms = leased_at_ms WHERE state = 'charged'")
      ledger = ledgerOver(source.sqliteStore(database, () => clock.ms))
    },
  }
}
