import { expect, test } from 'vitest'
import { openSqliteStore } from '../../src/ledger/sqlite/store.ts'
import { countCharges } from '../../src/ledger/verification.ts'
import { temporaryLedger } from '../folders.ts'
import { ledgerOver } from './fixture.ts'
import { question, summed } from './support.ts'

test('charges are counted in pages', async () => {
  const ledger = ledgerOver(openSqliteStore(temporaryLedger(), Date.now))
  for (const dataset of ['census', 'survey']) await ledger.openBudget(dataset, summed('100000'), 'carol')
  const counts = { census: 10_007, survey: 3_001 }
  for (const [dataset, count] of Object.entries(counts)) {
    const keys = Array.from({ length: count }, (_, place) => `${dataset} ${place}`)
    await Promise.all(keys.map((key) => ledger.charge(question(key, { dataset }))))
  }
  let pages = 0
  const pause = async () => {
    pages += 1
  }
  expect(await countCharges(ledger, { eventsPage: 1, pause })).toEqual(new Map(Object.entries(counts)))
  expect(pages).toBe(2)
  await ledger.close()
})
