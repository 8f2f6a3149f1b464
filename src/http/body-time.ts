import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendConnectionProblem } from './problem.ts'

/** Time limits for the arrival of a request's body. */
export interface BodyTime {
  readonly totalMs: number
  /** Longest time without a byte; unlimited if absent. */
  readonly idleMs?: number
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Time limits for the body, where they differ from those of other routes. */
    bodyTime?: BodyTime
  }
}

/** Time for which a client can read the answer to a body that it is still sending. */
const LATE_READER_MS = 1_000

/**
 * Creates the time limit for bodies. Node's own limit is the same for all routes. Call it for each request before anything
 * can answer it: a body may still be arriving when its request has been answered. Where bodies may take long, the
 * connection of such a request ends soon after the answer.
 *
 * @param limit for routes without limits of their own
 */
export function limitBodyTime(limit: BodyTime): (request: FastifyRequest, reply: FastifyReply) => void {
  return (request, reply) => {
    const { headers } = request.raw
    if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
    const own = request.routeOptions?.config?.bodyTime
    if (own !== undefined) reply.raw.once('finish', () => endUnread(request.raw))
    watchBody(request.raw, own ?? limit, () => {
      const { socket } = request.raw
      if (reply.raw.headersSent) socket.destroy()
      else sendConnectionProblem({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket)
    })
  }
}

function watchBody(
  raw: FastifyRequest['raw'],
  { totalMs, idleMs = totalMs }: BodyTime,
  onTimeout: () => void,
): void {
  const { socket } = raw
  const startedMs = performance.now()
  let bytesBefore = socket.bytesRead
  const timer = setInterval(
    () => {
      const isIdle = socket.bytesRead === bytesBefore
      bytesBefore = socket.bytesRead
      if (!isIdle && performance.now() - startedMs < totalMs) return
      clearInterval(timer)
      onTimeout()
    },
    // A timer may fire a little early.
    Math.min(idleMs, totalMs) + 10,
  )
  for (const event of ['end', 'close']) raw.once(event, () => clearInterval(timer))
}

/** Ends the connection of an answered request whose body has not arrived completely. The rest of it is not read. */
function endUnread(raw: FastifyRequest['raw']): void {
  const end = () => {
    if (!raw.complete) raw.socket.destroy()
  }
  setTimeout(end, LATE_READER_MS).unref()
}
