import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { LedgerFault } from './fault.ts'
import type { Call } from './operation.ts'
import { type FromStore, type PlainFault, packSettled, type ToStore, unpackCall } from './sqlite-message.ts'
import { openSqliteStore, type SqliteStore } from './sqlite-store.ts'

/** Bounds what one COMMIT waits for, and what the write-ahead log holds. */
const LARGEST_BATCH = 256

if (parentPort !== null) serve(parentPort, String(workerData))

function serve(port: NonNullable<typeof parentPort>, path: string): void {
  const tell = (message: FromStore) => port.postMessage(message)
  let store: SqliteStore
  try {
    store = openSqliteStore(path, Date.now)
  } catch (error) {
    tell({ kind: 'stopped', fault: plainFault(error) })
    port.close()
    return
  }

  // While a batch is being committed this thread is busy, and whatever is asked meanwhile waits in the port: the next
  // batch is all of it.
  port.on('message', serveFrom)
  tell({ kind: 'opened' })

  function serveFrom(first: ToStore): void {
    const numbers: number[] = []
    const calls: Call[] = []
    let next: ToStore | undefined = first
    while (next?.kind === 'calls') {
      for (const [place, call] of next.calls.entries()) {
        numbers.push(next.firstNumber + place)
        calls.push(unpackCall(call))
      }
      next = calls.length < LARGEST_BATCH ? receiveMessageOnPort(port)?.message : undefined
    }
    let goesOn = true
    for (let start = 0; goesOn && start < calls.length; start += LARGEST_BATCH) {
      const end = start + LARGEST_BATCH
      goesOn = commit(numbers.slice(start, end), calls.slice(start, end))
    }
    if (!goesOn || next?.kind === 'close') end()
  }

  function commit(numbers: readonly number[], calls: readonly Call[]): boolean {
    try {
      const settled = store.batch(calls)
      tell({ kind: 'committed', numbers, settled: settled.map(packSettled) })
      return true
    } catch (error) {
      const fault = plainFault(error)
      tell({ kind: 'rejected', numbers, fault })
      return fault.kind === 'unknown'
    }
  }

  function end(): void {
    port.off('message', serveFrom)
    try {
      store.close()
    } catch (error) {
      tell({ kind: 'stopped', fault: plainFault(error) })
    }
    port.close()
  }
}

function plainFault(error: unknown): PlainFault {
  if (error instanceof LedgerFault) return { kind: error.kind, message: error.message }
  return { kind: 'stopped', message: error instanceof Error ? error.message : String(error) }
}
