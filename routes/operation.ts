import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

export interface OperationOptions {
  /** Tests if the service can answer queries. */
  readonly ready: () => Promise<boolean>
}

const status = z
  .strictObject({ status: z.enum(['ok', 'ready', 'not ready']) })
  .meta({ id: 'Status', description: 'State of the service.' })

/** Liveness and readiness, for operators. */
export const operationRoutes: FastifyPluginAsyncZod<OperationOptions> = async (app, options) => {
  app.get(
    '/healthz',
    {
      logLevel: 'warn',
      schema: {
        tags: ['Operation'],
        operationId: 'getHealth',
        summary: 'Check that the process is alive',
        response: { 200: status },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/readyz',
    {
      logLevel: 'warn',
      schema: {
        tags: ['Operation'],
        operationId: 'getReadiness',
        summary: 'Check that queries can be answered',
        description:
          'Returns 503 while the service is stopping, its ledger or engine does not respond, or its disk is nearly full.',
        response: { 200: status, 503: status },
      },
    },
    async (_request, reply) => {
      if (await options.ready()) return { status: 'ready' as const }
      return reply.code(503).send({ status: 'not ready' as const })
    },
  )
}
