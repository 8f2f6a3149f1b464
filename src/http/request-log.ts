import type { FastifyReply, FastifyRequest } from 'fastify'
import { defined } from '../privacy/defined.ts'
import type { Principal } from './access/principal.ts'
import { loggedDuration, type Metrics } from './metrics.ts'
import { refusalOf } from './problem.ts'

/** Logged status of a request whose client disconnected before the response began. It is never sent. */
const CLIENT_LEFT = 499

/**
 * Logs and counts a request once, when its response has been sent or its client has disconnected. Fastify's `onResponse`
 * hook does not run in the second case. The line names the code of a refusal. It contains no query string, body or key.
 */
export function recordWhenClosed(request: FastifyRequest, reply: FastifyReply, metrics: Metrics): void {
  reply.raw.once('close', () => {
    const { headersSent, writableFinished } = reply.raw
    const statusCode = headersSent ? reply.raw.statusCode : CLIENT_LEFT
    const { elapsedTime } = reply
    metrics.observe(request, { statusCode, elapsedTime })
    // Requests with a malformed address have no decorations.
    const principal: Principal | null | undefined = request.principal
    request.log.info(
      defined({
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: statusCode,
        durationMs: loggedDuration(request, elapsedTime),
        code: refusalOf(request),
        principal: principal?.name,
        key: principal?.key,
        clientLeft: writableFinished ? undefined : true,
      }),
      'request',
    )
  })
}
