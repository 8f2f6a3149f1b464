import { expect, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { temporaryLedger } from '../../folders.ts'
import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { expectNothingLost } from '../balance-check.ts'
import { type Messages, messagesByKey, startCharging } from '../children.ts'
import { budgetFor, keyOf, questionOf } from '../questions.ts'
import { chance } from '../rounds.ts'

/** Ledgers with one mistake each, and the message that the check after a kill must report. */
const MISTAKES: readonly { readonly what: string; readonly change: SourceChange; readonly found: RegExp }[] =
  [
    {
      what: 'it acknowledges before it commits',
      change: {
        file: 'ledger/sqlite/store.ts',
        find: `      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(calls)
      database.exec('COMMIT')`,
        replace: `      if (database.isTransaction) database.exec('COMMIT')
      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(calls)`,
      },
      found: /acknowledged/,
    },
    {
      what: 'it acknowledges an answer before storing it',
      change: {
        file: 'ledger/sqlite/ledger.ts',
        find: '    ...methods,',
        replace: `    ...methods,
    recordAnswer: async (...args) => {
      setTimeout(() => methods.recordAnswer(...args).catch(() => undefined), 5)
      return true
    },`,
      },
      found: /the acknowledged answer of/,
    },
    {
      what: 'a charge is forgotten by the balance',
      change: {
        file: 'ledger/protocol/populations.ts',
        find: 'const paid = subtractAmounts(spent, spentOnShared)',
        replace:
          'const paid = account.headSequence % 7 === 0 ? noAmount(spent.accounting) : subtractAmounts(spent, spentOnShared)',
      },
      found: /verification/,
    },
    {
      what: 'it stores an answer without an event in the chain',
      change: {
        file: 'ledger/protocol/charges.ts',
        find: "appendEvent(batch, dataset, {\n    kind: 'answered'",
        replace: "void ({\n    kind: 'answered'",
      },
      found: /verification/,
    },
  ]

test.for(selectMutants(import.meta.dirname, MISTAKES, ({ change }) => [change]))(
  'the check after kill -9 finds a ledger with this mistake: $what',
  async ({ what, change, found }) => {
    const random = chance(what)
    const killAgainAndAgain = async () => {
      for (let round = 1; round <= 10; round += 1) {
        const url = temporaryLedger()
        const { child, lines, said, ended } = startCharging({
          url,
          changes: [change],
          dataset: 'census',
          run: 'killed',
        })
        await said(100 + random.below(200))
        child.kill('SIGKILL')
        await ended
        const ledger = await openLedger({ url })
        try {
          await expectNothingLost(ledger, 'census', messagesByKey(lines))
        } finally {
          await ledger.close()
        }
      }
    }
    await expect(killAgainAndAgain()).rejects.toThrow(found)
  },
)

/** Mistakes in the recovery after an interruption. */
const RECOVERIES: typeof MISTAKES = [
  {
    what: 'a retry debits again',
    change: {
      file: 'ledger/protocol/charges.ts',
      find: '  batch.charges.set(earlier.id, row)\n',
      replace: `  batch.charges.set(earlier.id, row)
  const again = expectRow(batch.accounts.get(earlier.dataset))
  const spent = addAmounts(again.budget.spent, earlier.price)
  batch.accounts.set(earlier.dataset, { ...again, budget: { ...again.budget, spent } })
`,
    },
    found: /questions that are paid for/,
  },
  {
    what: 'nothing is ever denied',
    change: {
      file: 'ledger/protocol/charges.ts',
      find: 'const exceeded = exceededLimit(balances, price, sharedFrom !== undefined)',
      replace: 'const exceeded = undefined as ReturnType<typeof exceededLimit>',
    },
    found: /has changed since it was read/,
  },
  {
    what: 'a question that was answered is debited again',
    change: {
      file: 'ledger/protocol/charges.ts',
      find: "    case 'answered':\n      return { kind: 'answered', id, answer: expectRow(answerOf(batch, id)) }",
      replace: "    case 'answered':\n      return furtherAttempt(batch, earlier, request)",
    },
    found: /a debit is final/,
  },
]

test.for(selectMutants(import.meta.dirname, RECOVERIES, ({ change }) => [change]))(
  'the check finds a ledger that recovers with this mistake: $what',
  async ({ change, found }) => {
    const url = temporaryLedger()
    const heard = await interruptedCharges(url)
    await withChangedSource([change], {}, async (load) => {
      const { openLedger: open } = await load<typeof import('../../../src/ledger/open.ts')>('ledger/open.ts')
      const ledger = await open({ url })
      try {
        await expect(expectNothingLost(ledger, 'census', heard, 50)).rejects.toThrow(found)
      } finally {
        await ledger.close().catch(() => undefined)
      }
    })
  },
)

test('the check accepts the unchanged ledger', async () => {
  const url = temporaryLedger()
  const heard = await interruptedCharges(url)
  const ledger = await openLedger({ url })
  try {
    await expect(expectNothingLost(ledger, 'census', heard, 50)).resolves.toMatchObject({ denied: 10 })
  } finally {
    await ledger.close()
  }
})

/** A ledger with a budget for 50 of 60 questions, of which 20 were answered and 10 were charged but not answered. */
async function interruptedCharges(url: string): Promise<ReadonlyMap<string, Messages>> {
  const ledger = await openLedger({ url })
  try {
    await ledger.openBudget('census', budgetFor(50), 'carol')
    const heard = new Map<string, Messages>()
    for (let number = 1; number <= 60; number += 1) {
      const key = keyOf('interrupted', number)
      const each: Messages = { charged: number <= 30, denied: false, computed: new Set() }
      heard.set(key, each)
      if (!each.charged) continue
      const outcome = await ledger.charge(questionOf('census', key, 60_000))
      if (outcome.kind !== 'charged') throw new Error(`${key} is ${outcome.kind}`)
      if (number > 20) continue
      const answer = `answer to ${key}`
      each.computed.add(answer)
      if (await ledger.recordAnswer(outcome.charge.id, outcome.charge.attempt, answer)) each.answer = answer
    }
    return heard
  } finally {
    await ledger.close()
  }
}
