import { Worker } from 'node:worker_threads'
import { LedgerFault } from '../fault.ts'
import type { Ledger } from '../ledger.ts'
import type { Call, OperationName, OperationResults } from '../operation.ts'
import {
  type FromStore,
  messageRanges,
  type PackedCall,
  type PlainFault,
  packCall,
  type ToStore,
  unpackSettled,
} from './message.ts'

/** After this long without an answer the store counts as unhealthy. */
const HEALTH_TIMEOUT_MS = 2_000

/** A ledger in a SQLite file, with a count of what it did. */
export interface SqliteLedger extends Ledger {
  /** How many calls were answered since it was opened, and how many commits made them durable. */
  statistics(): { readonly calls: number; readonly commits: number }
}

interface Waiting {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/**
 * Open, or create, the ledger in the SQLite file at `path`, whose folder exists. A thread of its own does the work, so
 * that the event loop never waits for the disk, and makes concurrent calls durable together.
 *
 * A call rejects with a {@link LedgerFault} where the store failed (whether the call took effect is then unknown: the
 * same charge, asked again, tells), and with a RangeError where an argument is out of range.
 * @throws LedgerFault `in-use` where another opener has the file, `unusable` where it cannot be a ledger.
 */
export async function openSqliteLedger(options: { readonly path: string }): Promise<SqliteLedger> {
  // The thread inherits no flags: a test runner's loaders would run in it, and it needs none.
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    name: 'ledger',
    workerData: options.path,
    execArgv: [],
  })
  const waiting = new Map<number, Waiting>()
  const opened = Promise.withResolvers<void>()
  const exited = Promise.withResolvers<void>()
  let lastNumber = 0
  let asked: PackedCall[] = []
  let calls = 0
  let commits = 0
  /** Why nothing more is accepted. */
  let refusal: LedgerFault | undefined
  let closingFault: LedgerFault | undefined

  worker.on('message', (message: FromStore) => {
    switch (message.kind) {
      case 'opened':
        return opened.resolve()
      case 'committed':
        commits = message.commits
        message.settled.forEach((packed, index) => {
          const caller = take(message.numbers[index])
          const settled = unpackSettled(packed)
          if (settled.kind === 'done') caller?.resolve(settled.result as never)
          else caller?.reject(settled.error)
        })
        return
      case 'rejected': {
        const fault = faultFrom(message.fault)
        for (const number of message.numbers) take(number)?.reject(fault)
        if (fault.kind === 'stopped') stop(fault)
        return
      }
      case 'stopped':
        closingFault = faultFrom(message.fault)
        return stop(closingFault)
      default:
        message satisfies never
    }
  })
  worker.on('error', (error) => stop(new LedgerFault('stopped', `the ledger has stopped: ${error}`, error)))
  worker.on('exit', () => {
    stop(new LedgerFault('stopped', 'the ledger has stopped'))
    exited.resolve()
  })

  function take(number: number | undefined): Waiting | undefined {
    if (number === undefined) return undefined
    const caller = waiting.get(number)
    waiting.delete(number)
    calls += 1
    return caller
  }

  function stop(fault: LedgerFault): void {
    refusal ??= fault
    opened.reject(fault)
    for (const caller of waiting.values()) caller.reject(fault)
    waiting.clear()
  }

  function ask<Name extends OperationName>(
    operation: Name,
    args: Call<Name>['args'],
  ): Promise<OperationResults[Name]> {
    if (refusal !== undefined) return Promise.reject(refusal)
    const { promise, resolve, reject } = Promise.withResolvers<OperationResults[Name]>()
    try {
      // What is asked in the same turn travels in few messages: each costs as much as some calls.
      if (asked.push(packCall({ operation, args } as Call)) === 1) queueMicrotask(send)
    } catch (error) {
      return Promise.reject(error)
    }
    lastNumber += 1
    waiting.set(lastNumber, { resolve, reject })
    return promise
  }

  function send(): void {
    if (asked.length === 0) return
    const calls = asked
    asked = []
    for (const [start, end] of messageRanges(calls.length)) {
      const firstNumber = lastNumber - calls.length + 1 + start
      const part = calls.slice(start, end)
      try {
        worker.postMessage({ kind: 'calls', firstNumber, calls: part } satisfies ToStore)
      } catch (error) {
        // An argument is of a kind that no thread can be sent; nothing of the part was.
        const refused = error instanceof Error ? error : new Error(String(error))
        for (const place of part.keys()) take(firstNumber + place)?.reject(refused)
      }
    }
  }

  async function healthy(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, HEALTH_TIMEOUT_MS, false)
    try {
      return await Promise.race([ask('healthy', []), late])
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  async function close(): Promise<void> {
    if (refusal === undefined) {
      refusal = new LedgerFault('closed', 'the ledger is closed')
      send()
      worker.postMessage({ kind: 'close' } satisfies ToStore)
    }
    await exited.promise
    if (closingFault !== undefined) throw closingFault
  }

  await opened.promise
  return {
    openBudget: (...args) => ask('openBudget', args),
    grant: (...args) => ask('grant', args),
    allot: (...args) => ask('allot', args),
    analystSpending: (...args) => ask('analystSpending', args),
    head: (...args) => ask('head', args),
    datasets: () => ask('datasets', []),
    budget: (...args) => ask('budget', args),
    charge: (...args) => ask('charge', args),
    recordAnswer: (...args) => ask('recordAnswer', args),
    recordFailure: (...args) => ask('recordFailure', args),
    openSession: (...args) => ask('openSession', args),
    session: (...args) => ask('session', args),
    sessionQuestion: (...args) => ask('sessionQuestion', args),
    recordSessionAnswer: (...args) => ask('recordSessionAnswer', args),
    sessionAnswers: (...args) => ask('sessionAnswers', args),
    entries: (...args) => ask('entries', args),
    events: (...args) => ask('events', args),
    release: (...args) => ask('release', args),
    chargeRecords: (...args) => ask('chargeRecords', args),
    chargeCounts: () => ask('chargeCounts', []),
    lastDatasetVersion: (...args) => ask('lastDatasetVersion', args),
    // Nobody else has the file open.
    exclusively: (task) => task(async () => undefined),
    healthy,
    statistics: () => ({ calls, commits }),
    close,
  }
}

function faultFrom(plain: PlainFault): LedgerFault {
  return new LedgerFault(plain.kind, plain.message)
}
