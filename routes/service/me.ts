import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { me, signInReport } from '../../schemas/service/me.ts'
import { problemResponses } from '../../schemas/service/problem.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import type { SignIn } from './openapi.ts'

interface MeOptions {
  readonly signIn?: SignIn
}

/** Facts that a client needs to sign in, and to offer only what the caller may do. */
export const meRoutes: FastifyPluginAsyncZod<MeOptions> = async (app, { signIn }) => {
  app.get('/v1/me', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Keys'],
      operationId: 'getMe',
      summary: 'Name and role of the caller',
      response: { 200: me },
    },
    handler: async (request) => {
      const { name, role, datasets } = principalOf(request)
      return { name, role, datasets }
    },
  })

  app.get('/v1/sign-in', {
    schema: {
      tags: ['Keys'],
      operationId: 'getSignIn',
      summary: 'Ways to sign in besides API keys',
      description: 'Needs no key.',
      security: [],
      response: { 200: signInReport, ...problemResponses },
    },
    handler: async () => {
      if (signIn === undefined) return {}
      const { issuer, audience, clientId } = signIn
      return { provider: { issuer, audience, clientId } }
    },
  })
}
