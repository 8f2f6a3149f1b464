import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

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

/**
 * Ends connections whose body takes too long to arrive. Node's own limit is the same for all routes.
 * @param limit for routes without limits of their own
 * @param onTimeout answers and closes the connection
 */
export function limitBodyTime(
  app: FastifyInstance,
  limit: BodyTime,
  onTimeout: (request: FastifyRequest) => void,
): void {
  app.addHook('onRequest', async (request, reply) => {
    const { headers } = request
    if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
    watchBody(request, reply, request.routeOptions.config?.bodyTime ?? limit, onTimeout)
  })
}

function watchBody(
  request: FastifyRequest,
  reply: FastifyReply,
  { totalMs, idleMs = totalMs }: BodyTime,
  onTimeout: (request: FastifyRequest) => void,
): void {
  const { raw } = request
  const { socket } = raw
  const startedMs = performance.now()
  let bytesBefore = socket.bytesRead
  const timer = setInterval(
    () => {
      const isIdle = socket.bytesRead === bytesBefore
      bytesBefore = socket.bytesRead
      if (!isIdle && performance.now() - startedMs < totalMs) return
      end()
      onTimeout(request)
    },
    // A timer may fire a little early.
    Math.min(idleMs, totalMs) + 10,
  )
  const end = () => clearInterval(timer)
  for (const event of ['end', 'close']) raw.once(event, end)
  reply.raw.once('close', end)
}
