import { describe, expect, it, onTestFinished } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { LedgerFault } from '../../../src/ledger/fault.ts'
import { openSqliteDatabase } from '../../../src/ledger/sqlite/database.ts'
import { sqliteStore } from '../../../src/ledger/sqlite/store.ts'
import type { Call } from '../../../src/ledger/stores/operation.ts'
import { temporaryLedger } from '../../folders.ts'
import { ledgerOver } from '../fixture.ts'
import { basic, expectConsistentLedger, loss, question, run, summed } from '../support.ts'

function openStore() {
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const database = openSqliteDatabase(temporaryLedger())
  onTestFinished(() => {
    if (database.isOpen) database.close()
  })
  const store = sqliteStore(database, () => clock.ms)
  run(store, 'openBudget', 'census', summed('1', '0.000001'), 'carol')
  return { clock, database, store }
}

const charge = (key: string, changes = {}): Call => ({ operation: 'charge', args: [question(key, changes)] })

/** Records the commits from now on. */
function commitsOf(database: ReturnType<typeof openSqliteDatabase>): string[] {
  const exec = database.exec.bind(database)
  const commits: string[] = []
  database.exec = (sql) => {
    if (sql === 'COMMIT') commits.push(sql)
    exec(sql)
  }
  return commits
}

describe('a batch', () => {
  it('is one commit, in which a failing call does not affect the others', async () => {
    const { store, database } = openStore()
    const commits = commitsOf(database)
    const settled = store.batch([
      charge('a'),
      charge('b', { leaseMs: -1 }),
      charge('a'),
      { operation: 'budget', args: ['census'] },
      charge('d'),
      { operation: 'entries', args: ['census', { limit: 1 }] },
    ])
    expect(settled.map((each) => (each.kind === 'done' ? each.result : each.error.message))).toEqual([
      expect.objectContaining({ kind: 'charged' }),
      expect.stringContaining('leaseMs'),
      expect.objectContaining({ kind: 'in-flight' }),
      // A read sees exactly the changes of the calls before it.
      expect.objectContaining({ spent: basic('0.1') }),
      expect.objectContaining({ kind: 'charged' }),
      [expect.objectContaining({ sequence: 3, kind: 'charged' })],
    ])
    expect(commits).toHaveLength(1)
    expect(run(store, 'budget', 'census')?.spent).toEqual(basic('0.2'))
    await expectConsistentLedger(ledgerOver(store))
  })

  it('in which the tables refuse one call is retried in parts, and the other calls take effect', async () => {
    const { store, database } = openStore()
    const ledger = ledgerOver(store)
    const commits = commitsOf(database)
    database.exec(`
      CREATE TEMP TRIGGER failing_after_the_debit BEFORE INSERT ON events WHEN NEW.principal = 'eve'
      BEGIN SELECT RAISE(ABORT, 'no space for eve'); END
    `)
    const settled = await Promise.allSettled([
      ledger.charge(question('a')),
      ledger.charge(question('c', { principal: 'eve' })),
      ledger.charge(question('a')),
      ledger.budget('census'),
      ledger.charge(question('d')),
    ])
    expect(settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message))).toEqual([
      expect.objectContaining({ kind: 'charged' }),
      'no space for eve',
      expect.objectContaining({ kind: 'in-flight' }),
      expect.objectContaining({ spent: basic('0.1') }),
      expect.objectContaining({ kind: 'charged' }),
    ])
    // Refused: all five, the first three, the first two, and the second. Committed: the first, the third, and the last
    // two.
    expect(commits).toHaveLength(3)
    expect(run(store, 'budget', 'census')?.spent).toEqual(basic('0.2'))
    expect(database.prepare("SELECT 1 FROM charges WHERE principal = 'eve'").get()).toBeUndefined()
    expect(database.prepare("SELECT 1 FROM analysts WHERE principal = 'eve'").get()).toBeUndefined()
    await expectConsistentLedger(ledger)
  })

  it('is rolled back if a row has changed since it was read', () => {
    const { store, database } = openStore()
    const before = run(store, 'head', 'census')
    // Another writer changes the row between the read and the write.
    database.exec(`
      DROP TRIGGER a_head_is_the_last_event;
      CREATE TEMP TRIGGER another_hand BEFORE INSERT ON events WHEN NEW.principal = 'ada'
      BEGIN UPDATE main.budgets SET head_hash = replace(head_hash, substr(head_hash, 1, 1), '-'); END
    `)
    expect(() => run(store, 'charge', question('a'))).toThrow('has changed since it was read')
    database.exec('DROP TRIGGER another_hand')
    expect(run(store, 'head', 'census')).toEqual(before)
    expect(run(store, 'charge', question('a')).kind).toBe('charged')
  })

  it('is rolled back if the disk is full, and the store continues once there is space', async () => {
    const { store, database } = openStore()
    const spent = run(store, 'budget', 'census')?.spent
    database.exec('PRAGMA max_page_count = 1')
    const large = { request: 'x'.repeat(1_000_000) }
    expect(() => store.batch([charge('a'), charge('b', large), charge('c')])).toThrow(
      expect.objectContaining({ name: 'LedgerFault', kind: 'unknown' }),
    )
    database.exec('PRAGMA max_page_count = 1000000')
    expect(run(store, 'budget', 'census')?.spent).toEqual(spent)
    expect(store.batch([charge('a'), charge('b', large), charge('c')]).map(({ kind }) => kind)).toEqual([
      'done',
      'done',
      'done',
    ])
    await expectConsistentLedger(ledgerOver(store))
  })

  it('is rolled back if the store itself fails, and the store stops', () => {
    const { store, database } = openStore()
    const stopped = expect.objectContaining({ name: 'LedgerFault', kind: 'stopped' })
    run(store, 'charge', question('a'))
    run(store, 'recordAnswer', chargeId('ada', 'a'), 1, 'x')
    database.exec('PRAGMA foreign_keys = OFF; DROP TABLE releases')
    expect(() => store.batch([charge('b'), charge('a')])).toThrow(stopped)
    expect(() => run(store, 'budget', 'census')).toThrow(stopped)
    expect(database.isTransaction).toBe(false)
    const row = database
      .prepare('SELECT spent_epsilon_nano AS spent, head_sequence AS head FROM budgets')
      .get()
    expect(row).toEqual({ spent: loss('0.1').epsilonNano, head: 3n })
  })

  it('returns no shared release that answers another request', () => {
    const { store, database } = openStore()
    const shared = { sharing: true, keyChosen: false }
    for (const key of ['a', 'b']) {
      run(store, 'charge', question(key, shared))
      run(store, 'recordAnswer', chargeId('ada', key), 1, `answer to ${key}`)
    }
    const ofBob = (key: string) => question(key, { ...shared, principal: 'bob' })
    expect(run(store, 'charge', ofBob('a'))).toMatchObject({
      kind: 'shared',
      shared: { answer: 'answer to a' },
    })
    database.exec(`
      DROP TRIGGER shared_releases_are_never_changed;
      UPDATE shared_releases SET charge = (SELECT min(charge) FROM releases)
    `)
    expect(() => run(store, 'charge', ofBob('b'))).toThrow('answers another request')
    expect(run(store, 'budget', 'census')?.spent).toEqual(basic('0.2'))
  })

  it('stops the store if it cannot be committed', () => {
    const { store, database } = openStore()
    const exec = database.exec.bind(database)
    database.exec = (sql) => {
      if (sql === 'COMMIT') throw Object.assign(new Error('disk I/O error'), { errcode: 1034 })
      exec(sql)
    }
    const stopped = expect.objectContaining({ name: 'LedgerFault', kind: 'stopped' })
    expect(() => store.batch([charge('a')])).toThrow(stopped)
    database.exec = exec
    expect(() => store.batch([charge('a')])).toThrow(stopped)
    expect(() => store.batch([])).toThrow(LedgerFault)
    store.close()
  })

  it('fails while the clock has no valid time, and the store continues afterwards', () => {
    const { clock, store } = openStore()
    const now = clock.ms
    clock.ms = Number.NaN
    expect(() => run(store, 'charge', question('a'))).toThrow(RangeError)
    expect(() => store.batch([charge('a'), charge('b')])).toThrow(RangeError)
    clock.ms = now
    expect(run(store, 'charge', question('a')).kind).toBe('charged')
  })
})

it('verification finds every flipped bit of a stored event, and deleted events', async () => {
  const { store, database } = openStore()
  const ledger = ledgerOver(store)
  for (const key of ['a', 'b', 'c']) run(store, 'charge', question(key))
  database.exec('DROP TRIGGER events_are_never_changed')
  const change = database.prepare('UPDATE events SET canonical = ? WHERE dataset = ? AND sequence = 3')
  const find = database.prepare('SELECT canonical FROM events WHERE dataset = ? AND sequence = 3')
  const original = String(find.get('census')?.canonical)
  for (let index = 0; index < original.length; index += 1) {
    const flipped = String.fromCharCode(original.charCodeAt(index) ^ 1)
    change.run(original.slice(0, index) + flipped + original.slice(index + 1), 'census')
    await expect(expectConsistentLedger(ledger), `byte ${index}`).rejects.toThrow('broken')
  }
  change.run(original, 'census')
  await expectConsistentLedger(ledger)
  database.exec('DROP TRIGGER events_are_never_deleted')
  database.exec("DELETE FROM events WHERE dataset = 'census' AND sequence = 4")
  await expect(expectConsistentLedger(ledger)).rejects.toThrow('broken')
})
