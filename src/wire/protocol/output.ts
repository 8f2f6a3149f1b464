import type { Writable } from 'node:stream'
import { TooSlow } from './inbox.ts'

/** Messages for a client. */
export interface Output {
  add(message: Buffer): void
  /**
   * Sends what was added.
   * @throws TooSlow if the client does not take it in time. The connection is closed then.
   */
  flush(): Promise<void>
  /** Sends what was added, if it is much. */
  flushIfMuch(): Promise<void>
}

const MUCH_BYTES = 64 * 1024

/**
 * Collects messages, and sends them when they are flushed.
 * @param withinMs time within which the client must take what was sent
 */
export function openOutput(connection: Writable, withinMs: number): Output {
  let waiting: Buffer[] = []
  let bytes = 0

  const flush = async () => {
    if (bytes === 0) return
    const sent = Buffer.concat(waiting)
    waiting = []
    bytes = 0
    if (connection.writable && !connection.write(sent)) await drained(connection, withinMs)
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

function drained(connection: Writable, withinMs: number): Promise<void> {
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
      // Whatever else is sent would wait as long again.
      connection.destroy()
    }, withinMs)
    connection.on('drain', end)
    connection.on('close', end)
  })
}
