import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Content security policy of all responses except Swagger UI: they load and embed nothing. */
const CONTENT_POLICY = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
}

/** The same policy as the text of its header. */
export const CONTENT_POLICY_TEXT = Object.entries(CONTENT_POLICY)
  .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
  .join(';')

/** Time for which browsers use HTTPS only, in seconds: 180 days. */
const HTTPS_ONLY_SECONDS = 15_552_000

/**
 * Sets the headers of every response: a strict content security policy, no sniffing of media types, no frames, no
 * referrer, and no storage by caches, because almost every response depends on a key.
 * @param https true if the service itself speaks TLS; behind a proxy, the proxy sets `Strict-Transport-Security`
 */
export async function setHeaders(app: FastifyInstance, https: boolean): Promise<void> {
  await app.register(fastifyHelmet, {
    contentSecurityPolicy: { useDefaults: false, directives: CONTENT_POLICY },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: https ? { maxAge: HTTPS_ONLY_SECONDS, includeSubDomains: false } : false,
    // The sign-in popup must be able to return to Swagger UI.
    crossOriginOpenerPolicy: false,
  })
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
}

/** Sets the headers of a response to a request for which no hook runs, because its address is malformed. */
export function setHeadersWithoutHooks(reply: FastifyReply): void {
  reply
    .header('content-security-policy', CONTENT_POLICY_TEXT)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
}

/**
 * Returns the content security policy of Swagger UI.
 * @param origins of the identity provider, from which the page may request tokens
 */
export function documentationPolicy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "script-src 'self'",
    // The hash is that of the only inline style of Swagger UI, which hides its icons.
    "style-src 'self' 'unsafe-hashes' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
  ].join('; ')
}
