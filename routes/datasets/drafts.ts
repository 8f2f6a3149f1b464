import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { draft, draftRequest } from '../../schemas/datasets/drafts.ts'
import type { Drafts } from '../../src/datasets/registration/drafts/drafts.ts'
import { requireOwnSource } from '../../src/http/access/permitted-datasets.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { givenUpSignal } from '../../src/http/caller.ts'

interface DraftsOptions {
  readonly drafts: Drafts
}

/** Proposed declarations of sources. */
export const draftsRoutes: FastifyPluginAsyncZod<DraftsOptions> = async (app, { drafts }) => {
  app.post('/v1/drafts', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'draftDeclaration',
      summary: 'Draft a declaration',
      description:
        'Proposes a declaration of an upload, a file below the data folder, or a table: names and types of columns, the form ' +
        'of the file, identifiers, dates, columns with few values. Bounds, steps and categories are left as questions, ' +
        'because everything in a declaration is public. Reads only the first rows of a file, and no row of a table. A ' +
        'key that is limited to datasets can draft declarations of its own uploads only.',
      body: draftRequest,
      response: { 200: draft },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { source, showDataHints } = request.body
      requireOwnSource(principal, source)
      return drafts.propose(source, principal.name, { showDataHints, signal: givenUpSignal(reply) })
    },
  })
}
