import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { apiReport, STABILITY } from '../../schemas/service/api.ts'
import { object } from '../../schemas/values.ts'
import type { WatchedConnections } from '../../src/datasets/connections/watch.ts'
import { SOFTWARE_VERSION } from '../../src/platform/software-version.ts'

interface OperationOptions {
  /** Tests if the service can answer queries. */
  readonly ready: () => Promise<boolean>
  /** Extent of the ledger's verification so far. */
  readonly verification: () => z.output<typeof verification>
  /** The databases whose tables can be registered. */
  readonly connections: WatchedConnections
}

const status = object('Status', 'State of the service.', { status: z.literal('ok') })

const verification = z
  .enum(['checkpoint', 'complete'])
  .describe(
    'Extent of the verification of the ledger: `checkpoint` while a long ledger is verified from the checkpoint of an ' +
      'earlier verification only, and completely in the background.',
  )

const connectionCounts = z
  .strictObject({
    configured: z.int().min(0).max(10_000),
    unreachable: z
      .int()
      .min(0)
      .max(10_000)
      .describe(
        'Number of databases that the last check could not reach. The service stays ready, because the other datasets can ' +
          'be queried.',
      ),
  })
  .describe('Databases of `SOTTO_CONNECTIONS`. `GET /v1/connections` has their names.')

const readiness = object('Readiness', 'Readiness of the service.', {
  status: z.enum(['ready', 'not ready']),
  verification,
  connections: connectionCounts,
})

/** Liveness and readiness, for operators, and the version of the API. */
export const operationRoutes: FastifyPluginAsyncZod<OperationOptions> = async (app, options) => {
  app.get('/healthz', {
    logLevel: 'warn',
    schema: {
      tags: ['Operation'],
      operationId: 'getHealth',
      summary: 'Check that the process is alive',
      response: { 200: status },
    },
    handler: async () => ({ status: 'ok' as const }),
  })

  app.get('/v1/', {
    config: { conditional: true },
    schema: {
      tags: ['Operation'],
      operationId: 'getApi',
      summary: 'Version of the API, and what stays the same',
      description: 'Needs no key.',
      security: [],
      response: { 200: apiReport },
    },
    handler: async () => ({
      version: 'v1' as const,
      softwareVersion: SOFTWARE_VERSION,
      stable: Number.parseInt(SOFTWARE_VERSION, 10) >= 1,
      statement: STABILITY,
      links: { description: '/openapi.json', guide: '/guide/', versions: '/guide/versions.html' } as const,
    }),
  })

  app.get('/readyz', {
    logLevel: 'warn',
    schema: {
      tags: ['Operation'],
      operationId: 'getReadiness',
      summary: 'Check that queries can be answered',
      description:
        'Returns 503 while the service is stopping, its ledger or engine does not respond, or its disk is nearly full, and ' +
        'once the verification in the background has found the ledger damaged or a loss of events. A database that cannot ' +
        'be reached is counted, and changes nothing else.',
      response: { 200: readiness, 503: readiness },
    },
    handler: async (_request, reply) => {
      const states = options.connections.list()
      const facts = {
        verification: options.verification(),
        connections: {
          configured: states.length,
          unreachable: states.filter(({ reachable }) => !reachable).length,
        },
      }
      if (await options.ready()) return { status: 'ready' as const, ...facts }
      return reply.code(503).send({ status: 'not ready' as const, ...facts })
    },
  })
}
