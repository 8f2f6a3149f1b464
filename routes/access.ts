import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { Principal, Role } from '../src/access/principal.ts'
import { Refusal, refuseField } from '../src/privacy/refusal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Principal whose key was sent; null until the access hook has run. */
    principal: Principal | null
  }
}

/** Security schemes, one per role, so that Swagger UI can store a key for each role. */
export const SECURITY_SCHEMES = {
  analystKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of an analyst. The first one is in `analyst.key` in the data folder.',
  },
  custodianKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of a custodian. The first one is in `custodian.key` in the data folder.',
  },
  auditorKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key of an auditor. Create one with POST /v1/keys or `npx sotto key auditor <name>`.',
  },
  metricsKey: { type: 'http', scheme: 'bearer', description: 'The value of `SOTTO_METRICS_KEY`.' },
} as const

const SCHEME_OF_ROLE = {
  analyst: 'analystKey',
  custodian: 'custodianKey',
  auditor: 'auditorKey',
} as const satisfies Record<Role, keyof typeof SECURITY_SCHEMES>

/** Names of the security schemes of roles. */
export const ROLE_SCHEMES: ReadonlySet<string> = new Set(Object.values(SCHEME_OF_ROLE))

/** Access control of a route: the hook that enforces it and its part of the OpenAPI document. */
export interface Access {
  readonly onRequest: onRequestHookHandler
  readonly security: readonly Record<string, string[]>[]
}

/** Admits requests with the key of one of the roles, before their body is read. */
export function accessFor(authenticator: Authenticator, ...roles: readonly [Role, ...Role[]]): Access {
  return {
    security: roles.map((role) => ({ [SCHEME_OF_ROLE[role]]: [] })),
    onRequest: async (request) => {
      const principal = await authenticate(authenticator, request)
      // Set first, so that a refused request is logged and counted for its principal.
      request.principal = principal
      if (!roles.includes(principal.role)) {
        throw new Refusal(
          'forbidden',
          `This operation requires one of these roles: ${roles.join(', ')}. The key has the role ${principal.role}.`,
        )
      }
    },
  }
}

/** @throws Refusal for a credential that is missing or not valid; the latter is counted as a refused sign-in. */
async function authenticate(authenticator: Authenticator, request: FastifyRequest): Promise<Principal> {
  const credential = bearerKey(request)
  try {
    const principal = await authenticator.authenticate(credential)
    if (principal !== undefined) return principal
    throw new Refusal('unauthenticated', 'The API key is not valid.')
  } catch (error) {
    // A token without a role is `forbidden`. If keys or tokens cannot be checked, nothing is refused.
    const isRefused = error instanceof Refusal && error.code !== 'unavailable'
    if (isRefused) authenticator.countRefused?.(request.ip)
    throw error
  }
}

/**
 * Returns the bearer key of a request.
 * @throws Refusal `unauthenticated` if it sends none.
 */
export function bearerKey(request: FastifyRequest): string {
  // Node uses the first of several headers; a proxy in front of the service may have checked another one.
  if ((request.raw.headersDistinct.authorization?.length ?? 0) > 1)
    throw refuseField('invalid-request', 'authorization', 'must be sent only once')
  const header = request.headers.authorization
  if (header === undefined) {
    throw new Refusal(
      'unauthenticated',
      'Send the header "Authorization: Bearer <key>". The file analyst.key in the data folder contains a key.',
    )
  }
  const match = /^Bearer +([^\s]+) *$/i.exec(header)
  if (match?.[1] === undefined) {
    throw new Refusal('unauthenticated', 'The Authorization header must have the form "Bearer <key>".')
  }
  return match[1]
}

/** Returns the principal of a request to a route behind {@link accessFor}. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new RangeError('the route has no access hook')
  return request.principal
}
