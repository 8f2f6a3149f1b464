import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { connectionList } from '../schemas/connections.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { WatchedConnections } from '../src/connections/watch.ts'
import { accessFor } from './access.ts'

export interface ConnectionsOptions {
  readonly authenticator: Authenticator
  readonly connections: WatchedConnections
}

/** Databases whose tables can be registered. */
export const connectionsRoutes: FastifyPluginAsyncZod<ConnectionsOptions> = async (
  app,
  { authenticator, connections },
) => {
  const custodian = accessFor(authenticator, 'custodian')

  app.get(
    '/v1/connections',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'listConnections',
        summary: 'List the databases whose tables can be registered',
        description: 'Lists the connections that the operator has configured in `SOTTO_CONNECTIONS`.',
        security: custodian.security,
        response: { 200: connectionList, ...problemResponses },
      },
    },
    async () => ({ connections: connections.list() }),
  )
}
