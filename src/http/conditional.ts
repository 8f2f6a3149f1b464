import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose documents seldom change: clients can ask if the one that they have is still the same. */
    readonly conditional?: true
  }
}

/**
 * Gives the documents of conditional routes an `ETag`, and answers a request that names it in `If-None-Match` with 304. By
 * then the route has done all that it does for a 200, so the caller may see the document. Browsers may keep these documents,
 * and must ask each time before they show one.
 */
export function answerConditionally(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isDocument = reply.statusCode === 200 && typeof payload === 'string'
    const { conditional } = request.routeOptions.config
    done(null, conditional && isDocument ? unlessKnown(request, reply, payload) : payload)
  })
}

/** Returns what is sent of a document: nothing if the client has it. */
function unlessKnown(request: FastifyRequest, reply: FastifyReply, document: string): string | null {
  const tag = `"${hash('sha256', document, 'base64url')}"`
  const isPublic = request.routeOptions.config.roles === undefined
  reply.header('etag', tag).header('cache-control', isPublic ? 'no-cache' : 'private, no-cache')
  if (!names(request.headers['if-none-match'], tag)) return document
  reply.code(304)
  // Fastify states the length of the document, and sends only that.
  if (request.method === 'HEAD') return document
  reply.removeHeader('content-type')
  return null
}

/** True if the header `If-None-Match` names a tag. Proxies that compress a document mark its tag as weak. */
function names(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((each) => ['*', tag, `W/${tag}`].includes(each.trim())) ?? false
}
