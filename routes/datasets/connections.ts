import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { connectionList } from '../../schemas/datasets/connections.ts'
import type { WatchedConnections } from '../../src/datasets/connections/watch.ts'

interface ConnectionsOptions {
  readonly connections: WatchedConnections
}

/** Databases whose tables can be registered. */
export const connectionsRoutes: FastifyPluginAsyncZod<ConnectionsOptions> = async (app, { connections }) => {
  app.get(
    '/v1/connections',
    {
      config: { roles: ['custodian'] },
      schema: {
        tags: ['Registration'],
        operationId: 'listConnections',
        summary: 'List the databases whose tables can be registered',
        description: 'Lists the connections that the operator has configured in `SOTTO_CONNECTIONS`.',
        response: { 200: connectionList },
      },
    },
    async () => ({ connections: connections.list() }),
  )
}
