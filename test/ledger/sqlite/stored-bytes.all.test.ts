import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteStore } from '../../../src/ledger/sqlite/store.ts'
import { temporaryLedger } from '../../folders.ts'
import { ledgerOver } from '../fixture.ts'
import { basic, chargeOf, expectConsistentLedger, loss, question, summed } from '../support.ts'

const MEGABYTE = 1_000_000

/** Opens a new ledger, uses it, and returns the growth of its file in bytes. */
async function growth(use: (ledger: Ledger) => Promise<void>): Promise<{ path: string; bytes: number }> {
  const path = temporaryLedger()
  const open = () => ledgerOver(openSqliteStore(path, Date.now))
  const first = open()
  await first.openBudget('census', summed('1'), 'carol')
  await first.close()
  const before = statSync(path).size
  const ledger = open()
  await use(ledger)
  await ledger.close()
  return { path, bytes: statSync(path).size - before }
}

/** A body of 64 kB, as large as the service accepts. */
const body = (place: number) => JSON.stringify({ place, where: 'x'.repeat(65_000) })

test.each([
  ['chosen keys', true],
  ['keys derived from the request', false],
])('attack: 1,500 denials with bodies of 64 kB and %s do not fill the disk', async (_, keyChosen) => {
  const { path, bytes } = await growth(async (ledger) => {
    for (let start = 0; start < 1_500; start += 100)
      await Promise.all(
        Array.from({ length: 100 }, (__, place) => {
          const key = `${start + place} ${'k'.repeat(200)}`
          return ledger.charge(question(key, { keyChosen, request: body(start + place), price: basic('2') }))
        }),
      )
    await expectConsistentLedger(ledger)
  })
  expect(bytes).toBeLessThan(MEGABYTE)
  const database = new DatabaseSync(path)
  const stored = database.prepare('SELECT count(*) AS charges, max(length(request)) AS longest FROM charges')
  expect({ ...stored.get() }).toEqual({ charges: 250, longest: 0 })
  database.close()
})

test('the request of a denied charge is stored once it is paid', async () => {
  const asked = question('a', { price: basic('1.5'), request: '{"kind":"count"}' })
  const requests = (path: string) => {
    const database = new DatabaseSync(path)
    const rows = database.prepare('SELECT state, request FROM charges').all()
    database.close()
    return rows.map((row) => ({ ...row }))
  }
  const path = temporaryLedger()
  const open = () => ledgerOver(openSqliteStore(path, Date.now))
  const first = open()
  await first.openBudget('census', summed('1'), 'carol')
  expect((await first.charge(asked)).kind).toBe('denied')
  await first.close()
  expect(requests(path)).toEqual([{ state: 'denied', request: '' }])
  const second = open()
  await second.grant('census', loss('1'), 'carol', 'asked for')
  const { id } = chargeOf(await second.charge(asked))
  await second.recordFailure(id, 1)
  await second.close()
  expect(requests(path)).toEqual([{ state: 'failed', request: '{"kind":"count"}' }])
})

/** An answer with 9,900 cells of two columns, as a table of noisy counts has them. */
function tableOf(seed: number): string {
  let state = seed + 1
  const noise = () => {
    state = (state * 48_271) % 2_147_483_647
    return (state % 4_000_001) - 2_000_000
  }
  const cells = Array.from({ length: 9_900 }, (_, cell) => ({
    key: { age: cell % 99, region: `region-${Math.floor(cell / 99)}` },
    value: noise(),
  }))
  return JSON.stringify({ id: String(seed), kind: 'contingency', result: { cells } })
}

test('attack: tables of 9,900 cells at an epsilon of 1e-6 store at most the quota', async () => {
  const maxStoredBytes = 2 * MEGABYTE
  const outcomes: string[] = []
  const ask = (place: number): ChargeRequest =>
    question(`table ${place}`, { price: basic('0.000001'), maxStoredBytes })
  const { bytes } = await growth(async (ledger) => {
    for (let place = 0; place < 60; place += 1) {
      const outcome = await ledger.charge(ask(place))
      outcomes.push(outcome.kind)
      if (outcome.kind === 'charged') await ledger.recordAnswer(chargeOf(outcome).id, 1, tableOf(place))
    }
    expect(await ledger.charge(ask(0))).toMatchObject({ kind: 'answered', answer: tableOf(0) })
    await expectConsistentLedger(ledger)
  })
  const charged = outcomes.filter((kind) => kind === 'charged').length
  expect(outcomes.slice(charged)).toEqual(Array(60 - charged).fill('storage-exceeded'))
  // The uncompressed answers take 0.5 MB each.
  expect(charged).toBeGreaterThan(15)
  expect(bytes).toBeGreaterThan(1.5 * MEGABYTE)
  expect(bytes).toBeLessThan(2.5 * MEGABYTE)
})
