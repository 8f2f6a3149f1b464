import type { Writable } from 'node:stream'
import { TooSlow } from './inbox.ts'

/** Messages for a client. */
export interface Output {
  add(message: Buffer): void
  /**
   * Sends what was added.
   * @throws TooSlow if the client does not take it in time
   */
  flush(): Promise<void>
  /** Sends what was added, if it is much. */
  flushIfMuch(): Promise<void>
}

const MUCH_BYTES = 64 * 1024
/** Time within which a client must take what was sent. */
const SEND_MS = 60_000

/** Collects messages, and sends them when they are flushed. */
export function openOutput(connection: Writable): Output {
  let waiting: Buffer[] = []
  let bytes = 0

  const flush = async () => {
    if (bytes === 0) return
    const sent = Buffer.concat(waiting)
    waiting = []
    bytes = 0
    if (connection.writable && !connection.write(sent)) await drained(connection)
  }
  return {
    add(message) {
      waiting.push(message)
      bytes += message.length
    },
    flush,
    flushIfMuch: async () => (bytes < MUCH_BYTES ? undefined : flush()),
  }
}

function drained(connection: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      connection.off('drain', end)
      connection.off('close', end)
      resolve()
    }
    const timer = setTimeout(() => {
      reject(new TooSlow())
      end()
    }, SEND_MS)
    connection.on('drain', end)
    connection.on('close', end)
  })
}
