import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** Headers of requests that a page of another origin may send. */
const REQUEST_HEADERS = ['authorization', 'content-type', 'idempotency-key', 'if-none-match']

/** Headers of responses that a page of another origin may read, beside those that every page may. */
const RESPONSE_HEADERS = [
  'content-disposition',
  'etag',
  'idempotent-replayed',
  'link',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'sotto-dummy',
]

/** Time for which browsers need not ask again whether a request is permitted, in seconds. */
const PERMITTED_SECONDS = 600

/**
 * Lets pages of some origins call the service (CORS). Cookies have no part in it: a page needs a key or a token. Call it
 * before all hooks that may refuse a request, so that pages can read the refusal.
 * @param origins as browsers send them
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  await app.register(fastifyCors, {
    // Other origins get what they would get without this list.
    origin: (origin, done) => done(null, origin !== undefined && origins.includes(origin) && origin),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: RESPONSE_HEADERS,
    maxAge: PERMITTED_SECONDS,
    // It would answer with a text instead of a problem document.
    strictPreflight: false,
  })
}
