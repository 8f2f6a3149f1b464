import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

export interface OperationOptions {
  /** Tests if the service can answer queries. */
  readonly ready: () => Promise<boolean>
  /** Returns all metrics in the Prometheus text format. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>
}

const status = z
  .strictObject({ status: z.enum(['ok', 'ready', 'not ready']) })
  .meta({ id: 'Status', description: 'State of the service.' })

/** Liveness, readiness and metrics, for operators. */
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

  app.get(
    '/metrics',
    {
      logLevel: 'warn',
      schema: {
        tags: ['Operation'],
        operationId: 'getMetrics',
        summary: 'Get metrics for Prometheus',
        response: { 200: { description: 'Metrics.', content: { 'text/plain': { schema: z.string() } } } },
      },
    },
    async (_request, reply) => {
      const { contentType, text } = await options.metrics()
      return reply.type(contentType).send(text)
    },
  )
}
