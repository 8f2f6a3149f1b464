import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { pace } from '../platform/concurrency/pace.ts'

/**
 * Lets the large requests of a principal begin one after the other: validating and planning one takes milliseconds. To pace the
 * small ones as well would cost a sixth of the throughput.
 */
export function paceLargeRequests(app: FastifyInstance): void {
  app.addHook('preValidation', async ({ headers, principal }) => {
    if (principal !== null && hasLargeBody(headers)) await pace(principal.name)
  })
}

/** Number of bytes from which on a body takes noticeable time of the event loop. */
const LARGE_BODY_BYTES = 4_096

/** True for a request whose body is large, or may be, because its length is not stated. */
export function hasLargeBody(headers: IncomingHttpHeaders): boolean {
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGE_BODY_BYTES
  )
}
