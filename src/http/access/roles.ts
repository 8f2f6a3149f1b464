import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal, refuseField } from '../../privacy/refusal.ts'
import type { Authenticator } from './identity.ts'
import { permittedDataset } from './permitted-datasets.ts'
import { type Principal, ROLES, type Role } from './principal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Principal whose key was sent; null until it is known. */
    principal: Principal | null
  }
  interface FastifyContextConfig {
    /** Roles whose keys the route takes; absent for a route that needs no key. */
    readonly roles?: readonly Role[]
  }
}

/** All roles. */
export const EVERYONE = ROLES

/**
 * Requires the key of one of the roles of a route (`config.roles`), before its body is read, and that it may use the dataset in
 * the path, after the request was validated.
 */
export function requireRoles(app: FastifyInstance, authenticator: Authenticator): void {
  app.decorateRequest('principal', null)
  app.addHook('onRequest', async (request) => {
    const { roles } = request.routeOptions.config
    if (roles === undefined) return
    const principal = await authenticate(authenticator, request)
    // Set first, so that a refused request is logged and counted for its principal.
    request.principal = principal
    if (roles.includes(principal.role)) return
    throw new Refusal(
      'forbidden',
      `This operation requires one of these roles: ${roles.join(', ')}. The key has the role ${principal.role}.`,
    )
  })
  app.addHook('preHandler', async ({ principal, params }) => {
    const { dataset } = params as { readonly dataset?: string }
    if (principal !== null && dataset !== undefined) permittedDataset(principal, dataset)
  })
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

/** Returns the principal of a request to a route with roles. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new RangeError('the route has no roles')
  return request.principal
}
