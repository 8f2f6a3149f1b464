import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { auditRoutes } from '../routes/audit.ts'
import { budgetsRoutes } from '../routes/budgets.ts'
import { datasetsRoutes, REGISTRATION_TIMEOUT_MS } from '../routes/datasets.ts'
import { EVALUATION_ANSWER_TIMEOUT_MS, evaluationsRoutes } from '../routes/evaluations.ts'
import { mechanismsRoutes } from '../routes/mechanisms.ts'
import { openApiOptions, openApiYaml } from '../routes/openapi.ts'
import { operationRoutes } from '../routes/operation.ts'
import { plotsRoutes } from '../routes/plots.ts'
import { BATCH_TIMEOUT_MS, queriesRoutes } from '../routes/queries.ts'
import { riskRoutes } from '../routes/risk.ts'
import { sparseVectorRoutes } from '../routes/sparse-vector.ts'
import { ruleOf } from '../schemas/rule.ts'
import type { KeyRing } from './access/keys.ts'
import type { AnswerDependencies } from './answers/answer.ts'
import type { Catalog } from './catalog/catalog.ts'
import { parseJsonBody } from './http/json-body.ts'
import { createMetrics } from './http/metrics.ts'
import { describeProblem, sendConnectionProblem, sendNotFound, sendProblem } from './http/problem.ts'
import type { Registry } from './registration/register.ts'
import type { ComputationPool } from './workers/pool.ts'

/** Everything the service is made of, opened by `server.ts`. */
export interface AppDependencies {
  readonly keyRing: KeyRing
  readonly catalog: Catalog
  readonly registry: Registry
  readonly answering: AnswerDependencies
  readonly computations: ComputationPool
  /** Apart from the others, for each takes long. */
  readonly evaluations: ComputationPool
  /** Apart from the others, for most pictures need no key. */
  readonly drawings: ComputationPool
  readonly logger: FastifyBaseLogger
  /** How long a request may take before its caller gets a 503; what was charged goes on and is stored. */
  readonly handlerTimeoutMs: number
  /** How long, at a stop, readiness is down while requests are still taken, so that a balancer can notice. */
  readonly drainMs: number
  /** Only where auditors may measure synthetic datasets. */
  readonly audit?: { readonly temporaryDirectory: string }
}

/** The largest body: a predicate with the longest lists fits well. */
export const BODY_LIMIT_BYTES = 64 * 1024

/** The longest that the disclosure risk of a question may take. */
const COMPUTATION_TIMEOUT_MS = 20_000
/** The longest that a picture may take, with what it shows. */
const DRAWING_TIMEOUT_MS = 5_000

/** The whole HTTP service, not yet listening. */
export async function buildApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const { keyRing, catalog, registry, answering, computations, evaluations, drawings, logger } = dependencies
  const { handlerTimeoutMs, drainMs, audit } = dependencies
  const app = fastify({
    loggerInstance: logger,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: 30_000,
    // A socket waits in silence for as long as its request may take.
    connectionTimeout:
      Math.max(handlerTimeoutMs, REGISTRATION_TIMEOUT_MS, BATCH_TIMEOUT_MS, EVALUATION_ANSWER_TIMEOUT_MS) +
      10_000,
    handlerTimeout: handlerTimeoutMs,
    // What still comes while the service stops is answered: only readiness says no.
    return503OnClosing: false,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: sendProblem,
    clientErrorHandler: sendConnectionProblem,
    genReqId: () => randomUUID(),
  }).withTypeProvider<ZodTypeProvider>()

  z.config({ customError: ruleOf })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    // Some clients send a content type with every request, also where there is no body to have one.
    async (request: FastifyRequest, body: string) =>
      body === '' && request.method === 'DELETE' ? undefined : parseJsonBody(body),
  )
  app.setErrorHandler(sendProblem)
  app.setNotFoundHandler(sendNotFound)
  app.decorateRequest('principal', null)

  const metrics = createMetrics()
  app.addHook('onResponse', async (request, reply) => {
    metrics.observe(request, reply)
    logResponse(request, reply)
  })

  let stopping = false
  app.addHook('preClose', async () => {
    stopping = true
    await setTimeout(drainMs)
    // Their requests would hold up the stop, some for minutes.
    await Promise.all([computations, evaluations, drawings].map((pool) => pool.close()))
  })
  app.addHook('onSend', async (_request, reply) => {
    // A connection kept alive would hold up the stop until it times out.
    if (stopping) reply.header('connection', 'close')
  })
  const ready = async () =>
    !stopping && (await answering.ledger.healthy()) && (await answering.engine.healthy())

  await app.register(fastifySwagger, openApiOptions)
  await app.register(fastifySwaggerUi, { routePrefix: '/docs', uiConfig: { persistAuthorization: false } })
  await app.register(operationRoutes, { ready, metrics: metrics.text })
  await app.register(datasetsRoutes, { keyRing, catalog, registry })
  const { ledger, signer } = answering
  await app.register(budgetsRoutes, { keyRing, ledger, ...(signer === undefined ? {} : { signer }) })
  await app.register(queriesRoutes, { keyRing, catalog, answering })
  await app.register(sparseVectorRoutes, { keyRing, catalog, answering })
  await app.register(mechanismsRoutes, { keyRing })
  await app.register(riskRoutes, { keyRing, computations, timeoutMs: COMPUTATION_TIMEOUT_MS })
  const { engine, limits } = answering
  const trying = { engine, limits }
  await app.register(evaluationsRoutes, { keyRing, catalog, trying, evaluations, describeProblem })
  const drawing = { catalog, trying, drawings, timeoutMs: DRAWING_TIMEOUT_MS }
  await app.register(plotsRoutes, { keyRing, ...drawing })
  if (audit !== undefined)
    await app.register(auditRoutes, { keyRing, catalog, audit: { answering, ...audit } })
  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))
  app.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml').send(openApiYaml(app.swagger())),
  )
  return app
}

/** One line per request, without its query string, its body or its key. */
function logResponse(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...(request.principal === null ? {} : { principal: request.principal.name }),
    },
    'request',
  )
}
