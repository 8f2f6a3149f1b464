import type { FastifyReply } from 'fastify'

/** Aborted once the client has left, or has been sent something else, before the answer was complete. */
export function givenUpBy(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // Not `request.signal`: Fastify aborts that as soon as the body of a request has been read.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}
