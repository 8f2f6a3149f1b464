import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { connectionList } from '../../schemas/datasets/connections.ts'
import { pageQuery } from '../../schemas/values.ts'
import type { WatchedConnections } from '../../src/datasets/connections/watch.ts'
import { pageOf } from '../../src/http/paging.ts'

interface ConnectionsOptions {
  readonly connections: WatchedConnections
}

/** Databases whose tables can be registered. */
export const connectionsRoutes: FastifyPluginAsyncZod<ConnectionsOptions> = async (app, { connections }) => {
  app.get('/v1/connections', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'listConnections',
      summary: 'List the databases whose tables can be registered',
      description: 'Lists the connections that the operator has configured in `SOTTO_CONNECTIONS`.',
      querystring: pageQuery,
      response: { 200: connectionList },
    },
    handler: async (request, reply) => {
      const { items, next } = pageOf(request, reply, connections.list(), ({ name }) => name)
      return { connections: items, next }
    },
  })
}
