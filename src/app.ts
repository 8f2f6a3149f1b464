import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { auditRoutes } from '../routes/answers/audit.ts'
import { populationBatchesRoutes } from '../routes/answers/population-batches.ts'
import { queriesRoutes } from '../routes/answers/queries.ts'
import { releaseViewsRoutes } from '../routes/answers/release-views.ts'
import { releasesRoutes } from '../routes/answers/releases.ts'
import { sparseVectorRoutes } from '../routes/answers/sparse-vector.ts'
import { sqlRoutes } from '../routes/answers/sql.ts'
import { accountsRoutes } from '../routes/budgets/accounts.ts'
import { budgetsRoutes } from '../routes/budgets/budgets.ts'
import { ledgerRoutes } from '../routes/budgets/ledger.ts'
import { populationsRoutes } from '../routes/budgets/populations.ts'
import { connectionsRoutes } from '../routes/datasets/connections.ts'
import { datasetsRoutes } from '../routes/datasets/datasets.ts'
import { draftsRoutes } from '../routes/datasets/drafts.ts'
import { dummyRoutes } from '../routes/datasets/dummy.ts'
import { ingestionsRoutes } from '../routes/datasets/ingestions.ts'
import { registrationsRoutes } from '../routes/datasets/registrations.ts'
import { sourcesRoutes, UPLOAD_TIMEOUT_MS } from '../routes/datasets/sources.ts'
import { suspensionRoutes } from '../routes/datasets/suspension.ts'
import { versionsRoutes } from '../routes/datasets/versions.ts'
import { administrationRoutes } from '../routes/service/administration.ts'
import { consoleRoutes } from '../routes/service/console.ts'
import { docsPageOptions } from '../routes/service/docs-page.ts'
import { guideRoutes } from '../routes/service/guide.ts'
import { keysRoutes } from '../routes/service/keys.ts'
import { meRoutes } from '../routes/service/me.ts'
import { type MetricsAccess, metricsRoutes } from '../routes/service/metrics.ts'
import { describeAccess, openApiOptions, openApiYaml, type SignIn } from '../routes/service/openapi.ts'
import { operationRoutes } from '../routes/service/operation.ts'
import { evaluationsRoutes } from '../routes/studies/evaluations.ts'
import { mechanismsRoutes } from '../routes/studies/mechanisms.ts'
import { plotsRoutes } from '../routes/studies/plots.ts'
import { riskRoutes } from '../routes/studies/risk.ts'
import type { WatchedState } from './http/metrics.ts'
import { createPlainServer, createServer, drainBeforeClose, type ServerParts } from './http/server.ts'
import { defined } from './privacy/defined.ts'

/** Parts of the service beside those of its routes. */
interface AppParts extends ServerParts, Omit<WatchedState, 'ready'> {
  /** The OpenID provider with which Swagger UI and the console sign in, if any. */
  readonly signIn?: SignIn
  /** Absent if the metrics have a port of their own. */
  readonly metricsAccess?: MetricsAccess
  /** Folder for the ledgers and pairs of audits. The audit routes exist only when it is given. */
  readonly auditDirectory?: string
  /** Folder of the built console. Without it, `/` leads to Swagger UI. */
  readonly consoleDirectory?: string
  /** Folder of the built guide. Without it, `/guide` says how to build it. */
  readonly guideDirectory?: string
}

type PartsOf<Routes> = Routes extends FastifyPluginAsyncZod<infer Parts> ? Parts : never

/** All parts of the service, opened by `server.ts`. */
export type AppDependencies = PartsOf<typeof connectionsRoutes> &
  PartsOf<typeof datasetsRoutes> &
  PartsOf<typeof draftsRoutes> &
  PartsOf<typeof dummyRoutes> &
  PartsOf<typeof ingestionsRoutes> &
  PartsOf<typeof registrationsRoutes> &
  PartsOf<typeof sourcesRoutes> &
  PartsOf<typeof suspensionRoutes> &
  PartsOf<typeof versionsRoutes> &
  PartsOf<typeof accountsRoutes> &
  PartsOf<typeof budgetsRoutes> &
  PartsOf<typeof ledgerRoutes> &
  PartsOf<typeof populationsRoutes> &
  PartsOf<typeof administrationRoutes> &
  PartsOf<typeof keysRoutes> &
  PartsOf<typeof queriesRoutes> &
  PartsOf<typeof releaseViewsRoutes> &
  PartsOf<typeof releasesRoutes> &
  PartsOf<typeof sparseVectorRoutes> &
  PartsOf<typeof sqlRoutes> &
  PartsOf<typeof evaluationsRoutes> &
  PartsOf<typeof mechanismsRoutes> &
  Pick<PartsOf<typeof operationRoutes>, 'verification'> &
  Pick<PartsOf<typeof auditRoutes>, 'auditPool'> &
  AppParts

/** Builds the whole HTTP service. It does not listen yet. */
export async function buildApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const app = await createServer(dependencies, UPLOAD_TIMEOUT_MS)
  app.addHook('onRoute', describeAccess)
  const ready = drainBeforeClose(app, dependencies)
  dependencies.metrics.watch({ ...dependencies, ready })

  const { signIn } = dependencies
  await app.register(fastifySwagger, openApiOptions(signIn?.issuer))
  await app.register(fastifySwaggerUi, docsPageOptions(signIn))
  await registerRoutes(app, dependencies, ready)
  serveDescription(app, '/openapi.json', 'application/json; charset=utf-8', JSON.stringify)
  serveDescription(app, '/openapi.yaml', 'application/yaml', openApiYaml)
  return app
}

/** Serves the description of the API, whose text is made once: that takes tens of milliseconds. */
function serveDescription(
  app: FastifyInstance,
  address: string,
  mediaType: string,
  textOf: (document: object) => string,
): void {
  let text: string | undefined
  app.get(address, { config: { conditional: true }, schema: { hide: true } }, async (_request, reply) => {
    text ??= textOf(app.swagger())
    return reply.type(mediaType).send(text)
  })
}

/** Registers the routes, each plugin with the parts that it takes. */
async function registerRoutes(
  app: FastifyInstance,
  dependencies: AppDependencies,
  ready: () => Promise<boolean>,
): Promise<void> {
  const { authenticator, keys, keyActs, signIn, verification, connections, consoleDirectory } = dependencies
  const { guideDirectory } = dependencies
  const { catalog, versionUses, registry, coverage, drafts, uploads, uploadMaxBytes, dummies } = dependencies
  const { ledger, signer, engine, admission, noiseSource, limits, leaseMs, clock } = dependencies
  const { maxStoredBytes, traces, answerPool, sqlPool, riskPool, evaluationPool, plotPool } = dependencies
  const { auditPool, auditDirectory } = dependencies
  const { metrics, metricsAccess } = dependencies
  const reading = defined({ engine, limits, answerPool, admission })
  const drawing = { ...reading, noiseSource, leaseMs, clock }
  const answering = defined({ ...drawing, ledger, signer, maxStoredBytes, traces })
  const versions = { catalog, versionUses }

  await app.register(operationRoutes, { ready, verification, connections })
  if (metricsAccess !== undefined) await app.register(metricsRoutes, { metrics, metricsAccess })
  await app.register(datasetsRoutes, { catalog, ledger, connections, registry })
  await app.register(registrationsRoutes, { ledger, registry, coverage })
  await app.register(versionsRoutes, { catalog, registry, coverage })
  await app.register(ingestionsRoutes, { registry })
  await app.register(connectionsRoutes, { connections })
  await app.register(sourcesRoutes, { uploads, uploadMaxBytes })
  await app.register(draftsRoutes, { drafts })
  await app.register(suspensionRoutes, { ledger, registry })
  await app.register(budgetsRoutes, { ledger, registry })
  await app.register(ledgerRoutes, { catalog, ledger })
  await app.register(populationsRoutes, { ledger, registry })
  await app.register(accountsRoutes, defined({ authenticator, ledger, signer }))
  await app.register(keysRoutes, { keys, keyActs })
  await app.register(meRoutes, defined({ signIn }))
  await app.register(administrationRoutes, defined({ ledger, signer }))
  await app.register(queriesRoutes, { ...answering, ...versions, dummies })
  await app.register(populationBatchesRoutes, { ...answering, ...versions })
  await app.register(releasesRoutes, { ledger })
  await app.register(sqlRoutes, { ...answering, ...versions, dummies, sqlPool })
  await app.register(dummyRoutes, { catalog, dummies })
  await app.register(sparseVectorRoutes, { ...answering, ...versions })
  await app.register(mechanismsRoutes, { riskPool })
  await app.register(riskRoutes, { riskPool })
  await app.register(evaluationsRoutes, { ...reading, ...versions, evaluationPool })
  await app.register(plotsRoutes, { ...reading, ...versions, plotPool })
  await app.register(releaseViewsRoutes, { catalog, ledger, plotPool })
  // The ledger is left out: audits cannot reach it.
  if (auditDirectory !== undefined)
    await app.register(auditRoutes, {
      ...{ ...drawing, ...versions, auditPool },
      temporaryDirectory: auditDirectory,
    })
  await app.register(guideRoutes, defined({ guideDirectory }))
  if (consoleDirectory !== undefined) await app.register(consoleRoutes, defined({ consoleDirectory, signIn }))
  else app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))
}

/** Builds the server of the separate port for metrics. */
export async function buildMetricsApp({
  metrics,
  metricsKey,
  ...parts
}: Pick<AppDependencies, 'metrics' | 'logger' | 'tls'> & {
  readonly metricsKey?: string
}): Promise<FastifyInstance> {
  const app = createPlainServer(parts)
  // Operators restrict access to the port. A key is required if there is one.
  const metricsAccess = metricsKey === undefined ? 'open' : { key: metricsKey }
  await app.register(metricsRoutes, { metrics, metricsAccess })
  return app
}
