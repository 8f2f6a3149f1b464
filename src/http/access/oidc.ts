import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose'
import { Refusal } from '../../privacy/refusal.ts'
import {
  type BoundedFetch,
  createBoundedFetch,
  type FetchBounds,
  ProviderCoolingDown,
} from './bounded-fetch.ts'
import { type Principal, ROLES, type Role } from './principal.ts'

/** Signature algorithms that may be configured. All are asymmetric: the service holds no secret of the provider. */
export const SIGNATURE_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

/** Settings for the tokens of an OpenID provider. */
export interface OidcSettings {
  /** Issuer, as tokens name it; its discovery document is below it. */
  readonly issuer: string
  readonly audience: string
  readonly algorithms: readonly (typeof SIGNATURE_ALGORITHMS)[number][]
  readonly clockSkewMs: number
  /** With `at+jwt`, tokens must have this type (RFC 9068); with `any`, only known marks of ID tokens are refused. */
  readonly tokenType: 'at+jwt' | 'any'
  /** Claims that contain the name, the role and, if limited, the datasets. A `/` begins a path (RFC 6901). */
  readonly nameClaim: string
  readonly roleClaim: string
  readonly datasetsClaim?: string
  /** The role that each value of the role claim stands for. Other values are ignored. */
  readonly roles: ReadonlyMap<string, Role>
}

/** Identifies the bearers of tokens. */
export interface TokenAuthenticator {
  /**
   * Returns the principal of an access token.
   * @throws Refusal `unauthenticated` if it is not valid, `forbidden` if it gives no role, or `unavailable` if the
   * provider's keys cannot be fetched
   */
  authenticate(token: string): Promise<Principal>
}

/** Prefix of the names of principals with tokens. No API key has such a name. */
export const OIDC_PREFIX = 'oidc:'

/** Characters of a name; the prefix and up to 200 of these. */
const NAME = /^[A-Za-z0-9._~@|:+=/-]{1,200}$/

/** Longest token that is read. Headers of a request have 16 KiB in all. */
const MAX_TOKEN_CHARACTERS = 8_192

/** Claims that only ID tokens have (OpenID Connect Core 1.0, sections 2 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash']

/** Bounds of requests to the provider. Unknown key ids cause one request per cooldown at most. */
const BOUNDS: FetchBounds = { timeoutMs: 5_000, maxBytes: 256 * 1024, cooldownMs: 30_000 }

type VerificationKeys = ReturnType<typeof createRemoteJWKSet>

/**
 * Creates the authenticator for the access tokens of an OpenID provider. The provider is not asked before the first
 * token arrives.
 * @param onUnavailable called with the reason if the provider's keys cannot be fetched
 */
export function createTokenAuthenticator(
  settings: OidcSettings,
  onUnavailable: (error: Error) => void,
  bounds: FetchBounds = BOUNDS,
): TokenAuthenticator {
  const fetchDocument = createBoundedFetch(bounds)
  let discovered: Promise<VerificationKeys> | undefined

  /** Returns the provider's keys, which are fetched again when a token names an unknown one. */
  function verificationKeys(): Promise<VerificationKeys> {
    discovered ??= discover(settings.issuer, fetchDocument, bounds).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  return {
    async authenticate(token) {
      if (token.length > MAX_TOKEN_CHARACTERS) throw refused('is too long')
      requireJwtForm(token)
      try {
        const keys = await verificationKeys()
        const { payload, protectedHeader } = await jwtVerify(token, keys, {
          issuer: settings.issuer,
          audience: settings.audience,
          algorithms: [...settings.algorithms],
          clockTolerance: settings.clockSkewMs / 1_000,
          requiredClaims: ['exp'],
        })
        requireAccessToken(protectedHeader.typ, payload, settings)
        return principalOf(payload, settings)
      } catch (error) {
        if (error instanceof Refusal) throw error
        const reason = reasonOf(error)
        if (reason !== undefined) throw refused(reason)
        // A failure is reported once, not for every token that arrives during the cooldown.
        if (error instanceof Error && !(error instanceof ProviderCoolingDown)) onUnavailable(error)
        throw new Refusal(
          'unavailable',
          'The identity provider cannot be reached, so the token cannot be checked. Retry later.',
          [],
          { retryAfterSeconds: Math.ceil(bounds.cooldownMs / 1_000) },
        )
      }
    },
  }
}

/** @throws ProviderUnavailable if the discovery document is missing, or is that of another issuer. */
async function discover(
  issuer: string,
  fetchDocument: BoundedFetch,
  { timeoutMs, cooldownMs }: FetchBounds,
): Promise<VerificationKeys> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  let keysUrl = ''
  await fetchDocument(url, (document) => {
    keysUrl = keysUrlOf(document, issuer)
  })
  return createRemoteJWKSet(new URL(keysUrl), {
    timeoutDuration: timeoutMs,
    cooldownDuration: cooldownMs,
    [customFetch]: (address) => fetchDocument(address, requireKeySet),
  })
}

/** Reads a discovery document (OpenID Connect Discovery 1.0, section 4.3). */
function keysUrlOf(document: unknown, issuer: string): string {
  const found = typeof document === 'object' && document !== null ? document : {}
  if (!('issuer' in found) || found.issuer !== issuer)
    throw new Error('it names another issuer than SOTTO_OIDC_ISSUER')
  if (!('jwks_uri' in found) || typeof found.jwks_uri !== 'string' || !isProtectedUrl(found.jwks_uri))
    throw new Error('it names no jwks_uri with https')
  return found.jwks_uri
}

function requireKeySet(document: unknown): void {
  const isKeySet =
    typeof document === 'object' && document !== null && 'keys' in document && Array.isArray(document.keys)
  if (!isKeySet) throw new Error('it is no set of keys')
}

/** True for an https URL, and for an http URL on this machine. */
export function isProtectedUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)
}

/** @throws Refusal for a text that is no signed JWT, so that the provider is not asked for it. */
function requireJwtForm(token: string): void {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
    throw new Refusal('unauthenticated', 'The API key is not valid.')
}

/**
 * Refuses ID tokens: they are made for another audience, the client, and say nothing about this service.
 * @throws Refusal `unauthenticated`
 */
function requireAccessToken(
  type: string | undefined,
  payload: JWTPayload,
  { tokenType }: OidcSettings,
): void {
  const isAccessToken = type?.toLowerCase().replace(/^application\//, '') === 'at+jwt'
  if (tokenType === 'at+jwt' && !isAccessToken) throw refused('is no access token of type at+jwt')
  const isIdToken =
    ID_TOKEN_CLAIMS.some((claim) => claim in payload) || payload.token_use === 'id' || payload.typ === 'ID'
  if (!isAccessToken && isIdToken) throw refused('is an ID token; send an access token')
}

/** @throws Refusal `unauthenticated` without a usable name, `forbidden` without exactly one role or without datasets */
function principalOf(payload: JWTPayload, settings: OidcSettings): Principal {
  const name = claimAt(payload, settings.nameClaim)
  if (typeof name !== 'string' || !NAME.test(name))
    throw refused('has no name, or one with characters that are not allowed')
  const values = textsOf(claimAt(payload, settings.roleClaim))
  const roles = ROLES.filter((role) => values.some((value) => settings.roles.get(value) === role))
  const [role, ...others] = roles
  if (role === undefined) throw new Refusal('forbidden', 'The token gives no role in this service.')
  if (others.length > 0) {
    const detail = `The token gives several roles in this service: ${roles.join(', ')}. It must give one.`
    throw new Refusal('forbidden', detail)
  }
  const datasets = datasetsOf(payload, settings)
  return { name: OIDC_PREFIX + name, role, ...(datasets === undefined ? {} : { datasets }) }
}

/** Returns the datasets of a token; `undefined` for all. If a claim is configured, its absence means none. */
function datasetsOf(payload: JWTPayload, { datasetsClaim }: OidcSettings): readonly string[] | undefined {
  if (datasetsClaim === undefined) return undefined
  const values = textsOf(claimAt(payload, datasetsClaim))
  return values.includes('*') ? undefined : values
}

/** Returns a claim by its name, or by its path below the claims. */
function claimAt(payload: JWTPayload, claim: string): unknown {
  const steps = claim.startsWith('/')
    ? claim
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [claim]
  let value: unknown = payload
  for (const step of steps)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Readonly<Record<string, unknown>>)[step]
        : undefined
  return value
}

/** Returns the texts of a claim: a list of texts, or one text in which spaces separate them. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter(Boolean)
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function refused(reason: string): Refusal {
  return new Refusal('unauthenticated', `The token ${reason}.`)
}

/** Returns why a token is not valid; `undefined` if the error is not about the token. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof errors.JWTExpired) return 'has expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return 'is from another issuer'
    if (error.claim === 'aud') return 'is for another audience'
    if (error.claim === 'nbf') return 'is not valid yet'
    return 'lacks a claim or has a malformed one'
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'has a signature algorithm that is not allowed'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'is signed with an unknown key'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature'
  const isMalformed =
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JOSENotSupported
  return isMalformed ? 'is malformed' : undefined
}
