import type { Duplex } from 'node:stream'

/** The bytes that a client has sent, in the order of their arrival. */
export interface Inbox {
  /**
   * Takes a number of bytes, once they have arrived.
   * @param withinMs time limit for their arrival
   * @returns `undefined` if the client has ended the connection before
   * @throws TooSlow
   */
  take(bytes: number, withinMs?: number): Promise<Buffer | undefined>
  /** The number of bytes that have arrived and are not taken. */
  arrived(): number
  /** Takes no more: as if the client had ended the connection. */
  end(): void
  /** Stops receiving, and returns what has arrived, for another reader of the connection. */
  detach(): Buffer
}

/** The bytes of a client took too long to arrive. */
export class TooSlow extends Error {}

/** Bytes from which on a client must wait until some of them have been taken. */
const MOST_WAITING_BYTES = 64 * 1024

/** Receives the bytes of a connection. The memory is bounded: by the bytes to take, or 64 KiB, and one read of the socket. */
export function openInbox(connection: Duplex): Inbox {
  const chunks: Buffer[] = []
  let arrived = 0
  let wanted = 0
  let ended = false
  let isEnded = false
  let wake: () => void = () => undefined

  const receive = (chunk: Buffer) => {
    chunks.push(chunk)
    arrived += chunk.length
    if (arrived >= Math.max(wanted, MOST_WAITING_BYTES)) connection.pause()
    if (arrived >= wanted) wake()
  }
  const end = () => {
    ended = true
    wake()
  }
  connection.on('data', receive)
  connection.once('end', end)
  connection.once('close', end)

  const cut = (bytes: number): Buffer => {
    const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    chunks.length = 0
    arrived = all.length - bytes
    if (arrived > 0) chunks.push(all.subarray(bytes))
    return all.subarray(0, bytes)
  }
  const arrival = (withinMs: number | undefined) =>
    new Promise<void>((resolve, reject) => {
      const timer = withinMs === undefined ? undefined : setTimeout(() => reject(new TooSlow()), withinMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      connection.resume()
    })

  return {
    async take(bytes, withinMs) {
      wanted = bytes
      if (arrived < bytes && !ended) await arrival(withinMs)
      wanted = 0
      return arrived < bytes || isEnded ? undefined : cut(bytes)
    },
    arrived: () => arrived,
    end() {
      isEnded = true
      end()
    },
    detach() {
      connection.off('data', receive)
      connection.off('end', end)
      connection.off('close', end)
      return cut(arrived)
    },
  }
}
