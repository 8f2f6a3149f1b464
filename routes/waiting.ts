import type { FastifyReply } from 'fastify'

/**
 * Aborted once nobody waits for an answer: the client has left, or has got it, or something else in its place. To be asked
 * for before anything is waited for, so that nobody leaves unseen.
 */
export function givenUpBy(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // Not `request.signal`: Fastify aborts that as soon as the body of a request has been read.
  if (reply.raw.closed) controller.abort()
  else reply.raw.once('close', () => controller.abort())
  return controller.signal
}
