import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { LedgerFault } from '../fault.ts'
import type { Call } from '../operation.ts'
import {
  type FromStore,
  messageRanges,
  type PlainFault,
  packSettled,
  type ToStore,
  unpackCall,
} from './message.ts'
import { openSqliteStore, type SqliteStore } from './store.ts'

/** A batch takes nothing further once it has so many calls: bounds what one COMMIT waits for, and the log that it writes. */
const LARGE_BATCH = 256

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
  let commits = 0
  /** What was taken from the port, and is not in a batch yet. */
  let next: ToStore | undefined

  // Whatever is asked while a batch is being decided is part of it; while it is being committed this thread is busy, and
  // the next batch is all that waits in the port by then.
  port.on('message', serveFrom)
  tell({ kind: 'opened' })

  function serveFrom(first: ToStore): void {
    next = first
    const goesOn = next.kind === 'close' || commit()
    // A batch ends with what is no call, or leaves what follows in the port.
    if (!goesOn || next?.kind === 'close') end()
  }

  function commit(): boolean {
    const numbers: number[] = []
    const take = (): readonly Call[] => {
      if (numbers.length >= LARGE_BATCH) return []
      next ??= receiveMessageOnPort(port)?.message
      if (next?.kind !== 'calls') return []
      const { firstNumber, calls } = next
      next = undefined
      const unpacked = calls.map(unpackCall)
      numbers.push(...calls.map((_, place) => firstNumber + place))
      return unpacked
    }
    try {
      const settled = store.batch(take(), take)
      commits += 1
      for (const [start, end] of messageRanges(settled.length)) {
        const packed = settled.slice(start, end).map(packSettled)
        tell({ kind: 'committed', numbers: numbers.slice(start, end), settled: packed, commits })
      }
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
