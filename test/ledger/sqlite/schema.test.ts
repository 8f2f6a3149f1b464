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
import { openSqliteDatabase } from '../../../src/ledger/sqlite/schema.ts'
import { openSqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { answered, SESSION, SESSION_ID } from '../contract/sessions.ts'
import { basic, chargeOf, loss, question, rho, run, summed, temporaryPath } from '../support.ts'

const PAGE_BYTES = 4096
const SQLITE_CONSTRAINT = 19

/** A ledger with rows in every table: a basic dataset whose analysts share, a session, and a dataset under zCDP. */
function filledLedger(): string {
  const path = temporaryPath()
  const store = openSqliteStore(path, Date.now)
  const source = { digest: '0a'.repeat(32), synthetic: false }
  run(store, 'openBudget', 'census', { ...summed('1'), source }, 'carol')
  const { id } = chargeOf(run(store, 'charge', question('a', { sharing: true })))
  run(store, 'recordAnswer', id, 1, 'an answer')
  run(store, 'charge', question('b'))
  run(store, 'charge', question('a', { principal: 'bob', sharing: true }))
  const share = {
    dataset: 'census',
    analyst: 'bob',
    granted: loss('0.5'),
    principal: 'carol',
    reason: 'a share',
  }
  run(store, 'allot', share)
  run(store, 'charge', question('opening'))
  run(store, 'openSession', SESSION_ID, 1, '{"id":"opened"}', SESSION)
  run(store, 'recordSessionAnswer', answered('a', 1, true))
  run(store, 'recordSessionAnswer', answered('b', 2, false))
  run(
    store,
    'openBudget',
    'in rho',
    { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  run(store, 'charge', question('in rho', { dataset: 'in rho', price: rho('0.01') }))
  run(store, 'charge', question('denied', { price: basic('9') }))
  store.close()
  return path
}

const TABLES = [
  'budgets',
  'analysts',
  'charges',
  'releases',
  'shared_releases',
  'events',
  'sparse_vector_sessions',
  'sparse_vector_answers',
  'sources',
]

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
  const insertAnswer = (values: string, verb = 'INSERT') =>
    `${verb} INTO sparse_vector_answers
      (session, question, idempotency_key, request_hash, request, above, answer)
      SELECT charge, ${values} FROM sparse_vector_sessions`
  const charge = (columns: string, verb = 'INSERT OR REPLACE') =>
    `${verb} INTO charges SELECT ${columns}, principal, idempotency_key, dataset, dataset_version, request_hash,
      request, 0, 0, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms, 0, sharing, shared_from
      FROM charges`

  it.each([
    [
      'an overspent budget',
      "UPDATE budgets SET spent_epsilon_nano = cap_epsilon_nano + 1 WHERE dataset = 'census'",
    ],
    ['an overspent delta', "UPDATE budgets SET spent_delta_atto = 1 WHERE dataset = 'census'"],
    ['an overspent rho', "UPDATE budgets SET spent_rho_pico = cap_rho_pico + 1 WHERE dataset = 'in rho'"],
    [
      'an integer that becomes a REAL',
      "UPDATE budgets SET spent_epsilon_nano = 9223372036854775807 + 1 WHERE dataset = 'census'",
    ],
    [
      'a cap beyond the largest',
      "UPDATE budgets SET cap_epsilon_nano = 1000000000000001 WHERE dataset = 'census'",
    ],
    ['a cap that is a REAL', "UPDATE budgets SET cap_epsilon_nano = 1e18 WHERE dataset = 'census'"],
    ['a delta of one', "UPDATE budgets SET cap_delta_atto = 1000000000000000000 WHERE dataset = 'census'"],
    [
      'a rho beyond the largest',
      "UPDATE budgets SET cap_rho_pico = 1000000000000000001 WHERE dataset = 'in rho'",
    ],
    ['rho where it is not counted', "UPDATE budgets SET cap_rho_pico = 1 WHERE dataset = 'census'"],
    ['epsilon where it is not counted', "UPDATE budgets SET spent_epsilon_nano = 1 WHERE dataset = 'in rho'"],
    ['another accounting', "UPDATE budgets SET accounting = 'zcdp' WHERE dataset = 'census'"],
    ['an unknown accounting', "UPDATE budgets SET accounting = 'renyi' WHERE dataset = 'census'"],
    ['a lowered cap', "UPDATE budgets SET cap_epsilon_nano = 999999999 WHERE dataset = 'census'"],
    ['a lowered rho', "UPDATE budgets SET cap_rho_pico = cap_rho_pico - 1 WHERE dataset = 'in rho'"],
    ['a refund', "UPDATE budgets SET spent_epsilon_nano = 0 WHERE dataset = 'census'"],
    ['a refund of rho', "UPDATE budgets SET spent_rho_pico = 0 WHERE dataset = 'in rho'"],
    [
      'a head that is no event',
      "UPDATE budgets SET head_hash = replace(head_hash, 'a', 'b') WHERE dataset = 'census'",
    ],
    [
      'a head that is not the last event',
      "UPDATE budgets SET head_sequence = head_sequence + 1 WHERE dataset = 'census'",
    ],
    [
      'a budget of the administration',
      "UPDATE budgets SET cap_epsilon_nano = 1 WHERE dataset = '@administration'",
    ],
    [
      'a charge to the administration',
      `INSERT INTO charges SELECT number + 100, replace(id, 'a', 'b'), principal, idempotency_key, '@administration',
      dataset_version, request_hash, request, 0, 0, state, attempt, created_at_ms, leased_at_ms,
      lease_expires_at_ms, 0, sharing, NULL FROM charges LIMIT 1`,
    ],
    ['a failure without an event', "UPDATE budgets SET failures = 1 WHERE dataset = 'census'"],
    [
      'a suspension without an event',
      "UPDATE budgets SET failures = 1, suspended = 1 WHERE dataset = 'census'",
    ],
    ['an event marked as a failure', 'UPDATE events SET counted = 1'],
    ['a deleted budget', 'DELETE FROM budgets'],
    ['a replaced budget', "INSERT OR REPLACE INTO budgets SELECT * FROM budgets WHERE dataset = 'census'"],
    [
      'a budget that is overspent when it is opened',
      "INSERT INTO budgets SELECT 'other', 5, 0, 6, 0, 0, head_hash, 'basic', 0, 0, 0, 0 FROM budgets LIMIT 1",
    ],
    [
      'an analyst beyond the allotment',
      "UPDATE analysts SET spent_epsilon_nano = 500000001 WHERE principal = 'bob'",
    ],
    [
      'an allotment below what was spent',
      "UPDATE analysts SET granted_epsilon_nano = 1 WHERE principal = 'bob'",
    ],
    ['half an allotment', "UPDATE analysts SET granted_delta_atto = NULL WHERE principal = 'bob'"],
    ['an allotment without a rho', "UPDATE analysts SET limit_rho_pico = NULL WHERE principal = 'bob'"],
    [
      'a refund of an analyst',
      'UPDATE analysts SET spent_epsilon_nano = spent_epsilon_nano - 1 WHERE spent_epsilon_nano > 0',
    ],
    [
      'a refund of rho to an analyst',
      'UPDATE analysts SET spent_rho_pico = spent_rho_pico - 1 WHERE spent_rho_pico > 0',
    ],
    ['a share undone', "UPDATE analysts SET shared_epsilon_nano = 0 WHERE principal = 'bob'"],
    [
      'more shared than spent',
      "UPDATE analysts SET shared_epsilon_nano = spent_epsilon_nano + 1 WHERE principal = 'bob'",
    ],
    ["another's account", "UPDATE analysts SET principal = 'eve' WHERE principal = 'bob'"],
    ['forgotten bytes', 'UPDATE analysts SET stored_bytes = 0 WHERE stored_bytes > 0'],
    ['forgotten denials', 'UPDATE analysts SET denials = 0 WHERE denials > 0'],
    [
      'an answer with two texts',
      "INSERT INTO releases (charge, answer, deflated) SELECT number, 'an answer', x'00' FROM charges WHERE state = 'charged' LIMIT 1",
    ],
    ['a deleted account', 'DELETE FROM analysts'],
    ['a replaced account', 'INSERT OR REPLACE INTO analysts SELECT * FROM analysts'],
    ['a negative charge', 'UPDATE charges SET loss_epsilon_nano = -1'],
    ['a changed price', 'UPDATE charges SET loss_epsilon_nano = 1'],
    ['a changed price in rho', "UPDATE charges SET loss_rho_pico = 1 WHERE dataset = 'in rho'"],
    [
      'a charge made a share',
      "UPDATE charges SET shared_from = id WHERE state = 'charged' AND shared_from IS NULL",
    ],
    ['a share made a charge', 'UPDATE charges SET shared_from = NULL WHERE shared_from IS NOT NULL'],
    ['a charge of another dataset', "UPDATE charges SET dataset = 'other'"],
    ['an answered charge that is open again', "UPDATE charges SET state = 'charged'"],
    [
      'a paid charge that is denied',
      "UPDATE charges SET state = 'denied', attempt = 0 WHERE state = 'charged'",
    ],
    ['a denied charge with an attempt', "UPDATE charges SET attempt = 1 WHERE state = 'denied'"],
    ['an unknown state', "UPDATE charges SET state = 'refunded' WHERE state = 'charged'"],
    ['a deleted charge', 'DELETE FROM charges'],
    ['a replaced charge', charge('number, id')],
    ['a charge in the place of another', charge("number, replace(id, 'a', 'b')")],
    ['a changed release', "UPDATE releases SET answer = 'another'"],
    ['a deleted release', 'DELETE FROM releases'],
    [
      'a replaced opening',
      "INSERT OR REPLACE INTO releases (charge, answer) SELECT charge, 'another' FROM releases",
    ],
    ['another release to share', 'UPDATE shared_releases SET charge = charge + 1'],
    ['a deleted share', 'DELETE FROM shared_releases'],
    ['another source', "UPDATE sources SET digest = replace(digest, 'a', 'b')"],
    ['a real source that becomes synthetic', 'UPDATE sources SET synthetic = 1'],
    ['a real source that is synthetic, too', 'INSERT INTO sources SELECT digest, dataset, 1 FROM sources'],
    [
      'a synthetic source of an id with real data',
      "INSERT INTO sources SELECT replace(digest, 'a', 'b'), dataset, 1 FROM sources",
    ],
    ['a deleted source', 'DELETE FROM sources'],
    ['a replaced source', 'INSERT OR REPLACE INTO sources SELECT * FROM sources'],
    ['a replaced share', 'INSERT OR REPLACE INTO shared_releases SELECT * FROM shared_releases'],
    ['a changed event', "UPDATE events SET hash = replace(hash, 'a', 'b')"],
    ['a deleted event', 'DELETE FROM events'],
    ['a replaced event', 'INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 2'],
    [
      'an event out of turn',
      'INSERT INTO events SELECT dataset, 99, principal, canonical, hash, 0 FROM events WHERE sequence = 1',
    ],
    ['another noise', 'UPDATE sparse_vector_sessions SET threshold_noise = 0'],
    ['more positives', 'UPDATE sparse_vector_sessions SET positives = 100'],
    ['other terms', "UPDATE sparse_vector_sessions SET terms = 'cheaper'"],
    ['a deleted session', 'DELETE FROM sparse_vector_sessions'],
    [
      'a replaced session',
      'INSERT OR REPLACE INTO sparse_vector_sessions SELECT charge, 100, terms, 0 FROM sparse_vector_sessions',
    ],
    ['a session of no charge', "INSERT INTO sparse_vector_sessions VALUES (77, 1, 'terms', 0)"],
    [
      'a session of a charge without an answer',
      "INSERT INTO sparse_vector_sessions SELECT number, 1, 'terms', 0 FROM charges WHERE state = 'charged'",
    ],
    ['an answer turned below', 'UPDATE sparse_vector_answers SET above = 0'],
    ['another text of an answer', "UPDATE sparse_vector_answers SET answer = 'another'"],
    ['a deleted answer', 'DELETE FROM sparse_vector_answers WHERE question = 2'],
    ['all answers deleted', 'DELETE FROM sparse_vector_answers'],
    ['an answer out of turn', insertAnswer("4, 'k', 'h', 'r', 0, 'a'")],
    ['an answer in the place of another', insertAnswer("1, 'k', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['another answer to a key', insertAnswer("3, 'a', 'h', 'r', 0, 'a'", 'INSERT OR REPLACE')],
    ['half an answer', insertAnswer("3, 'k', 'h', 'r', 2, 'a'")],
    ['an answer of no session', "INSERT INTO sparse_vector_answers VALUES (77, 1, 'k', 'h', 'r', 0, 'a')"],
    [
      'positives beyond the last',
      `${insertAnswer("3, 'k', 'h', 'r', 1, 'a'")}; ${insertAnswer("4, 'l', 'h', 'r', 1, 'a'")}`,
    ],
    [
      'answers below after the last positive',
      `${insertAnswer("3, 'k', 'h', 'r', 1, 'a'")}; ${insertAnswer("4, 'l', 'h', 'r', 0, 'a'")}`,
    ],
  ])('%s', (_, sql) => {
    const database = prompt()
    const everything = () => TABLES.map((table) => database.prepare(`SELECT * FROM ${table}`).all())
    const before = everything()
    // The refusal must come from a constraint, not from an invalid statement.
    expect(() => database.exec(`BEGIN; ${sql}`)).toThrow(
      expect.objectContaining({
        errcode: expect.toSatisfy((code) => (Number(code) & 0xff) === SQLITE_CONSTRAINT),
      }),
    )
    database.exec('ROLLBACK')
    expect(everything()).toEqual(before)
    expect(before.map((rows) => rows.length)).toEqual([3, 3, 6, 2, 1, 14, 1, 2, 1])
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
    const database = openSqliteDatabase(temporaryPath())
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

  it('refuses a ledger of a newer release and does not change it', () => {
    const path = filledLedger()
    const newer = new DatabaseSync(path)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    expect(() => openSqliteDatabase(path)).toThrow(fault('unusable', /schema version 99/))
    const after = new DatabaseSync(path)
    onTestFinished(() => after.close())
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 })
  })

  it("refuses another program's database, a file that is not a database, and a missing folder", () => {
    const path = temporaryPath()
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
