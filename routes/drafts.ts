import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { draft, draftRequest } from '../schemas/drafts.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { Drafts } from '../src/registration/drafts/drafts.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal } from './caller.ts'
import { requireOwnSource } from './require-dataset.ts'

export interface DraftsOptions {
  readonly authenticator: Authenticator
  readonly drafts: Drafts
}

/** Proposed declarations of sources. */
export const draftsRoutes: FastifyPluginAsyncZod<DraftsOptions> = async (app, { authenticator, drafts }) => {
  const { onRequest, security } = accessFor(authenticator, 'custodian')

  app.post(
    '/v1/drafts',
    {
      onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'draftDeclaration',
        summary: 'Draft a declaration',
        description:
          'Proposes a declaration of an upload, a file below the data folder, or a table: names and types of columns, the form ' +
          'of the file, identifiers, dates, columns with few values. Bounds, steps and categories are left as questions, ' +
          'because everything in a declaration is public. Reads only the first rows of a file, and no row of a table. A ' +
          'key that is limited to datasets can draft declarations of its own uploads only.',
        security,
        body: draftRequest,
        response: { 200: draft, ...problemResponses },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { source, showDataHints } = request.body
      requireOwnSource(principal, source)
      return drafts.propose(source, principal.name, { showDataHints, signal: givenUpSignal(reply) })
    },
  )
}
