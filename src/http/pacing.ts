import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { pace } from '../platform/concurrency/pace.ts'

/** Lets the requests of a principal begin one after the other: before their body is read, and large ones again after it. */
export function paceRequests(app: FastifyInstance): void {
  app.addHook('preParsing', async ({ principal }) => {
    if (principal !== null) await pace(principal.name)
  })
  // A large body arrives in several turns. Validating and planning it takes milliseconds of one.
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
