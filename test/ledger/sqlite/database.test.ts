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
import { openSqliteDatabase } from '../../../src/ledger/sqlite/database.ts'
import { openSqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { temporaryLedger } from '../../folders.ts'
import { SESSION } from '../contract/operations/sessions.ts'
import { FILLED_TABLES, FILLING, insertAnswer, REFUSED } from '../stores/refused-changes.ts'
import { basic, loss, question, rho, run } from '../support.ts'

const PAGE_BYTES = 4096
const SQLITE_CONSTRAINT = 19

/** A ledger with rows in every table. */
function filledLedger(): string {
  const path = temporaryLedger()
  const store = openSqliteStore(path, Date.now)
  for (const call of FILLING) expect(store.batch([call])).toMatchObject([{ kind: 'done' }])
  store.close()
  return path
}

function fault(kind: string, message: string | RegExp) {
  return expect.objectContaining({ name: 'LedgerFault', kind, message: expect.stringMatching(message) })
}

describe('the tables refuse', () => {
  // A person with an SQL prompt: another connection, without the store's statements and without foreign keys.
  function prompt(): DatabaseSync {
    const database = new DatabaseSync(filledLedger(), {
      readBigInts: true,
      enableForeignKeyConstraints: false,
    })
    onTestFinished(() => database.close())
    return database
  }
  const charge = (columns: string, verb = 'INSERT OR REPLACE') =>
    `${verb} INTO charges SELECT ${columns}, principal, idempotency_key, dataset, dataset_version, request_hash,
      request, 0, 0, 0, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms, sharing, shared_from
      FROM charges`

  it.each<[string, string]>([
    ...REFUSED,
    ['a cap that is a REAL', "UPDATE budgets SET cap_epsilon_nano = 1e18 WHERE dataset = 'census'"],
    [
      'a charge to the administration',
      `INSERT INTO charges SELECT number + 100, replace(id, 'a', 'b'), principal, idempotency_key, '@administration',
      dataset_version, request_hash, request, 0, 0, 0, state, attempt, created_at_ms, leased_at_ms,
      lease_expires_at_ms, sharing, NULL FROM charges LIMIT 1`,
    ],
    ['a replaced budget', "INSERT OR REPLACE INTO budgets SELECT * FROM budgets WHERE dataset = 'census'"],
    [
      'an answer with two texts',
      "INSERT INTO releases SELECT number, 'an answer', x'00', dataset, principal, '', 0 FROM charges WHERE state = 'charged' LIMIT 1",
    ],
    [
      'an answer without a text',
      "INSERT INTO releases SELECT number, NULL, NULL, dataset, principal, '', 0 FROM charges WHERE state = 'charged' LIMIT 1",
    ],
    ['a replaced account', 'INSERT OR REPLACE INTO analysts SELECT * FROM analysts'],
    ['a replaced charge', charge('number, id')],
    ['a charge in the place of another', charge("number, replace(id, 'a', 'b')")],
    [
      'a replaced opening',
      "INSERT OR REPLACE INTO releases SELECT charge, 'another', NULL, dataset, principal, kind, 0 FROM releases",
    ],
    ['a replaced source', 'INSERT OR REPLACE INTO sources SELECT * FROM sources'],
    ['a replaced share', 'INSERT OR REPLACE INTO shared_releases SELECT * FROM shared_releases'],
    ['a replaced event', 'INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 2'],
    [
      'a replaced session',
      'INSERT OR REPLACE INTO sparse_vector_sessions SELECT charge, 100, terms, 0 FROM sparse_vector_sessions',
    ],
    ['a session of no charge', "INSERT INTO sparse_vector_sessions VALUES (77, 1, 'terms', 0)"],
    [
      'a session of a charge without an answer',
      "INSERT INTO sparse_vector_sessions SELECT number, 1, 'terms', 0 FROM charges WHERE state = 'charged'",
    ],
    ['an answer in the place of another', insertAnswer("1, 'k', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['another answer to a key', insertAnswer("3, 'a', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['half an answer', insertAnswer("3, 'k', 'h', 'r', 2, 'a'")],
    ['an answer of no session', "INSERT INTO sparse_vector_answers VALUES (77, 1, 'k', 'h', 'r', 0, 'a')"],
  ])('%s', (_, sql) => {
    const database = prompt()
    const everything = () =>
      Object.keys(FILLED_TABLES).map((table) => database.prepare(`SELECT * FROM ${table}`).all())
    const before = everything()
    // The refusal must come from a constraint, not from an invalid statement.
    expect(() => database.exec(`BEGIN; ${sql}`)).toThrow(
      expect.objectContaining({
        errcode: expect.toSatisfy((code) => (Number(code) & 0xff) === SQLITE_CONSTRAINT),
      }),
    )
    database.exec('ROLLBACK')
    expect(everything()).toEqual(before)
    expect(before.map((rows) => rows.length)).toEqual(Object.values(FILLED_TABLES))
  })
})

describe('opening', () => {
  it('creates a file that only its owner can read, and restricts a copied file', () => {
    const path = filledLedger()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    chmodSync(path, 0o644)
    const database = openSqliteDatabase(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    database.close()
  })

  it('uses a write-ahead log that every commit flushes', () => {
    const database = openSqliteDatabase(temporaryLedger())
    onTestFinished(() => database.close())
    const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    expect(pragma('journal_mode')).toBe('wal')
    expect(pragma('synchronous')).toBe(2n)
    expect(pragma('locking_mode')).toBe('exclusive')
    expect(pragma('foreign_keys')).toBe(1n)
    expect(pragma('integrity_check')).toBe('ok')
  })

  it('finds all rows again and expires the leases of the earlier process', () => {
    const path = filledLedger()
    const store = openSqliteStore(path, Date.now)
    onTestFinished(() => store.close())
    expect(run(store, 'budget', 'census')).toMatchObject({ cap: basic('1'), spent: basic('0.3') })
    expect(run(store, 'budget', 'in rho')?.spent).toEqual(rho('0.01'))
    expect(run(store, 'analystSpending', 'census', 'bob')).toEqual({
      principal: 'bob',
      allotment: { granted: loss('0.5'), limit: basic('0.5') },
      spent: basic('0.1'),
      spentOnShared: basic('0.1'),
    })
    const bobs = run(store, 'charge', question('a', { principal: 'bob', sharing: true }))
    expect(bobs).toMatchObject({ kind: 'shared', charge: { attempt: 2 }, shared: { answer: 'an answer' } })
    expect(run(store, 'charge', question('a'))).toMatchObject({ kind: 'answered', answer: 'an answer' })
    expect(run(store, 'charge', question('b'))).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    expect(run(store, 'entries', 'census', { limit: 20 })).toHaveLength(13)
  })

  it('refuses a ledger that is already open, under any name, and does not disturb it', () => {
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

  it.each([9, 99])('refuses a ledger of schema version %d and does not change it', (version) => {
    const path = filledLedger()
    const other = new DatabaseSync(path)
    other.exec(`PRAGMA user_version = ${version}`)
    other.close()
    expect(() => openSqliteDatabase(path)).toThrow(
      fault('unusable', `has schema version ${version}; this release of Sotto uses version 11 only`),
    )
    const after = new DatabaseSync(path)
    onTestFinished(() => after.close())
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: version })
  })

  it("refuses another program's database, a file that is not a database, and a missing folder", () => {
    const path = temporaryLedger()
    const other = new DatabaseSync(path)
    other.exec('CREATE TABLE something (else_ TEXT)')
    other.close()
    expect(() => openSqliteDatabase(path)).toThrow(fault('unusable', /not a ledger/))
    writeFileSync(`${path}.txt`, 'no database at all, but long enough to be looked at '.repeat(100))
    expect(() => openSqliteDatabase(`${path}.txt`)).toThrow(fault('unusable', /not a database/))
    expect(() => openSqliteDatabase(`${path}/not/there`)).toThrow(fault('unusable', /cannot be opened/))
  })

  it('refuses or stops at a file with damaged pages, and loses no acknowledged data', () => {
    const path = filledLedger()
    const pages = statSync(path).size / PAGE_BYTES
    let [refused, acknowledged] = [0, 0]
    // The request is repeated, because a replay may read pages that the charge did not.
    const asked = question('c')
    for (let page = 1; page < pages; page += 1) {
      const copy = `${path}.${page}`
      copyFileSync(path, copy)
      damagePage(copy, page)
      let attempts = 0
      try {
        for (const attempt of [1, 2]) {
          const store = openSqliteStore(copy, Date.now)
          try {
            expect(run(store, 'charge', asked)).toMatchObject({ kind: 'charged', charge: { attempt } })
            attempts = attempt
          } finally {
            store.close()
          }
        }
      } catch (error) {
        refused += 1
        expect(error).toMatchObject({ name: 'LedgerFault' })
      }
      if (attempts > 0) {
        acknowledged += 1
        expect(attemptsOf(copy, asked.idempotencyKey)).toBe(attempts)
      }
    }
    expect(refused).toBeGreaterThan(3)
    expect(acknowledged).toBeGreaterThan(3)
  })
})

it('the threshold noise is stored once in the file', () => {
  const database = new DatabaseSync(filledLedger(), { readBigInts: true })
  onTestFinished(() => database.close())
  const digits = String(SESSION.thresholdNoise).slice(1)
  for (const { name } of database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()) {
    const rows = database.prepare(`SELECT * FROM ${name}`).all()
    const text = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    expect(text.includes(digits), String(name)).toBe(name === 'sparse_vector_sessions')
  }
})

/** Reads the value from the file, even if other pages are damaged. */
function attemptsOf(path: string, idempotencyKey: string): unknown {
  const database = new DatabaseSync(path)
  try {
    const charges = database.prepare(
      'SELECT attempt FROM charges WHERE principal = ? AND idempotency_key = ?',
    )
    return charges.get('ada', idempotencyKey)?.attempt
  } finally {
    database.close()
  }
}

function damagePage(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES)
  closeSync(file)
}
