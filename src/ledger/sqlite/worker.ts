import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../privacy/must.ts'
import { LedgerFault } from '../fault.ts'
import type { Call, Settled } from '../stores/operation.ts'
import { openSqliteStore, type SqliteStore } from './store.ts'

/**
 * A message to the worker thread: a batch of calls, answered by one reply; the file for a backup, answered by another; or
 * `close`, after which the thread exits.
 */
export type Request = readonly Call[] | { readonly backupFile: string } | 'close'

/** A message from the worker thread. `opened` comes first; every batch then gets one reply. */
export type Reply =
  | { readonly kind: 'opened' }
  /** The batch is durable. */
  | { readonly kind: 'committed'; readonly settled: readonly Settled[] }
  /** The batch was rolled back, because the tables refuse one of its calls. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The store failed. After any fault but `unknown` the thread exits. */
  | { readonly kind: 'fault'; readonly fault: PlainFault }
  /** The backup is complete and durable, or was not made. */
  | { readonly kind: 'backed-up'; readonly error?: string }
  /** The store could not be closed. The thread exits. */
  | { readonly kind: 'close-failed'; readonly fault: PlainFault }

/** A {@link LedgerFault} as it crosses threads, which drops the class of an error. */
export type PlainFault = Pick<LedgerFault, 'kind' | 'message'>

if (parentPort !== null) serve(parentPort, () => openSqliteStore(String(workerData), Date.now))

/** The worker's end of the channel to the main thread. */
interface Port {
  on(event: 'message', listener: (request: Request) => void): unknown
  postMessage(message: Reply): void
  close(): void
}

/** Opens the store and answers the requests that come through a port. */
export function serve(port: Port, openStore: () => SqliteStore): void {
  const reply = (message: Reply) => port.postMessage(message)
  let store: SqliteStore
  try {
    store = openStore()
  } catch (error) {
    reply({ kind: 'fault', fault: plainFault(error) })
    port.close()
    return
  }
  /** Requests that wait during a step of a backup; `undefined` while there is none. */
  let waiting: Request[] | undefined
  port.on('message', (request: Request) => {
    if (waiting === undefined) take(request)
    else waiting.push(request)
  })
  reply({ kind: 'opened' })

  function take(request: Request): void {
    if (request === 'close') end()
    else if ('backupFile' in request) void backUp(request.backupFile)
    else carryOut(request)
  }

  /** Makes a backup. Batches are carried out between its steps, and everything else after it. */
  async function backUp(file: string): Promise<void> {
    const later: Request[] = []
    waiting = []
    const between = () => {
      for (const request of must(waiting, 'the requests that wait').splice(0))
        if (request === 'close' || 'backupFile' in request) later.push(request)
        else carryOut(request)
    }
    try {
      await store.backup(file, between)
      reply({ kind: 'backed-up' })
    } catch (error) {
      reply({ kind: 'backed-up', error: error instanceof Error ? error.message : String(error) })
    }
    between()
    waiting = undefined
    for (const request of later) take(request)
  }

  function carryOut(request: readonly Call[]): void {
    let settled: readonly Settled[]
    try {
      settled = store.batch(request)
    } catch (error) {
      if (error instanceof Error && !(error instanceof LedgerFault)) {
        reply({ kind: 'refused', error })
        return
      }
      const fault = plainFault(error)
      reply({ kind: 'fault', fault })
      if (fault.kind !== 'unknown') end()
      return
    }
    try {
      reply({ kind: 'committed', settled })
    } catch {
      // For example, the results need more memory than there is. The batch is durable: it must not count as refused,
      // because a refused batch is carried out again.
      const message = 'the results of a batch could not be sent'
      reply({ kind: 'fault', fault: { kind: 'unknown', message } })
    }
  }

  function end(): void {
    try {
      store.close()
    } catch (error) {
      reply({ kind: 'close-failed', fault: plainFault(error) })
    }
    port.close()
  }
}

function plainFault(error: unknown): PlainFault {
  if (error instanceof LedgerFault) return { kind: error.kind, message: error.message }
  return { kind: 'stopped', message: error instanceof Error ? error.message : String(error) }
}
