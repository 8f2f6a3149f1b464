/**
 * A process that asks questions of a ledger, in several concurrent lanes. It writes each planned step and each
 * acknowledgement to standard output, one line each, before it continues:
 *
 *     open                       the budget is open
 *     asks KEY                   a charge is requested
 *     charged KEY                the debit was acknowledged
 *     computed KEY ANSWER        the answer that is about to be stored
 *     answered KEY ANSWER        the stored answer was acknowledged
 *     replayed KEY ANSWER        an answer that had been stored before
 *     denied KEY
 *     fault KIND MESSAGE         the ledger reported a fault
 *     ended
 *
 * Arguments: the module to open the ledger with, its URL, and {@link ChargingOptions} as JSON.
 */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { populationAccount } from '../../src/ledger/contract/budgets.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { withChangedSource } from '../mutants/changed-source.ts'
import { budgetFor, type ChargingOptions, keyOf, questionOf } from './questions.ts'

const [, , url = '', json = ''] = process.argv
const options: ChargingOptions = JSON.parse(json)
const { dataset, run, questions, capacity, population, lanes, leaseMs, persistent, answerLength } = options
const RETRY_MS = 20

/** Writes whole lines, even if the pipe accepts only part of one at a time. */
function say(line: string): void {
  let rest = Buffer.from(`${line}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

/**
 * Reads a fault of the ledger, and rethrows any other error. A fault is recognised by its name, because its class
 * differs in a changed copy of the source.
 */
function faultOf(error: unknown): { readonly kind: string; readonly message: string } {
  if (error instanceof Error && error.name === 'LedgerFault' && 'kind' in error)
    return { kind: String(error.kind), message: error.message.replaceAll('\n', ' ') }
  throw error
}

/** Runs a task. Repeats it after a fault if the process is persistent; otherwise throws the fault. */
async function persisting<Result>(task: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await task()
    } catch (error) {
      const { kind, message } = faultOf(error)
      if (!persistent || kind === 'stopped' || kind === 'closed') throw error
      say(`fault ${kind} ${message}`)
      await sleep(RETRY_MS)
    }
  }
}

/** Opens the budget of the dataset, or one of its population. */
async function open(ledger: Ledger): Promise<void> {
  const account = populationAccount(dataset)
  if (population) await ledger.openBudget(account, budgetFor(capacity), 'carol')
  const budget = budgetFor(capacity)
  await ledger.openBudget(dataset, population ? { ...budget, population: account } : budget, 'carol')
}

/** True once the question is settled: answered or denied. */
async function attempt(ledger: Ledger, key: string): Promise<boolean> {
  const outcome = await ledger.charge(questionOf(dataset, key, leaseMs))
  switch (outcome.kind) {
    case 'denied':
      say(`denied ${key}`)
      return true
    case 'answered':
      say(`replayed ${key} ${outcome.answer}`)
      return true
    case 'in-flight':
      await sleep(Math.min(outcome.retryAfterMs, RETRY_MS))
      return false
    case 'charged': {
      say(`charged ${key}`)
      const answer = randomBytes(answerLength / 2).toString('hex')
      say(`computed ${key} ${answer}`)
      const stored = await ledger.recordAnswer(outcome.charge.id, outcome.charge.attempt, answer)
      if (stored) say(`answered ${key} ${answer}`)
      return stored
    }
    default:
      throw new Error(`unexpected ${outcome.kind}`)
  }
}

try {
  const { openLedger } = await withChangedSource(options.changes, {}, (load) =>
    load<typeof import('../../src/ledger/open.ts')>('ledger/open.ts'),
  )
  const ledger = await persisting(() => openLedger({ url }))
  let last = 0
  const lane = async () => {
    while (last < questions) {
      last += 1
      const key = keyOf(run, last)
      say(`asks ${key}`)
      while (!(await persisting(() => attempt(ledger, key))));
    }
  }
  try {
    await persisting(() => open(ledger))
    say('open')
    await Promise.all(Array.from({ length: lanes }, lane))
  } finally {
    await ledger.close()
  }
} catch (error) {
  const { kind, message } = faultOf(error)
  say(`fault ${kind} ${message}`)
}
say('ended')
