import { beforeAll, describe, onTestFinished } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/ledger.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite/database.ts'
import { sqliteStore } from '../../src/ledger/sqlite/store.ts'
import { temporaryLedger } from '../folders.ts'
import { describePostgres } from '../servers/postgres.ts'
import { withClient } from '../servers/postgres-server.ts'
import { FIRST_MS, type Fixture, ledgerOver } from './fixture.ts'
import type { OpenLedger } from './model/races.ts'

/** A store under test. */
export interface StoreUnderTest {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Opens a new ledger, which is closed when the test ends. */
  openFixture(): Promise<SharedFixture>
}

/** A fixture whose ledger several processes may have open, if the store supports it. */
export interface SharedFixture extends Fixture {
  /** Opens the ledger as another process would. On SQLite, returns the same ledger. */
  another(): Promise<Ledger>
  /** Closes the ledger before the test ends. */
  close(): Promise<void>
}

/** Registers tests for each store. `tests` is called once for each. */
export function describeEachStore(name: string, tests: (store: StoreUnderTest) => void): void {
  describeOnSqlite(name, tests)
  describeOnPostgres(name, tests)
}

export function describeOnSqlite(name: string, tests: (store: StoreUnderTest) => void): void {
  describe(`${name}, on SQLite`, () => tests({ name: 'SQLite', openFixture: fixtureOnSqlite }))
}

export function describeOnPostgres(name: string, tests: (store: StoreUnderTest) => void): void {
  describePostgres(`${name}, on PostgreSQL`, ({ createDatabase }) => {
    let url: string
    beforeAll(async () => {
      url = await createDatabase()
    })
    tests({ name: 'PostgreSQL', openFixture: () => fixtureOnPostgres(url) })
  })
}

async function fixtureOnSqlite(): Promise<SharedFixture> {
  const path = temporaryLedger()
  const clock = { ms: FIRST_MS }
  let ledger = open()
  function open(): Ledger {
    const database = openSqliteDatabase(path)
    // Crash safety is tested elsewhere, with real flushes.
    database.exec('PRAGMA synchronous = OFF')
    return ledgerOver(sqliteStore(database, () => clock.ms))
  }
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= ledger.close()
    return closed
  }
  onTestFinished(close)
  return {
    clock,
    get ledger() {
      return ledger
    },
    async reopen() {
      await ledger.close()
      ledger = open()
    },
    another: async () => ledger,
    close,
  }
}

/** Opens the ledger in the database at `url` after deleting all its rows. */
export async function fixtureOnPostgres(
  url: string,
  openLedger: OpenLedger = openPostgresLedger,
): Promise<SharedFixture> {
  await empty(url)
  const clock = { ms: FIRST_MS }
  const opened: Ledger[] = []
  const open = async () => {
    const each = await openLedger({ url, now: () => clock.ms })
    opened.push(each)
    return each
  }
  let ledger = await open()
  const close = async () => {
    for (const each of opened) await each.close()
  }
  onTestFinished(close)
  return {
    clock,
    get ledger() {
      return ledger
    },
    async reopen() {
      await ledger.close()
      ledger = await open()
      // Other replicas may be running, so leases are not voided. They expire.
      clock.ms += 1_000
    },
    another: open,
    close,
  }
}

/** Deletes all rows of earlier tests, which takes a tenth of the time of creating a database. */
async function empty(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'sotto' AND tablename <> 'schema_version'",
    )
    // In this role, the triggers that refuse deletions do not run.
    const deletions = rows.map(({ tablename }) => `DELETE FROM sotto.${tablename}`)
    await client.query(['SET session_replication_role = replica', ...deletions].join('; '))
  })
}
