import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'

/** Content security policy of all responses except Swagger UI: they load and embed nothing. */
const CONTENT_POLICY = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
}

const DIRECTIVES = Object.entries(CONTENT_POLICY).map(([name, sources]) => `${name} ${sources.join(' ')}`)

/** The same policy as the text of its header. */
export const CONTENT_POLICY_TEXT = DIRECTIVES.join(';')

/** Time for which browsers use HTTPS only, in seconds: 180 days. */
const HTTPS_ONLY_SECONDS = 15_552_000

/** Where the API is described, for people and for programs (RFC 8631). */
export const DOCUMENTATION_LINKS = '</guide/>; rel="service-doc", </openapi.json>; rel="service-desc"'

/**
 * Returns the headers of every response: a strict content security policy, no sniffing of media types, no frames, no
 * referrer, no storage by caches, because almost every response depends on a key, and links to the documentation. They depend on no request, so that
 * they are made once.
 * @param https true if the service itself speaks TLS; behind a proxy, the proxy sets `Strict-Transport-Security`
 */
export function commonHeaders(https: boolean): Readonly<Record<string, string>> {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: CONTENT_POLICY },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: https ? { maxAge: HTTPS_ONLY_SECONDS, includeSubDomains: false } : false,
    // The sign-in popup must be able to return to Swagger UI.
    crossOriginOpenerPolicy: false,
  })
  setHeaders(response.req, response, () => undefined)
  response.setHeader('cache-control', 'no-store')
  response.setHeader('link', DOCUMENTATION_LINKS)
  return Object.fromEntries(
    Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
  )
}

/**
 * Returns the content security policy of Swagger UI.
 * @param origins of the identity provider, from which the page may request tokens
 */
export function documentationPolicy(origins: readonly string[]): string {
  // The hash is that of the only inline style of Swagger UI, which hides its icons.
  const styles = "'self' 'unsafe-hashes' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='"
  return policyOf({ styles, images: "'self' data:", origins })
}

/**
 * Returns the content security policy of the console, which loads only its own files.
 * @param origins of the identity provider, from which the page may request tokens
 */
export function consolePolicy(origins: readonly string[]): string {
  return policyOf({ styles: "'self'", images: "'self' blob:", origins })
}

/**
 * Returns the content security policy of the guide, which loads only its own files.
 * @param scripts hashes of its inline scripts
 */
export function guidePolicy(scripts: readonly string[]): string {
  return policyOf({ scripts, styles: "'self'", images: "'self' data:", origins: [] })
}

interface PageSources {
  /** Hashes of inline scripts. */
  readonly scripts?: readonly string[]
  readonly styles: string
  readonly images: string
  readonly origins: readonly string[]
}

function policyOf({ scripts = [], styles, images, origins }: PageSources): string {
  const connections = ["'self'", ...origins].join(' ')
  const own = [`style-src ${styles}`, `img-src ${images}`, `connect-src ${connections}`]
  return [...DIRECTIVES, `script-src ${["'self'", ...scripts].join(' ')}`, ...own].join('; ')
}
