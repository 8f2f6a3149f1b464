import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { MIGRATIONS, openSqliteDatabase } from '../../../src/ledger/sqlite/schema.ts'
import { sqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { type Amount, addAmounts } from '../../../src/privacy/accounting.ts'
import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { ledgerOver } from '../fixture.ts'
import { basic, expectConsistentLedger, loss, question, temporaryPath } from '../support.ts'

const APPLICATION_ID = 0x53747431
const TABLES = ['budgets', 'charges', 'releases', 'events', 'sparse_vector_sessions', 'sparse_vector_answers']

/** A ledger file of an earlier schema version: its migrations, and rows that the release of that version wrote. */
function fileOfVersion(version: number): string {
  const path = temporaryPath()
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  database.exec('PRAGMA journal_mode = WAL')
  for (const step of MIGRATIONS.slice(0, version)) database.exec(step)
  // The rows are inserted together, not in the order in which they were created.
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`)
  database.exec(readFileSync(new URL(`./version-${version}.sql`, import.meta.url), 'utf8'))
  for (const { sql } of triggers) database.exec(String(sql))
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`)
  database.close()
  return path
}

/** Every row of every table, with the columns of this version. */
function rowsOf(database: DatabaseSync, columns?: ReadonlyMap<string, string>) {
  return TABLES.flatMap((table) => {
    const info = database.prepare(`SELECT group_concat(name) AS names FROM pragma_table_info('${table}')`)
    const names = columns === undefined ? info.get()?.names : columns.get(table)
    if (typeof names !== 'string') return []
    const rows = database.prepare(`SELECT ${names} FROM ${table} ORDER BY 1, 2`).all()
    // Opening a ledger of any version expires the leases.
    return [{ table, names, rows: rows.map((row) => ({ ...row, lease_expires_at_ms: null })) }]
  })
}

const nano = (epsilon: bigint, delta = 0n): Amount => ({
  accounting: 'basic',
  epsilonNano: epsilonNano(epsilon),
  deltaAtto: deltaAtto(delta),
})

describe.each([1, 2])('a ledger of version %d', (version) => {
  function migrated() {
    const path = fileOfVersion(version)
    const reader = new DatabaseSync(path, { readBigInts: true })
    const before = rowsOf(reader)
    reader.close()
    const database = openSqliteDatabase(path)
    onTestFinished(() => {
      if (database.isOpen) database.close()
    })
    const clock = { ms: Date.UTC(2026, 0, 1) }
    const store = sqliteStore(database, () => clock.ms)
    return { path, before, database, store, ledger: ledgerOver(store) }
  }

  it('keeps every row unchanged, and events byte for byte', () => {
    const { before, database } = migrated()
    const columns = new Map(before.map(({ table, names }) => [table, names]))
    expect(rowsOf(database, columns)).toEqual(before)
    expect(before.map(({ table }) => table)).toEqual(TABLES.slice(0, version === 1 ? 4 : 6))
    expect(before.every(({ rows }) => rows.length > 0)).toBe(true)
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: BigInt(MIGRATIONS.length) })
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([])
  })

  it('is sound, and computes the spending per analyst from its charges', async () => {
    const { ledger } = migrated()
    await expectConsistentLedger(ledger)
    expect(await ledger.datasets()).toEqual(['census', 'survey', 'unused'])
    const spendingOf = async (dataset: string) =>
      (await ledger.head(dataset))?.spending.map(({ principal, spent, spentOnShared, allotment }) => [
        principal,
        spent,
        spentOnShared,
        allotment,
      ])
    // Denied charges are not debited; failed, retried and pending ones are debited once.
    expect(await spendingOf('census')).toEqual([
      ['ada', nano(100_000_001n, 3n), nano(0n), undefined],
      ['bob', nano(1_000_000_000n), nano(0n), undefined],
    ])
    expect(await spendingOf('survey')).toEqual([
      ...(version === 2 ? [['ada', nano(4n), nano(0n), undefined]] : []),
      ['bob', nano(1_000_000_000n), nano(0n), undefined],
      // An analyst who was only denied has an account.
      ['eve', nano(0n), nano(0n), undefined],
    ])
    expect(await spendingOf('unused')).toEqual([])
    expect((await ledger.budget('census'))?.granted).toEqual(loss('2', '0.000001000000000005'))
    for (const dataset of await ledger.datasets())
      expect((await ledger.budget(dataset))?.cap.accounting).toBe('basic')
  })

  it('lists the earlier releases, at times that are rounded to two minutes', async () => {
    const { ledger, before } = migrated()
    const stored = before.find(({ table }) => table === 'releases')?.rows.length
    const datasets = await ledger.datasets()
    const { releases } = await ledger.releases({ datasets, limit: 100 })
    expect(releases).toHaveLength(stored ?? 0)
    expect(releases.every(({ answeredAtMs }) => answeredAtMs > 0 && answeredAtMs % 120_000 === 0)).toBe(true)
    const ofAda = await ledger.releases({ datasets: ['census'], principal: 'ada', limit: 100 })
    expect(ofAda.releases.map(({ id }) => id)).toContain(chargeId('ada', 'answered'))
  })

  it('supports replays, retries, denials and the newer operations', async () => {
    const { ledger } = migrated()
    const old = (principal: string, key: string, dataset: string, price: Amount) =>
      question(key, { principal, dataset, price, requestHash: `hash of ${key}` })
    const answer = '{"value":1,"text":"ü 💧"}'
    const again = await ledger.charge(old('ada', 'answered', 'census', nano(100_000_000n, 3n)))
    expect(again).toEqual({ kind: 'answered', id: chargeId('ada', 'answered'), answer })
    const retried = await ledger.charge(old('bob', 'failed', 'census', nano(200_000_000n)))
    expect(retried).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    const underWay = await ledger.charge(old('bob', 'under way', 'survey', nano(1_000_000_000n)))
    expect(underWay).toMatchObject({ kind: 'charged', charge: { attempt: 2 } })
    const denied = old('ada', 'denied', 'census', nano(10_000_000_000n))
    expect(await ledger.charge({ ...denied, keyChosen: true })).toMatchObject({ kind: 'denied' })
    expect(await ledger.charge(denied)).toMatchObject({ kind: 'denied' })
    const cheaper = await ledger.charge({ ...denied, price: nano(5n), sharing: true })
    expect(cheaper).toMatchObject({ kind: 'charged', charge: { analyst: { spent: nano(100_000_006n, 3n) } } })
    await ledger.recordAnswer(chargeId('ada', 'denied'), 1, 'an answer')
    const bobs = await ledger.charge({ ...denied, principal: 'bob', price: nano(5n), sharing: true })
    expect(bobs).toMatchObject({ kind: 'shared', shared: { answer: 'an answer' } })
    // Earlier releases are not shared, because sharing was not enabled for them.
    const older = { ...old('bob', 'answered', 'census', nano(5n)), sharing: true }
    expect((await ledger.charge(older)).kind).toBe('charged')
    const share = { dataset: 'census', analyst: 'bob', principal: 'carol', reason: 'a share' }
    expect(await ledger.allot({ ...share, granted: loss('0.9') })).toMatchObject({ kind: 'below-spent' })
    expect(await ledger.allot({ ...share, granted: loss('1.1') })).toMatchObject({ kind: 'allotted' })
    const over = question('more', { principal: 'bob', price: addAmounts(basic('0.1'), nano(1n)) })
    expect(await ledger.charge(over)).toMatchObject({ kind: 'denied', by: 'allotment' })
    const session = chargeId('ada', 'session')
    if (version === 2) {
      expect(await ledger.session(session)).toMatchObject({ answered: 2, positivesLeft: 1 })
      const asked = { session, idempotencyKey: 'q3', requestHash: 'hash of q3' }
      expect(await ledger.sessionQuestion(asked)).toMatchObject({
        question: 3,
        thresholdNoise: -98_765_432_101n,
      })
      const facts = { ...asked, question: 3, request: '{}', above: true, answer: 'above' }
      expect(await ledger.recordSessionAnswer(facts)).toBe(true)
    }
    await ledger.openBudget(
      'new',
      { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.000001') },
      'carol',
    )
    await expectConsistentLedger(ledger)
  })

  it('can be opened again after the migration', async () => {
    const { path, store, ledger } = migrated()
    const heads = await Promise.all((await ledger.datasets()).map((dataset) => ledger.head(dataset)))
    store.close()
    const database = openSqliteDatabase(path)
    const again = ledgerOver(sqliteStore(database, Date.now))
    onTestFinished(() => again.close())
    expect(await Promise.all((await again.datasets()).map((dataset) => again.head(dataset)))).toEqual(heads)
  })
})
