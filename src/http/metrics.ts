import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose computation takes a time that depends on data. */
    readonly answersFromData?: true
  }
}

/** A finished request and its response, as far as metrics and the log need them. */
interface Exchange {
  readonly request: {
    readonly method: string
    readonly routeOptions: {
      readonly url?: string | undefined
      readonly config: { readonly answersFromData?: true }
    }
  }
  readonly reply: { readonly statusCode: number; readonly elapsedTime: number }
}

/** Metrics of the process. */
export interface Metrics {
  /** Counts a finished request. */
  observe(request: Exchange['request'], reply: Exchange['reply']): void
  /** Returns all metrics in the Prometheus text format. */
  text(): Promise<{ readonly contentType: string; readonly text: string }>
}

/** Bounds of the durations of answers, in seconds. They are coarse, because a sum of exact ones shows what data costs. */
const COARSE_BOUNDS = [0.25, 1, 5, 30]

/**
 * Creates the metrics of the process and of request durations by route. Labels contain nothing from requests or data.
 */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const labelNames = ['method', 'route', 'status'] as const
  const durations = new Histogram({
    name: 'sotto_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response, except for answers from data.',
    labelNames,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const answerDurations = new Histogram({
    name: 'sotto_answer_duration_seconds',
    help: 'The same time for answers from data, rounded up to a bound. The sum is a sum of bounds.',
    labelNames,
    buckets: COARSE_BOUNDS,
    registers: [registry],
  })
  return {
    observe({ method, routeOptions: { url = 'unknown', config } }, { statusCode, elapsedTime }) {
      const labels = { method, route: url, status: statusCode }
      const seconds = elapsedTime / 1_000
      if (config.answersFromData)
        answerDurations.observe(labels, COARSE_BOUNDS.find((bound) => seconds <= bound) ?? 60)
      else durations.observe(labels, seconds)
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

/** Precision of the durations of answers in the log, in milliseconds: the default slot. */
const COARSE_MS = 50

/** Returns the duration of a request as it is logged, in milliseconds. */
export function loggedDuration({ routeOptions: { config } }: Exchange['request'], elapsedMs: number): number {
  return config.answersFromData
    ? Math.ceil(elapsedMs / COARSE_MS) * COARSE_MS
    : Math.round(elapsedMs * 10) / 10
}
