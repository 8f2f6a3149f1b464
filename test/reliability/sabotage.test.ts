import { expect, test } from 'vitest'
import { openLedger } from '../../src/ledger/open.ts'
import { type SourceChange, withSourceCopy } from '../source-copy.ts'
import { expectNothingLost } from './books.ts'
import { startCharging, whatWasHeard } from './children.ts'
import { temporaryLedger } from './folders.ts'
import { chance } from './rounds.ts'
import { moduleOfCopy, OPENING } from './variants.ts'

/** Ledgers with one mistake each, and what the check after a kill has to say of it. */
const MISTAKES: readonly { readonly what: string; readonly change: SourceChange; readonly found: RegExp }[] =
  [
    {
      what: 'it acknowledges before it commits',
      change: {
        file: 'ledger/sqlite-store.ts',
        find: `      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(() => {
        const next = calls.length === 0 ? first : more()
        calls.push(...next)
        return next
      })
      database.exec('COMMIT')`,
        replace: `      if (database.isTransaction) database.exec('COMMIT')
      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(() => {
        const next = calls.length === 0 ? first : more()
        calls.push(...next)
        return next
      })`,
      },
      found: /acknowledged/,
    },
    {
      what: 'it acknowledges an answer that it has yet to store',
      change: {
        file: 'ledger/sqlite.ts',
        find: `    recordAnswer: (...args) => ask('recordAnswer', args),`,
        replace: `    recordAnswer: async (...args) => {
      setTimeout(() => ask('recordAnswer', args).catch(() => undefined), 5)
      return true
    },`,
      },
      found: /the acknowledged answer of/,
    },
    {
      what: 'a charge is forgotten by the balance',
      change: {
        file: 'ledger/protocol.ts',
        find: `accounts.set(dataset, { ...account, budget: { ...budget, spent: addAmounts(budget.spent, price) } })`,
        replace: `if (account.headSequence % 7 !== 0)
        accounts.set(dataset, { ...account, budget: { ...budget, spent: addAmounts(budget.spent, price) } })`,
      },
      found: /verification/,
    },
    {
      what: 'it stores an answer and does not say so in the chain',
      change: {
        file: 'ledger/protocol.ts',
        find: `append(dataset, { kind: 'answered', principal, chargeId: id, attempt, answerHash: sha256(answer) })`,
        replace: '',
      },
      found: /verification/,
    },
  ]

test.for(MISTAKES)(
  'the check after kill -9 finds a ledger with this mistake: $what',
  async ({ what, change, found }) => {
    const random = chance(what)
    await withSourceCopy([OPENING, change], {}, async (load) => {
      const module = await moduleOfCopy(load)
      const killAgainAndAgain = async () => {
        for (let round = 1; round <= 10; round += 1) {
          const url = temporaryLedger()
          const { child, lines, said, ended } = startCharging({
            url,
            module,
            dataset: 'census',
            run: 'killed',
          })
          await said(100 + random.below(200))
          child.kill('SIGKILL')
          await ended
          const ledger = await openLedger({ url })
          try {
            await expectNothingLost(ledger, 'census', whatWasHeard(lines))
          } finally {
            await ledger.close()
          }
        }
      }
      await expect(killAgainAndAgain()).rejects.toThrow(found)
    })
  },
)

test.for([
  {
    what: 'a retry debits again',
    change: {
      file: 'ledger/protocol.ts',
      find: '    charges.set(earlier.id, row)\n    const event = append(earlier.dataset, {',
      replace: `    charges.set(earlier.id, row)
    const again = expectThere(accounts.get(earlier.dataset))
    const spent = addAmounts(again.budget.spent, earlier.price)
    accounts.set(earlier.dataset, { ...again, budget: { ...again.budget, spent } })
    const event = append(earlier.dataset, {`,
    },
  },
  {
    what: 'nothing is ever denied',
    change: {
      file: 'ledger/protocol.ts',
      find: 'const short = shortOf(budget, analyst, price, sharedFrom !== undefined)',
      replace: 'const short = undefined as ReturnType<typeof shortOf>',
    },
  },
  {
    what: 'a question that was answered is debited again',
    change: {
      file: 'ledger/protocol.ts',
      find: "      case 'answered':\n        return { kind: 'answered', id, answer: expectThere(answerOf(id)) }",
      replace: "      case 'answered':\n        return retry(earlier, request)",
    },
  },
])('the check finds a ledger that recovers with this mistake: $what', async ({ change }) => {
  await withSourceCopy([OPENING, change], {}, async (load) => {
    const url = temporaryLedger()
    const { child, lines, said, ended } = startCharging({
      url,
      dataset: 'census',
      run: 'killed',
      capacity: 50,
      questions: 120,
    })
    await said(140)
    child.kill('SIGKILL')
    await ended
    const heard = whatWasHeard(lines)
    // Some that had been interrupted for certain, and some beyond the cap.
    for (let number = 121; number <= 180; number += 1) {
      heard.set(`killed-${number}`, { charged: false, denied: false, computed: new Set() })
    }
    const { openLedger: open } = await load<typeof import('../../src/ledger/open.ts')>('ledger/open.ts')
    const ledger = await open({ url })
    try {
      await expect(expectNothingLost(ledger, 'census', heard, 50)).rejects.toThrow()
    } finally {
      await ledger.close().catch(() => undefined)
    }
  })
})
