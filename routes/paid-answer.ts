import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Answer } from '../src/answers/answer.ts'
import { principalOf } from './access.ts'

/** The header that tells one paid request from another. */
export const idempotencyHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
    .optional()
    .describe(
      'Names this request. Left out, the request names itself, and a repeat replays what was answered, free: after a ' +
        'lost response nothing is paid or used up twice. For a fresh draw of the same question send a new key.',
    ),
})

/** Who asks, and whether somebody waits: what a paid request comes with beside itself. */
export function callerOf(
  request: FastifyRequest,
  reply: FastifyReply,
  headers: z.output<typeof idempotencyHeaders>,
) {
  const idempotencyKey = headers['idempotency-key']
  return {
    principal: principalOf(request).name,
    // Not `request.signal`: Fastify aborts that as soon as the body of a request has been read.
    givenUp: () => reply.sent || request.raw.socket.destroyed,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

/** Sends the stored bytes as they are. */
export function sendStored(reply: FastifyReply, { body, replayed }: Answer): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true')
  return reply.type('application/json').send(body)
}
