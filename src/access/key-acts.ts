import { FileLockTimeout } from '../files/file-lock.ts'
import type { KeyAct } from './key-file.ts'
import type { KeyStore } from './keys.ts'

/** Records the changes of keys, of this process and of the command line, in the ledger. */
export interface KeyActRecorder {
  /** Records the changes that are not recorded yet. A failure is reported, and the next call tries again. */
  recordPending(): Promise<void>
  /** Stops checking for changes, after a running check. */
  close(): Promise<void>
}

/** Time between two checks for changes by the command line. */
const INTERVAL_MS = 1_000

/**
 * Starts recording the changes of keys.
 * @param record appends an act to the chain of administrative acts, durably
 */
export function startKeyActRecorder(
  keys: Pick<KeyStore, 'deliverActs'>,
  record: (act: KeyAct) => Promise<unknown>,
  onError: (error: unknown) => void,
): KeyActRecorder {
  let running: Promise<void> = Promise.resolve()
  const recordPending = () => {
    running = running
      .then(() =>
        keys.deliverActs(async (act) => {
          await record(act)
        }),
      )
      .catch((error: unknown) => {
        // Another process on the same data folder is recording them.
        if (!(error instanceof FileLockTimeout)) onError(error)
      })
    return running
  }
  const timer = setInterval(recordPending, INTERVAL_MS)
  timer.unref()
  return {
    recordPending,
    async close() {
      clearInterval(timer)
      await running
    },
  }
}
