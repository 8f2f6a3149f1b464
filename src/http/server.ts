import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { SecureContextOptions } from 'node:tls'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { parseJsonBody } from '../platform/bodies/json-body.ts'
import type { Authenticator } from './access/identity.ts'
import { requireRoles } from './access/roles.ts'
import { createAllowedMethods } from './allowed-methods.ts'
import { allowOrigins } from './allowed-origins.ts'
import { validatorCompiler } from './bodies.ts'
import { limitBodyTime } from './body-time.ts'
import { answerConditionally } from './conditional.ts'
import { commonHeaders } from './headers.ts'
import { type KeylessLimit, limitRequests, type RequestLimits } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { paceLargeRequests } from './pacing.ts'
import { sendConnectionProblem, sendNotFound, sendProblem } from './problem.ts'
import { recordWhenClosed } from './request-log.ts'

/** Parts of every server. */
interface CommonParts {
  readonly logger: FastifyBaseLogger
  /** Certificate and key for HTTPS; absent for HTTP. */
  readonly tls?: SecureContextOptions
}

/** Parts of the server of the service. */
export interface ServerParts extends CommonParts {
  readonly authenticator: Authenticator
  readonly requestLimits: RequestLimits
  /** Addresses and CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[]
  /** Origins of pages that may call the service. */
  readonly allowedOrigins?: readonly string[]
  readonly metrics: Metrics
  readonly clock: { readonly nowMs: () => number }
  /**
   * Time limit for a request without a body, after which the caller gets a 503. Requests with a body are limited by the
   * time limits of what they use.
   */
  readonly handlerTimeoutMs: number
  /** Time limit for an ingestion. */
  readonly ingestTimeoutMs: number
  /** Tests the stores, the engine and the disk. */
  readonly isHealthy: () => Promise<boolean>
  /** Computations and ingestions that end when the service stops. */
  readonly computations: readonly { close(): Promise<void> }[]
  /** Time for which a stopping service reports that it is not ready and still takes requests. */
  readonly drainMs: number
}

/** Largest accepted body, except where a route sets its own limit. The longest predicate fits. */
const BODY_LIMIT_BYTES = 64 * 1024

/** Time limit for the arrival of a request, except for the bodies that may take longest. */
const REQUEST_TIMEOUT_MS = 30_000

function commonOptions({ logger, tls }: CommonParts) {
  return {
    loggerInstance: logger,
    ...(tls === undefined ? {} : { https: tls }),
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler: sendConnectionProblem,
  }
}

/** Creates a server without limits on requests, for a port that operators restrict access to. */
export function createPlainServer(parts: CommonParts) {
  const headers = commonHeaders(parts.tls !== undefined)
  const app = fastify({
    ...commonOptions(parts),
    requestTimeout: REQUEST_TIMEOUT_MS,
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers)
      return sendProblem(error, request, reply)
    },
  }).withTypeProvider<ZodTypeProvider>()
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(sendProblem)
  app.setNotFoundHandler((request, reply) => sendNotFound(request, reply, createAllowedMethods()))
  return app
}

/**
 * Creates the server with its limits, its JSON parser and its error handling, but without routes.
 * @param longestBodyMs time limit for the arrival of the bodies that may take longest
 */
export async function createServer(parts: ServerParts, longestBodyMs: number) {
  const { authenticator, handlerTimeoutMs, ingestTimeoutMs, clock, requestLimits, metrics, trustedProxies } =
    parts
  const watchBody = limitBodyTime({ totalMs: REQUEST_TIMEOUT_MS })
  const headers = commonHeaders(parts.tls !== undefined)
  const app = fastify({
    ...commonOptions(parts),
    // Without trusted proxies, the headers with forwarded addresses are ignored.
    trustProxy: trustedProxies === undefined ? false : [...trustedProxies],
    bodyLimit: BODY_LIMIT_BYTES,
    // `limitBodyTime` has the shorter limits of all other bodies.
    requestTimeout: longestBodyMs,
    // A socket may be idle for as long as its request may take. An ingestion may wait as long as it may take.
    connectionTimeout: Math.max(handlerTimeoutMs, 2 * ingestTimeoutMs, longestBodyMs) + 60_000,
    // Requests that arrive during shutdown are still answered; only readiness changes.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these requests.
      recordWhenClosed(request, reply, metrics)
      watchBody(request, reply)
      reply.headers(headers)
      keyless.countRefused(error, request, reply).then((refused) => sendProblem(refused, request, reply))
    },
    genReqId: () => randomUUID(),
  }).withTypeProvider<ZodTypeProvider>()

  app.server.headersTimeout = REQUEST_TIMEOUT_MS

  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    // Some clients send a content type with every request, even without a body.
    async (request: FastifyRequest, body: string) =>
      body === '' && request.method === 'DELETE' ? undefined : parseJsonBody(body),
  )
  // Fastify ends this limit once it has read a body. Routes with a body limit their parts: the wait for a turn, the
  // statements of engines and ledger, computations and ingestions.
  app.addHook('onRoute', (route) => {
    if (route.schema?.body === undefined) route.handlerTimeout ??= handlerTimeoutMs
    else if (route.handlerTimeout !== undefined)
      throw new RangeError(`${route.url} has a body, for which handlerTimeout has no effect`)
  })
  // Before all other hooks, which may end a request.
  app.addHook('onRequest', (request, reply, done) => {
    recordWhenClosed(request, reply, metrics)
    watchBody(request, reply)
    reply.headers(headers)
    done()
  })
  if (parts.allowedOrigins !== undefined) await allowOrigins(app, parts.allowedOrigins)
  const keyless: KeylessLimit = await limitRequests(app, requestLimits)
  app.setErrorHandler(async (error, request, reply) =>
    sendProblem(await keyless.countRefused(error, request, reply), request, reply),
  )
  const allowedMethods = createAllowedMethods()
  app.addHook('onRoute', allowedMethods.add)
  // A hook and not a handler, so that the body of such a request is not read.
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    await keyless.count(request, reply)
    return sendNotFound(request, reply, allowedMethods)
  })
  // For routes of many addresses that find nothing at one.
  app.setNotFoundHandler((request, reply) => sendNotFound(request, reply, allowedMethods))
  requireRoles(app, authenticator)
  answerConditionally(app)
  app.decorateRequest('arrivedAtMs', 0)
  // Not before the body has been read: a client that sends it slowly must not be able to move the release instants.
  app.addHook('preValidation', (request, _reply, done) => {
    request.arrivedAtMs = clock.nowMs()
    done()
  })
  paceLargeRequests(app)
  return app
}

/**
 * Delays a stop until load balancers have noticed that the service is not ready, and then ends computations that would
 * delay it further.
 * @returns the readiness check
 */
export function drainBeforeClose(
  app: FastifyInstance,
  { isHealthy, computations, drainMs }: ServerParts,
): () => Promise<boolean> {
  let stopping = false
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    stopping = true
    await setTimeout(drainMs)
    // Node closes idle connections, but waits a minute for the first request of one that a client opened in advance.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // Requests that wait for a computation or an ingestion would delay the stop, some by minutes.
    await Promise.all(computations.map((each) => each.close()))
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A connection that is kept alive would delay the stop until it times out.
    if (stopping) reply.header('connection', 'close')
    done()
  })
  const check = async () => !stopping && (await isHealthy())
  // Concurrent requests share one check: it needs no key, and uses a connection of every dataset.
  let checking: Promise<boolean> | undefined
  return () => {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }
}
