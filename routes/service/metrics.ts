import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { problemResponses } from '../../schemas/service/problem.ts'
import { bearerKey } from '../../src/http/access/roles.ts'
import type { Metrics } from '../../src/http/metrics.ts'
import { Refusal } from '../../src/privacy/refusal.ts'

/** Access to the metrics: `open` to every caller, or only with the key; without a key they are closed. */
export type MetricsAccess = 'open' | { readonly key?: string }

interface MetricsOptions {
  readonly metrics: Metrics
  readonly metricsAccess: MetricsAccess
}

/** Metrics, for operators. They reveal how long requests took, so analysts must not read them. */
export const metricsRoutes: FastifyPluginAsyncZod<MetricsOptions> = async (
  app,
  { metrics, metricsAccess },
) => {
  app.get('/metrics', {
    logLevel: 'warn',
    onRequest: async (request) => {
      if (metricsAccess !== 'open') requireKey(metricsAccess.key, request)
    },
    schema: {
      tags: ['Operation'],
      operationId: 'getMetrics',
      summary: 'Get metrics for Prometheus',
      description:
        'Requires the key in `SOTTO_METRICS_KEY`. With `SOTTO_METRICS_PORT` the metrics are on that port instead.',
      security: [{ metricsKey: [] }],
      response: {
        200: { description: 'Metrics.', content: { 'text/plain': { schema: z.string() } } },
        ...problemResponses,
      },
    },
    handler: async (_request, reply) => {
      const { contentType, text } = await metrics.text()
      return reply.type(contentType).send(text)
    },
  })
}

/** @throws Refusal `unauthenticated` */
function requireKey(key: string | undefined, request: FastifyRequest): void {
  if (key === undefined)
    throw new Refusal('unauthenticated', 'Metrics need SOTTO_METRICS_KEY or SOTTO_METRICS_PORT.')
  const digest = (text: string) => createHash('sha256').update(text).digest()
  if (!timingSafeEqual(digest(key), digest(bearerKey(request))))
    throw new Refusal('unauthenticated', 'The key is not SOTTO_METRICS_KEY.')
}
