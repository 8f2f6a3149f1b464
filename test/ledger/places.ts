import { DatabaseSync } from 'node:sqlite'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Call, OperationName, OperationResults } from '../../src/ledger/operation.ts'
import { MIGRATIONS } from '../../src/ledger/sqlite/schema.ts'
import { type SqliteStore, sqliteStore } from '../../src/ledger/sqlite/store.ts'

/** A ledger with the clock that it goes by, which a test may set. */
export interface Place {
  readonly clock: { ms: number }
  /** The latest that was opened. */
  readonly ledger: Ledger
  /** Close the ledger and open it again. */
  reopen(): Promise<void>
}

/** The time at which every test begins. */
export const FIRST_MS = Date.UTC(2026, 0, 1)

/**
 * A store as a ledger, on the thread that asks: whatever is asked before anybody waits is one batch, as in the ledger's
 * own thread.
 */
export function ledgerOver(store: SqliteStore): Ledger {
  let waiting: { call: Call; resolve(result: never): void; reject(error: unknown): void }[] = []

  function ask<Name extends OperationName>(
    operation: Name,
    args: Call<Name>['args'],
  ): Promise<OperationResults[Name]> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(carryOut)
      waiting.push({ call: { operation, args } as Call, resolve, reject })
    })
  }

  function carryOut(): void {
    const asked = waiting
    waiting = []
    try {
      const settled = store.batch(asked.map(({ call }) => call))
      for (const [index, each] of settled.entries()) {
        if (each.kind === 'done') asked[index]?.resolve(each.result as never)
        else asked[index]?.reject(each.error)
      }
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  return {
    openBudget: (...args) => ask('openBudget', args),
    grant: (...args) => ask('grant', args),
    allot: (...args) => ask('allot', args),
    analystSpending: (...args) => ask('analystSpending', args),
    head: (...args) => ask('head', args),
    datasets: () => ask('datasets', []),
    budget: (...args) => ask('budget', args),
    charge: (...args) => ask('charge', args),
    recordAnswer: (...args) => ask('recordAnswer', args),
    recordFailure: (...args) => ask('recordFailure', args),
    openSession: (...args) => ask('openSession', args),
    session: (...args) => ask('session', args),
    sessionQuestion: (...args) => ask('sessionQuestion', args),
    recordSessionAnswer: (...args) => ask('recordSessionAnswer', args),
    sessionAnswers: (...args) => ask('sessionAnswers', args),
    entries: (...args) => ask('entries', args),
    events: (...args) => ask('events', args),
    release: (...args) => ask('release', args),
    chargeRecords: (...args) => ask('chargeRecords', args),
    chargeCounts: () => ask('chargeCounts', []),
    lastDatasetVersion: (...args) => ask('lastDatasetVersion', args),
    exclusively: (task) => task(async () => undefined),
    healthy: () => ask('healthy', []),
    close: async () => store.close(),
  }
}

/** What a store is made of, so that a changed copy of the source can take its place. */
export interface StoreSource {
  readonly sqliteStore: typeof sqliteStore
}

/** What a new ledger's file holds: to copy it takes a tenth of what the steps of the schema take. */
const EMPTY_LEDGER = (() => {
  const database = new DatabaseSync(':memory:')
  for (const step of MIGRATIONS) database.exec(step)
  const bytes = database.serialize()
  database.close()
  return bytes
})()

/** The SQLite store in memory, for tests in which nothing has to survive; a restart voids the leases, as it does there. */
export function placeInMemory(source: StoreSource = { sqliteStore }): Place {
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
