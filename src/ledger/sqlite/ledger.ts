import { Worker } from 'node:worker_threads'
import { LedgerFault } from '../fault.ts'
import type { Ledger, OperationName } from '../ledger.ts'
import { createGroupCommit } from '../stores/group-commit.ts'
import { answersInTime, ledgerMethods, type Settled } from '../stores/operation.ts'
import type { PlainFault, Reply, Request } from './worker.ts'

/** Limits what one COMMIT writes to the log, and how long its callers wait. */
const MAX_BATCH_SIZE = 256

/** A ledger in a SQLite file, with the number of calls it answered and of transactions it committed. */
export interface SqliteLedger extends Ledger {
  statistics(): { readonly calls: number; readonly commits: number }
  /**
   * Copies the ledger to a new file while it is in use. The copy has every change that was acknowledged before the call,
   * and may have later ones.
   * @throws Error if the file exists or cannot be written, or if another backup is under way.
   */
  backup(file: string): Promise<void>
}

/**
 * Opens or creates the ledger in the SQLite file at `path`, whose folder must exist. A worker thread accesses the file,
 * so that the event loop never waits for the disk. Concurrent calls are committed together.
 *
 * A call rejects with a {@link LedgerFault} if the store failed. Whether it took effect is then unknown; repeating the
 * same charge shows it. A call rejects with a RangeError if an argument is out of range.
 * @throws LedgerFault `in-use` if the file is open elsewhere, `unusable` if it cannot be a ledger.
 */
export async function openSqliteLedger(options: { readonly path: string }): Promise<SqliteLedger> {
  // The thread needs no command-line flags. Inheriting them would load a test runner's hooks.
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    name: 'ledger',
    workerData: options.path,
    execArgv: [],
  })
  const opened = Promise.withResolvers<void>()
  const exited = Promise.withResolvers<void>()
  /** The batch under way. */
  let reply: PromiseWithResolvers<readonly Settled[]> | undefined
  let backup: PromiseWithResolvers<void> | undefined
  let closed: Promise<void> | undefined
  let closingFault: LedgerFault | undefined

  const batches = createGroupCommit<OperationName>({
    maxBatchSize: MAX_BATCH_SIZE,
    commit(calls) {
      reply = Promise.withResolvers()
      try {
        worker.postMessage(calls satisfies Request)
      } catch (error) {
        // An argument of one of the calls cannot be sent to another thread.
        reply.reject(error)
      }
      return reply.promise
    },
  })

  worker.on('message', (message: Reply) => {
    switch (message.kind) {
      case 'opened':
        return opened.resolve()
      case 'committed':
        return reply?.resolve(message.settled)
      case 'refused':
        return reply?.reject(message.error)
      case 'fault': {
        const fault = faultOf(message.fault)
        return fault.kind === 'unknown' ? reply?.reject(fault) : stop(fault)
      }
      case 'backed-up':
        if (message.error === undefined) backup?.resolve()
        else backup?.reject(new Error(`the ledger cannot be copied: ${message.error}`))
        return
      case 'close-failed':
        closingFault = faultOf(message.fault)
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

  function stop(fault: LedgerFault): void {
    batches.stop(fault)
    opened.reject(fault)
    reply?.reject(fault)
    backup?.reject(fault)
  }

  async function finish(): Promise<void> {
    await batches.close()
    worker.postMessage('close' satisfies Request)
    await exited.promise
    if (closingFault !== undefined) throw closingFault
  }

  await opened.promise
  const methods = ledgerMethods(batches.submit)
  return {
    ...methods,
    healthy: () => answersInTime(methods.healthy),
    // No other process has the file open.
    exclusively: (task) => task(async () => undefined),
    statistics: batches.statistics,
    async backup(file) {
      if (backup !== undefined) throw new Error('another backup of the ledger is under way')
      if (closed !== undefined) throw new LedgerFault('closed', 'the ledger is closed')
      backup = Promise.withResolvers()
      worker.postMessage({ backupFile: file } satisfies Request)
      try {
        await backup.promise
      } finally {
        backup = undefined
      }
    },
    close() {
      closed ??= finish()
      return closed
    },
  }
}

function faultOf({ kind, message }: PlainFault): LedgerFault {
  return new LedgerFault(kind, message)
}
