import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '../privacy/defined.ts'
import { principalOf } from './access/roles.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Instant of the service's clock at which the whole request, with its body, had arrived. */
    arrivedAtMs: number
  }
}

/** Headers of a request that may be charged. */
export const idempotencyHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
    .optional()
    .describe(
      'Identifies this request. Without it the request identifies itself, so a repeat replays the stored answer at no ' +
        'cost. Send a new key to draw a fresh answer to the same question, and to pay for it.',
    ),
})

/** Describes the caller of a request that may be charged. Call it before the first await. */
export function callerOf(
  request: FastifyRequest,
  reply: FastifyReply,
  headers: z.output<typeof idempotencyHeaders>,
) {
  const { name, quota, spending } = principalOf(request)
  return defined({
    principal: name,
    arrivedAtMs: request.arrivedAtMs,
    requestId: request.id,
    givenUp: givenUpSignal(reply),
    idempotencyKey: headers['idempotency-key'],
    maxStoredBytes: quota?.storedBytesPerDataset,
    spending,
  })
}

/** True once the client has disconnected or has been answered. */
export function isGivenUp(request: FastifyRequest, reply: FastifyReply): boolean {
  // Not `request.signal`: Fastify aborts it as soon as the body of a request has been read.
  return reply.sent || request.raw.socket.destroyed
}

/**
 * Returns a signal that is aborted once the client has disconnected or has been answered. Call it before the first
 * await, so that no disconnection is missed.
 */
export function givenUpSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const giveUp = () => controller.abort(GIVEN_UP)
  if (reply.raw.closed || reply.raw.socket?.destroyed) giveUp()
  else reply.raw.once('close', giveUp)
  return controller.signal
}

/** Reason of the signals. Each request has one, and making an error for each would take several times as long. */
const GIVEN_UP = new DOMException('the client has disconnected or has been answered', 'AbortError')

/** Terms of a computation in a pool of threads for the caller. Call it before the first await. */
export function termsOf(request: FastifyRequest, reply: FastifyReply, timeoutMs: number) {
  return { timeoutMs, givenUp: givenUpSignal(reply), principal: principalOf(request).name }
}

/** Sends a stored answer, a replay, or another document that is JSON already. */
export function sendAnswer(
  reply: FastifyReply,
  { body, replayed = false }: { readonly body: string; readonly replayed?: boolean },
): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true')
  return reply.type('application/json').send(body)
}
