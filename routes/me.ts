import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { me, signInReport } from '../schemas/me.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { accessFor, principalOf } from './access.ts'
import type { SignIn } from './openapi.ts'

export interface MeOptions {
  readonly authenticator: Authenticator
  readonly signIn?: SignIn
}

/** Facts that a client needs to sign in, and to offer only what the caller may do. */
export const meRoutes: FastifyPluginAsyncZod<MeOptions> = async (app, { authenticator, signIn }) => {
  const anyRole = accessFor(authenticator, 'analyst', 'custodian', 'auditor')

  app.get(
    '/v1/me',
    {
      onRequest: anyRole.onRequest,
      schema: {
        tags: ['Keys'],
        operationId: 'getMe',
        summary: 'Name and role of the caller',
        security: anyRole.security,
        response: { 200: me, ...problemResponses },
      },
    },
    async (request) => {
      const { name, role, datasets } = principalOf(request)
      return { name, role, ...(datasets === undefined ? {} : { datasets }) }
    },
  )

  app.get(
    '/v1/sign-in',
    {
      schema: {
        tags: ['Keys'],
        operationId: 'getSignIn',
        summary: 'Ways to sign in besides API keys',
        description: 'Needs no key.',
        security: [],
        response: { 200: signInReport, ...problemResponses },
      },
    },
    async () => {
      if (signIn === undefined) return {}
      const { issuer, audience, clientId } = signIn
      return { provider: { issuer, audience, ...(clientId === undefined ? {} : { clientId }) } }
    },
  )
}
