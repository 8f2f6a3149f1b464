import { parentPort, workerData } from 'node:worker_threads'
import { LedgerFault, type LedgerFaultKind } from '../ledger.ts'
import type { Call, Settled } from '../operation.ts'
import { openSqliteStore, type SqliteStore } from './store.ts'

/**
 * A message to the worker thread: a batch of calls, answered by one reply, or `close`, after which the thread exits.
 */
export type Request = readonly Call[] | 'close'

/** A message from the worker thread. `opened` comes first; every batch then gets one reply. */
export type Reply =
  | { readonly kind: 'opened' }
  /** The batch is durable. */
  | { readonly kind: 'committed'; readonly settled: readonly Settled[] }
  /** The batch was rolled back, because the tables refuse one of its calls. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** The store failed. After any fault but `unknown` the thread exits. */
  | { readonly kind: 'fault'; readonly fault: PlainFault }
  /** The store could not be closed. The thread exits. */
  | { readonly kind: 'close-failed'; readonly fault: PlainFault }

/** A {@link LedgerFault} as it crosses threads, which drops the class of an error. */
export interface PlainFault {
  readonly kind: LedgerFaultKind
  readonly message: string
}

if (parentPort !== null) serve(parentPort, String(workerData))

function serve(port: NonNullable<typeof parentPort>, path: string): void {
  const reply = (message: Reply) => port.postMessage(message)
  let store: SqliteStore
  try {
    store = openSqliteStore(path, Date.now)
  } catch (error) {
    reply({ kind: 'fault', fault: plainFault(error) })
    port.close()
    return
  }
  port.on('message', (request: Request) => {
    if (request === 'close') return end()
    try {
      reply({ kind: 'committed', settled: store.batch(request) })
    } catch (error) {
      if (error instanceof Error && !(error instanceof LedgerFault)) return reply({ kind: 'refused', error })
      const fault = plainFault(error)
      reply({ kind: 'fault', fault })
      if (fault.kind !== 'unknown') end()
    }
  })
  reply({ kind: 'opened' })

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
