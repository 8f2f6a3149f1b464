import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { SecureContextOptions } from 'node:tls'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { administrationRoutes } from '../routes/administration.ts'
import { analystsRoutes } from '../routes/analysts.ts'
import { auditRoutes } from '../routes/audit.ts'
import { budgetsRoutes } from '../routes/budgets.ts'
import { connectionsRoutes } from '../routes/connections.ts'
import { consoleRoutes } from '../routes/console.ts'
import { datasetChangesRoutes } from '../routes/dataset-changes.ts'
import { datasetsRoutes } from '../routes/datasets.ts'
import { draftsRoutes } from '../routes/drafts.ts'
import { dummyRoutes } from '../routes/dummy.ts'
import { evaluationsRoutes } from '../routes/evaluations.ts'
import { ingestionsRoutes } from '../routes/ingestions.ts'
import { keysRoutes } from '../routes/keys.ts'
import { ledgerRoutes } from '../routes/ledger.ts'
import { meRoutes } from '../routes/me.ts'
import { mechanismsRoutes } from '../routes/mechanisms.ts'
import { type MetricsAccess, type MetricsOptions, metricsRoutes } from '../routes/metrics.ts'
import { openApiOptions, openApiYaml, type SignIn, signInOptions } from '../routes/openapi.ts'
import { operationRoutes } from '../routes/operation.ts'
import { plotsRoutes } from '../routes/plots.ts'
import { queriesRoutes } from '../routes/queries.ts'
import { registrationsRoutes } from '../routes/registrations.ts'
import { releaseViewsRoutes } from '../routes/release-views.ts'
import { releasesRoutes } from '../routes/releases.ts'
import { riskRoutes } from '../routes/risk.ts'
import { sourcesRoutes, UPLOAD_TIMEOUT_MS } from '../routes/sources.ts'
import { sparseVectorRoutes } from '../routes/sparse-vector.ts'
import { sqlRoutes } from '../routes/sql.ts'
import { suspensionRoutes } from '../routes/suspension.ts'
import { versionsRoutes } from '../routes/versions.ts'
import { ruleOf } from '../schemas/rule.ts'
import type { Authenticator } from './access/authenticator.ts'
import type { KeyActRecorder } from './access/key-acts.ts'
import type { KeyStore } from './access/keys.ts'
import type { AnswerDependencies } from './answers/answer.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { VersionUses } from './catalog/version-uses.ts'
import type { WatchedConnections } from './connections/watch.ts'
import type { Extent } from './custody/verification.ts'
import type { Documents } from './documents/documents.ts'
import type { Dummies } from './dummy/dummies.ts'
import type { FreeSpace } from './files/free-space.ts'
import { createAllowedMethods } from './http/allowed-methods.ts'
import { limitBodyTime } from './http/body-time.ts'
import { commonHeaders, documentationPolicy } from './http/headers.ts'
import { parseJsonBody } from './http/json-body.ts'
import { type KeylessLimit, limitRequests, type RequestLimits } from './http/limits.ts'
import type { Metrics } from './http/metrics.ts'
import { sendConnectionProblem, sendNotFound, sendProblem } from './http/problem.ts'
import { recordWhenClosed } from './http/request-log.ts'
import { openAuditedPair } from './registration/audited-pair.ts'
import type { Drafts } from './registration/drafts/drafts.ts'
import type { Registry } from './registration/registry.ts'
import type { Uploads } from './registration/uploads.ts'
import type { ComputationPool } from './workers/pool.ts'

/** All parts of the service, opened by `server.ts`. Each route plugin takes what it needs from it. */
export interface AppDependencies extends AnswerDependencies {
  readonly authenticator: Authenticator
  readonly keys: KeyStore
  readonly keyActs: Pick<KeyActRecorder, 'recordPending'>
  /** The OpenID provider with which Swagger UI and the console sign in, if any. */
  readonly signIn?: SignIn
  readonly catalog: Catalog
  /** The database of the catalog and the keys; absent if they are in the data folder. */
  readonly documents?: Pick<Documents, 'healthy'>
  readonly registry: Registry
  /** Counts the requests under way on each version of a dataset. */
  readonly versionUses: VersionUses
  readonly uploads: Uploads
  readonly drafts: Drafts
  /** Largest size of an upload. */
  readonly uploadMaxBytes: number
  /** Extent of the ledger's verification so far. */
  readonly verification: () => Extent
  /** The databases whose tables can be registered. */
  readonly connections: WatchedConnections
  /** The free space on the volumes of the data folder and the ledger. */
  readonly disk: FreeSpace
  /** Runs computations of disclosure risk, and comparisons of mechanisms. */
  readonly riskPool: ComputationPool
  /** Runs evaluations, in a separate pool because each takes long. */
  readonly evaluationPool: ComputationPool
  /** Draws plots, in a separate pool because most plots need no key. */
  readonly plotPool: ComputationPool
  /** Parses SQL statements. */
  readonly sqlPool: ComputationPool
  /** Writes made-up rows. */
  readonly dummyPool: ComputationPool
  readonly dummies: Dummies
  readonly requestLimits: RequestLimits
  readonly logger: FastifyBaseLogger
  /** Certificate and key for HTTPS; absent for HTTP. */
  readonly tls?: SecureContextOptions
  /** Addresses and CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[]
  readonly metrics: Metrics
  /** Absent if the metrics have a port of their own. */
  readonly metricsAccess?: MetricsAccess
  /**
   * Time limit for a request without a body, after which the caller gets a 503. Requests with a body are limited by the
   * time limits of what they use.
   */
  readonly handlerTimeoutMs: number
  /** Time limit for an ingestion. */
  readonly ingestTimeoutMs: number
  /** Time for which a stopping service reports that it is not ready and still takes requests. */
  readonly drainMs: number
  /** Folder for the ledgers and pairs of audits. The audit routes exist only when it is given. */
  readonly auditDirectory?: string
  /** Folder of the built console. Without it, `/` leads to Swagger UI. */
  readonly consoleDirectory?: string
}

/** Largest accepted body, except where a route sets its own limit. The longest predicate fits. */
export const BODY_LIMIT_BYTES = 64 * 1024

/** Time limit for the arrival of a request, except for the bodies of uploads. */
const REQUEST_TIMEOUT_MS = 30_000

/** Builds the whole HTTP service. It does not listen yet. */
export async function buildApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const app = await createServer(dependencies)
  const { metrics, metricsAccess } = dependencies
  const ready = drainBeforeClose(app, dependencies)
  metrics.watch({ ...dependencies, ready })

  const { signIn } = dependencies
  await app.register(fastifySwagger, openApiOptions(signIn?.issuer))
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    uiConfig: { persistAuthorization: false },
    staticCSP: documentationPolicy(signIn === undefined ? [] : [new URL(signIn.issuer).origin]),
    ...(signIn === undefined ? {} : { initOAuth: signInOptions(signIn) }),
  })
  const { verification, connections } = dependencies
  await app.register(operationRoutes, { ready, verification, connections })
  if (metricsAccess !== undefined) await app.register(metricsRoutes, { metrics, metricsAccess })
  await app.register(datasetsRoutes, dependencies)
  await app.register(registrationsRoutes, dependencies)
  await app.register(versionsRoutes, dependencies)
  await app.register(datasetChangesRoutes, dependencies)
  await app.register(ingestionsRoutes, dependencies)
  await app.register(connectionsRoutes, dependencies)
  await app.register(sourcesRoutes, dependencies)
  await app.register(draftsRoutes, dependencies)
  await app.register(suspensionRoutes, dependencies)
  await app.register(budgetsRoutes, dependencies)
  await app.register(analystsRoutes, dependencies)
  await app.register(ledgerRoutes, dependencies)
  await app.register(keysRoutes, dependencies)
  await app.register(meRoutes, dependencies)
  await app.register(administrationRoutes, dependencies)
  await app.register(queriesRoutes, dependencies)
  await app.register(releasesRoutes, dependencies)
  await app.register(sqlRoutes, dependencies)
  await app.register(dummyRoutes, dependencies)
  await app.register(sparseVectorRoutes, dependencies)
  await app.register(mechanismsRoutes, dependencies)
  await app.register(riskRoutes, dependencies)
  await app.register(evaluationsRoutes, dependencies)
  await app.register(plotsRoutes, dependencies)
  await app.register(releaseViewsRoutes, dependencies)
  const { auditDirectory } = dependencies
  if (auditDirectory !== undefined) {
    // The ledger is left out: audits cannot reach it.
    const { authenticator, catalog, versionUses, engine, noiseSource, limits, leaseMs, clock, admission } =
      dependencies
    const answering = { engine, noiseSource, limits, leaseMs, clock, admission }
    const audited = { authenticator, catalog, versionUses, ...answering, openPair: openAuditedPair }
    await app.register(auditRoutes, { ...audited, temporaryDirectory: auditDirectory })
  }
  const { consoleDirectory } = dependencies
  if (consoleDirectory === undefined)
    app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))
  else await app.register(consoleRoutes, { ...dependencies, consoleDirectory })
  app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml').send(openApiYaml(app.swagger())),
  )
  return app
}

/** Builds the server of the separate port for metrics. */
export async function buildMetricsApp(
  options: MetricsOptions & Pick<AppDependencies, 'logger' | 'tls'>,
): Promise<FastifyInstance> {
  const headers = commonHeaders(options.tls !== undefined)
  const app = fastify({
    loggerInstance: options.logger,
    ...(options.tls === undefined ? {} : { https: options.tls }),
    requestTimeout: 30_000,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers)
      return sendProblem(error, request, reply)
    },
    clientErrorHandler: sendConnectionProblem,
  }).withTypeProvider<ZodTypeProvider>()
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(sendProblem)
  app.setNotFoundHandler((request, reply) => sendNotFound(request, reply, createAllowedMethods()))
  await app.register(metricsRoutes, options)
  return app
}

/** Creates the server with its limits, its JSON parser and its error handling, but without routes. */
async function createServer(dependencies: AppDependencies) {
  const { logger, handlerTimeoutMs, ingestTimeoutMs, clock, requestLimits, metrics, tls, trustedProxies } =
    dependencies
  const watchBody = limitBodyTime({ totalMs: REQUEST_TIMEOUT_MS })
  const headers = commonHeaders(tls !== undefined)
  const app = fastify({
    loggerInstance: logger,
    ...(tls === undefined ? {} : { https: tls }),
    // Without trusted proxies, the headers with forwarded addresses are ignored.
    trustProxy: trustedProxies === undefined ? false : [...trustedProxies],
    bodyLimit: BODY_LIMIT_BYTES,
    // Uploads take longest; `limitBodyTime` has the shorter limits of all other bodies.
    requestTimeout: UPLOAD_TIMEOUT_MS,
    // A socket may be idle for as long as its request may take. An ingestion may wait as long as it may take.
    connectionTimeout: Math.max(handlerTimeoutMs, 2 * ingestTimeoutMs, UPLOAD_TIMEOUT_MS) + 60_000,
    // Requests that arrive during shutdown are still answered; only readiness changes.
    return503OnClosing: false,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these requests.
      recordWhenClosed(request, reply, metrics)
      watchBody(request, reply)
      reply.headers(headers)
      keyless.countRefused(error, request, reply).then((refused) => sendProblem(refused, request, reply))
    },
    clientErrorHandler: sendConnectionProblem,
    genReqId: () => randomUUID(),
  }).withTypeProvider<ZodTypeProvider>()

  app.server.headersTimeout = REQUEST_TIMEOUT_MS

  z.config({ customError: ruleOf })
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
  app.decorateRequest('principal', null)
  // Before all other hooks, which may end a request.
  app.addHook('onRequest', (request, reply, done) => {
    recordWhenClosed(request, reply, metrics)
    watchBody(request, reply)
    reply.headers(headers)
    done()
  })
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
  app.decorateRequest('arrivedAtMs', 0)
  // Not before the body has been read: a client that sends it slowly must not be able to move the release instants.
  app.addHook('preValidation', (request, _reply, done) => {
    request.arrivedAtMs = clock.nowMs()
    done()
  })
  return app
}

/**
 * Delays a stop until load balancers have noticed that the service is not ready, and then ends computations that would
 * delay it further.
 * @returns the readiness check
 */
function drainBeforeClose(
  app: FastifyInstance,
  { ledger, engine, documents, registry, disk, drainMs, ...pools }: AppDependencies,
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
    const { riskPool, evaluationPool, plotPool, sqlPool, dummyPool } = pools
    const computing = [registry, riskPool, evaluationPool, plotPool, sqlPool, dummyPool]
    await Promise.all(computing.map((each) => each.close()))
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A connection that is kept alive would delay the stop until it times out.
    if (stopping) reply.header('connection', 'close')
    done()
  })
  const check = async () =>
    !stopping &&
    (await disk.isSufficient()) &&
    (await ledger.healthy()) &&
    (await engine.healthy()) &&
    ((await documents?.healthy()) ?? true)
  // Concurrent requests share one check: it needs no key, and uses a connection of every dataset.
  let checking: Promise<boolean> | undefined
  return () => {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }
}
