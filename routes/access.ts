import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import type { KeyRing } from '../src/access/keys.ts'
import type { Principal, Role } from '../src/access/principal.ts'
import { Refusal, refuseField } from '../src/privacy/refusal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose key came with the request; null until the access hook has run. */
    principal: Principal | null
  }
}

/** One security scheme per role, so that Swagger UI holds each role's key and sends the right one. */
export const SECURITY_SCHEMES = {
  analystKey: { type: 'http', scheme: 'bearer', description: 'The key in `analyst.key` in the data folder.' },
  custodianKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The key in `custodian.key` in the data folder.',
  },
  auditorKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'A key made by `npm run key -- auditor <name>`.',
  },
} as const

const SCHEME_OF_ROLE = {
  analyst: 'analystKey',
  custodian: 'custodianKey',
  auditor: 'auditorKey',
} as const satisfies Record<Role, keyof typeof SECURITY_SCHEMES>

/** What a route of some roles needs: the hook that lets only them in, and its part of the OpenAPI document. */
export interface Access {
  readonly onRequest: onRequestHookHandler
  readonly security: readonly Record<string, string[]>[]
}

/** Lets requests in whose bearer key belongs to one of the roles, before their body is read. */
export function accessFor(keyRing: KeyRing, ...roles: readonly [Role, ...Role[]]): Access {
  return {
    security: roles.map((role) => ({ [SCHEME_OF_ROLE[role]]: [] })),
    onRequest: async (request) => {
      const principal = keyRing.principalOf(bearerKey(request))
      if (principal === undefined)
        throw new Refusal('unauthenticated', 'The API key is not one of this service.')
      if (!roles.includes(principal.role)) {
        throw new Refusal(
          'forbidden',
          `This call is for: ${roles.join(', ')}. The key is for: ${principal.role}.`,
        )
      }
      request.principal = principal
    },
  }
}

function bearerKey(request: FastifyRequest): string {
  // Node keeps the first of several such headers; a proxy in front may have checked another one.
  if ((request.raw.headersDistinct.authorization?.length ?? 0) > 1)
    throw refuseField('invalid-request', 'authorization', 'must be sent only once')
  const header = request.headers.authorization
  if (header === undefined) {
    throw new Refusal(
      'unauthenticated',
      'Send the header "Authorization: Bearer <key>"; analyst.key holds one.',
    )
  }
  const match = /^Bearer +([^\s]+) *$/i.exec(header)
  if (match?.[1] === undefined) {
    throw new Refusal('unauthenticated', 'The Authorization header must read "Bearer <key>".')
  }
  return match[1]
}

/** Who asks, on a route behind {@link accessFor}. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new RangeError('the route has no access hook')
  return request.principal
}
