import {
  chmodSync,
  closeSync,
  copyFileSync,
  openSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { openSqliteStore } from '../../src/ledger/sqlite-store.ts'
import { loss, question, run, temporaryPath } from './support.ts'

const PAGE_BYTES = 4096

function filledLedger(): string {
  const path = temporaryPath()
  const store = openSqliteStore(path, Date.now)
  run(store, 'openBudget', 'census', loss('1'), 'carol')
  const charged = run(store, 'charge', question('a'))
  if (charged.kind !== 'charged') throw new Error('the charge must succeed')
  run(store, 'recordAnswer', charged.charge.id, 1, 'an answer')
  run(store, 'charge', question('b'))
  store.close()
  return path
}

function fault(kind: string, message: string | RegExp) {
  return expect.objectContaining({ name: 'LedgerFault', kind, message: expect.stringMatching(message) })
}

describe('the tables refuse', () => {
  // A hand at a SQL prompt: another connection, none of the store's own statements.
  function prompt(): DatabaseSync {
    const database = new DatabaseSync(filledLedger(), { readBigInts: true })
    onTestFinished(() => database.close())
    return database
  }

  it.each([
    ['an overspent budget', 'UPDATE budgets SET spent_epsilon_nano = cap_epsilon_nano + 1'],
    ['an overspent delta', 'UPDATE budgets SET spent_delta_atto = 1'],
    ['an integer that becomes a REAL', 'UPDATE budgets SET spent_epsilon_nano = 9223372036854775807 + 1'],
    ['a cap beyond the largest', 'UPDATE budgets SET cap_epsilon_nano = 1000000000000001'],
    ['a cap that is a REAL', 'UPDATE budgets SET cap_epsilon_nano = 1e18'],
    ['a delta of one', 'UPDATE budgets SET cap_delta_atto = 1000000000000000000'],
    ['a lowered cap', 'UPDATE budgets SET cap_epsilon_nano = 999999999'],
    ['a refund', 'UPDATE budgets SET spent_epsilon_nano = 0'],
    ['a deleted budget', 'DELETE FROM budgets'],
    [
      'a replaced budget',
      `INSERT OR REPLACE INTO budgets SELECT dataset, cap_epsilon_nano, 0, 0, 0, 0, head_hash FROM budgets`,
    ],
    [
      'a budget that is born overspent',
      `INSERT INTO budgets SELECT 'other', 5, 0, 6, 0, 0, head_hash FROM budgets`,
    ],
    ['a negative charge', 'UPDATE charges SET loss_epsilon_nano = -1'],
    ['a changed price', 'UPDATE charges SET loss_epsilon_nano = 1'],
    ['a charge of another dataset', "UPDATE charges SET dataset = 'other'"],
    ['an answered charge that is open again', "UPDATE charges SET state = 'charged'"],
    ['an unknown state', "UPDATE charges SET state = 'refunded' WHERE state = 'charged'"],
    ['a deleted charge', 'DELETE FROM charges'],
    ['a changed release', "UPDATE releases SET answer = 'another'"],
    ['a deleted release', 'DELETE FROM releases'],
    ['a changed event', "UPDATE events SET hash = replace(hash, 'a', 'b')"],
    ['a deleted event', 'DELETE FROM events'],
    ['a replaced event', 'INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 2'],
  ])('%s', (_, sql) => {
    const database = prompt()
    const before = database.prepare('SELECT * FROM budgets').all()
    expect(() => database.exec(sql)).toThrow()
    expect(database.prepare('SELECT * FROM budgets').all()).toEqual(before)
  })
})

describe('opening', () => {
  it('makes a file for its owner only, and keeps a copied one so', () => {
    const path = filledLedger()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    chmodSync(path, 0o644)
    const database = openSqliteDatabase(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    database.close()
  })

  it('is durable: a write-ahead log that is flushed by every commit', () => {
    const database = openSqliteDatabase(temporaryPath())
    onTestFinished(() => database.close())
    const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    expect(pragma('journal_mode')).toBe('wal')
    expect(pragma('synchronous')).toBe(2n)
    expect(pragma('locking_mode')).toBe('exclusive')
    expect(pragma('foreign_keys')).toBe(1n)
    expect(pragma('integrity_check')).toBe('ok')
  })

  it('finds everything again, with the leases of whoever is gone void', () => {
    const path = filledLedger()
    const store = openSqliteStore(path, Date.now)
    onTestFinished(() => store.close())
    expect(run(store, 'budget', 'census')).toEqual({ cap: loss('1'), spent: loss('0.2') })
    expect(run(store, 'charge', question('a'))).toMatchObject({ kind: 'answered', answer: 'an answer' })
    expect(run(store, 'charge', question('b'))).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    expect(run(store, 'entries', 'census', { limit: 10 })).toHaveLength(5)
  })

  it('fails loudly where the ledger is open already, by whatever name, and does not disturb it', () => {
    const path = filledLedger()
    const store = openSqliteStore(path, Date.now)
    onTestFinished(() => store.close())
    symlinkSync(path, `${path}.link`)
    for (const name of [path, path, `${path}.link`]) {
      expect(() => openSqliteDatabase(name)).toThrow(
        fault('in-use', `another process has the ledger ${name} open`),
      )
    }
    expect(run(store, 'charge', question('c')).kind).toBe('charged')
  })

  it('refuses a ledger of a newer release, and leaves it as it is', () => {
    const path = filledLedger()
    const newer = new DatabaseSync(path)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    expect(() => openSqliteDatabase(path)).toThrow(fault('unusable', /schema version 99/))
    const after = new DatabaseSync(path)
    onTestFinished(() => after.close())
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 })
  })

  it("refuses another program's database, a file that is none, and a folder that is not there", () => {
    const path = temporaryPath()
    const other = new DatabaseSync(path)
    other.exec('CREATE TABLE something (else_ TEXT)')
    other.close()
    expect(() => openSqliteDatabase(path)).toThrow(fault('unusable', /not a ledger/))
    writeFileSync(`${path}.txt`, 'no database at all, but long enough to be looked at '.repeat(100))
    expect(() => openSqliteDatabase(`${path}.txt`)).toThrow(fault('unusable', /not a database/))
    expect(() => openSqliteDatabase(`${path}/not/there`)).toThrow(fault('unusable', /cannot be opened/))
  })

  it('refuses or stops at a file whose pages are damaged, and acknowledges nothing', () => {
    const path = filledLedger()
    const pages = statSync(path).size / PAGE_BYTES
    let refused = 0
    for (let page = 1; page < pages; page += 1) {
      const copy = `${path}.${page}`
      copyFileSync(path, copy)
      damagePage(copy, page)
      let acknowledged = 0
      try {
        const store = openSqliteStore(copy, Date.now)
        try {
          if (run(store, 'charge', question('c')).kind === 'charged') acknowledged += 1
        } finally {
          store.close()
        }
        const again = openSqliteStore(copy, Date.now)
        onTestFinished(() => again.close())
        expect(run(again, 'charge', question('c')).kind).toBe('charged')
      } catch (error) {
        refused += 1
        expect(acknowledged).toBe(0)
        expect(error).toMatchObject({ name: 'LedgerFault' })
      }
    }
    expect(refused).toBeGreaterThan(3)
  })
})

function damagePage(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES)
  closeSync(file)
}
