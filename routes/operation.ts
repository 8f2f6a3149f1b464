import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

/** Whether the service can answer, asked by {@link operationRoutes}. */
export interface OperationOptions {
  readonly ready: () => Promise<boolean>
  /** All metrics, in the Prometheus text format. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>
}

const status = z
  .strictObject({ status: z.enum(['ok', 'ready', 'not ready']) })
  .meta({ id: 'Status', description: 'How the service is.' })

/** Liveness, readiness and metrics: for whoever operates the service. */
export const operationRoutes: FastifyPluginAsyncZod<OperationOptions> = async (app, options) => {
  app.get(
    '/healthz',
    {
      logLevel: 'warn',
      schema: {
        tags: ['Operation'],
        operationId: 'getHealth',
        summary: 'The process is alive',
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
        summary: 'Queries can be answered',
        description: 'Not so while the service stops, or while its ledger or engine does not answer.',
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
        summary: 'Metrics for Prometheus',
        response: { 200: { description: 'Metrics.', content: { 'text/plain': { schema: z.string() } } } },
      },
    },
    async (_request, reply) => {
      const { contentType, text } = await options.metrics()
      return reply.type(contentType).send(text)
    },
  )
}
