import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ingestionList, ingestionParameters } from '../../schemas/datasets/ingestions.ts'
import { pageQuery } from '../../schemas/values.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { mayUse, type Principal } from '../../src/http/access/principal.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import { Refusal } from '../../src/privacy/refusal.ts'

interface IngestionsOptions {
  readonly registry: Pick<Registry, 'listIngestions' | 'stopIngestion'>
}

/** Ingestions of registrations and versions, while they wait or run. */
export const ingestionsRoutes: FastifyPluginAsyncZod<IngestionsOptions> = async (app, { registry }) => {
  const permitted = (principal: Principal) =>
    registry.listIngestions().filter(({ dataset }) => mayUse(principal, dataset))

  app.get('/v1/ingestions', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'listIngestions',
      summary: 'List the ingestions under way',
      description:
        'Lists the registrations and versions whose source waits for its turn or is being ingested, with their progress. ' +
        'With several replicas, each lists its own.',
      querystring: pageQuery,
      response: { 200: ingestionList },
    },
    handler: async (request, reply) => {
      const { items, next } = pageOf(request, reply, permitted(principalOf(request)), ({ id }) => id)
      return { ingestions: items, next }
    },
  })

  app.delete('/v1/ingestions/:ingestion', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'stopIngestion',
      summary: 'Stop an ingestion',
      description:
        'Stops an ingestion, also that of a dataset which is not registered yet. Nothing is published or recorded, and its ' +
        'request is answered with the problem `ingestion-stopped`. With several replicas, only the one that runs it can stop it.',
      params: ingestionParameters,
      response: {
        204: z.null().describe('Nothing of the ingestion will be published.'),
      },
    },
    handler: async (request, reply) => {
      const { ingestion } = request.params
      const isPermitted = permitted(principalOf(request)).some(({ id }) => id === ingestion)
      if (!isPermitted || !registry.stopIngestion(ingestion)) throw unknownIngestion(ingestion)
      return reply.code(204).send(null)
    },
  })
}

function unknownIngestion(id: string): Refusal {
  return new Refusal('unknown-ingestion', `There is no ingestion ${id} that you may stop.`)
}
