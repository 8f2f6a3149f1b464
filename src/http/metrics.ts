import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** A finished request and its response, as far as metrics need them. */
interface Exchange {
  readonly request: { readonly method: string; readonly routeOptions: { readonly url?: string | undefined } }
  readonly reply: { readonly statusCode: number; readonly elapsedTime: number }
}

/**
 * Creates the metrics of the process and of request durations by route. Labels contain nothing from requests or data.
 */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: 'sotto_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  return {
    observe(request: Exchange['request'], reply: Exchange['reply']): void {
      const route = request.routeOptions.url ?? 'unknown'
      durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000)
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
