import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/**
 * Waits until a principal may begin another large request: one in each turn of the event loop. The wait depends on the
 * requests of the same principal alone.
 */
export type Pace = (principal: string) => Promise<void>

/**
 * Creates the pace of large requests. Validating and planning one takes milliseconds of the event loop, and answering any
 * request takes many of its turns. If 64 large requests ran in each turn, a small request would wait for hundreds of them.
 */
export function createPace(): Pace {
  const last = new Map<string, Promise<void>>()
  return (principal) => {
    const turn = (last.get(principal) ?? Promise.resolve()).then(() => setImmediate())
    last.set(principal, turn)
    void turn.then(() => {
      if (last.get(principal) === turn) last.delete(principal)
    })
    return turn
  }
}

/** Number of bytes from which on a body takes noticeable time of the event loop. */
const LARGE_BODY_BYTES = 4_096

/** True for a request whose body is large, or may be, because its length is not stated. */
export function hasLargeBody(headers: IncomingHttpHeaders): boolean {
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGE_BODY_BYTES
  )
}
