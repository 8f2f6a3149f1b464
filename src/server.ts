import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Logger, pino } from 'pino'
import { registerAuditedDatasets } from './answers/audit/audited-datasets.ts'
import { createCoverageMeasurement } from './answers/coverage.ts'
import { openAnswers } from './answers/open.ts'
import { longestDelayMs } from './answers/release-time.ts'
import { type AppDependencies, buildApp, buildMetricsApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { openCatalog, requireCatalogFolder } from './datasets/catalog/catalog.ts'
import { openEntryDocuments } from './datasets/catalog/entry-documents.ts'
import { type OpenTableEngine, openConnections, openTableEngine } from './datasets/connections/open.ts'
import { openDatasets } from './datasets/open.ts'
import { censusRegistration, registerDemo } from './datasets/registration/demo.ts'
import { followRegistrations } from './datasets/registration/replicas.ts'
import { openIdentity } from './http/access/identity.ts'
import { createQuotas } from './http/access/quotas.ts'
import { listen, listenOn } from './http/listen.ts'
import { createMetrics } from './http/metrics.ts'
import { followCertificate, readTls } from './http/tls.ts'
import { printWelcome } from './http/welcome.ts'
import { openCustody } from './ledger/custody/custody.ts'
import { type Documents, openDocuments } from './ledger/documents/documents.ts'
import { DocumentsFault } from './ledger/documents/fault.ts'
import { LedgerFault } from './ledger/fault.ts'
import { type LedgerObserver, observeLedger } from './ledger/observed.ts'
import { openLedger } from './ledger/open.ts'
import { readHeadSigner } from './ledger/signature.ts'
import { watchFreeSpace } from './platform/files/free-space.ts'
import { createDataFolder } from './platform/files/writable-folder.ts'
import { closeOnSignal } from './platform/shutdown.ts'
import { SOFTWARE_VERSION } from './platform/software-version.ts'
import { openTraces } from './platform/tracing/open.ts'
import { defined } from './privacy/defined.ts'
import { openStudyPools } from './studies/pools.ts'
import type { WireTimes } from './wire/parts.ts'
import { openWireServer } from './wire/server.ts'

/** Folder of the console once `npm run build --workspace console` has run. */
const CONSOLE_DIRECTORY = path.resolve(import.meta.dirname, '../console/dist')

/** Folder of the guide once `npm run guide` has run. */
const GUIDE_DIRECTORY = path.resolve(import.meta.dirname, '../guide/dist')

/** A listening service. */
export interface Service {
  /** Address such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Address of the metrics' own port, if they have one. */
  readonly metricsUrl?: string
  /** Port of PostgreSQL's protocol, if it is on. */
  readonly pgPort?: number
  /** True if the demo dataset is registered. */
  readonly hasDemo: boolean
  /** True if the console has been built. */
  readonly hasConsole: boolean
  /** Returns the longest time for which the release of an outcome is delayed, over all registered datasets. */
  longestDelayMs(): number
  /** Reports not ready, finishes open requests, then closes engine and ledger. */
  close(): Promise<void>
}

/** Parts that tests replace. */
export interface ServiceParts {
  readonly tableEngines?: OpenTableEngine
  /** Number of events up to which a start verifies the whole ledger. */
  readonly completeUpTo?: number
  /** Time limits of connections of PostgreSQL's protocol. */
  readonly wireTimes?: Partial<WireTimes>
}

/**
 * Opens the stores, registers the demo if configured, builds the app and listens.
 * @throws Error if a store cannot be opened, for example a ledger that another process uses.
 */
export async function startService(
  config: Config,
  logger: Logger,
  replaced: ServiceParts = {},
): Promise<Service> {
  const opened = new AsyncDisposableStack()
  try {
    const parts = await openParts(config, logger, opened, replaced)
    const { catalog, registry, ledger, metrics, tls } = parts
    if (config.demo) await registerDemo(registry, catalog, ledger)
    if (config.audit) await registerAuditedDatasets(registry, catalog, ledger, config.dataDirectory)
    // A version that was published just before the process ended.
    const measured = Promise.all(catalog.list().map(parts.coverage.measurePublished))
    opened.defer(async () => void (await measured))
    const app = await buildApp(parts)
    if (config.replicated) opened.defer(followRegistrations(registry, logger))
    app.addHook('onClose', () => opened.disposeAsync())
    const { host, port, metricsPort, metricsKey } = config
    const url = await listen(app, { host, port, portVariable: 'SOTTO_PORT', logged: 'listening' })
    const servers: object[] = [app.server]
    let metricsUrl: string | undefined
    if (metricsPort !== undefined) {
      const metricsApp = await buildMetricsApp(defined({ metrics, metricsKey, logger, tls }))
      opened.defer(() => metricsApp.close())
      servers.push(metricsApp.server)
      const place = { host, port: metricsPort, portVariable: 'SOTTO_METRICS_PORT' }
      metricsUrl = await listen(metricsApp, { ...place, logged: 'listening for metrics' })
    }
    let pgPort: number | undefined
    if (config.pgPort !== undefined) {
      const wire = openWireServer(parts, replaced.wireTimes)
      opened.defer(() => wire.close())
      servers.push(wire)
      pgPort = await listenOn(wire.server, { host, port: config.pgPort, portVariable: 'SOTTO_PG_PORT' })
    }
    if (config.tls !== undefined) opened.defer(followCertificate(config.tls, servers, logger))
    return defined({
      url,
      metricsUrl,
      pgPort,
      hasDemo: catalog.get(censusRegistration.id) !== undefined,
      hasConsole: parts.consoleDirectory !== undefined,
      longestDelayMs: () =>
        Math.max(0, ...catalog.list().map(({ dataset }) => longestDelayMs(dataset.timing))),
      close: () => app.close(),
    })
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** Opens every part of the service. Each is closed by `opened`, the last one first. */
async function openParts(
  config: Config,
  logger: Logger,
  opened: AsyncDisposableStack,
  { tableEngines = openTableEngine, completeUpTo }: ServiceParts,
): Promise<AppDependencies & { readonly logger: Logger }> {
  const { dataDirectory, ledgerUrl, replicated, oidc, queryTimeoutMs } = config
  await createDataFolder(dataDirectory)
  const tls = config.tls === undefined ? undefined : await readTls(config.tls)
  const metrics = createMetrics()
  const file = config.connectionsFile
  const { opened: databases, connections } = await openConnections({
    ...{ file, queryTimeoutMs, openTableEngine: tableEngines, logger },
  })
  opened.defer(() => connections.close())
  const documents = config.catalogUrl === undefined ? undefined : await openDocuments(config.catalogUrl)
  if (documents !== undefined) opened.defer(() => documents.close())
  const observer = metrics.ledgerObserver
  const stores = await openStores(
    config,
    { ...defined({ documents, completeUpTo }), observer, logger },
    opened,
  )
  const { ledger, catalog } = stores
  // A ledger in PostgreSQL is not among the folders that the service writes to.
  const written = replicated ? [dataDirectory] : [dataDirectory, path.dirname(ledgerUrl)]
  const disk = watchFreeSpace(written, config.minFreeDiskBytes)
  const isCatalogShared = documents !== undefined
  const { temporaryDirectory, ...datasets } = await openDatasets(
    config,
    { catalog, isCatalogShared, ledger, databases, connections, disk, logger },
    opened,
  )
  const { close, ...identity } = await openIdentity({
    ...{ dataDirectory, documents, oidc },
    record: (act) => ledger.recordAct(act),
    onError: (err, what) => logger.error({ err }, what),
  })
  opened.defer(close)
  const pools = openStudyPools()
  for (const pool of Object.values(pools)) opened.defer(() => pool.close())
  const answers = openAnswers(config, metrics.waited, opened)
  const { registry, engine, dummyPool } = datasets
  const coverage = createCoverageMeasurement({
    ...{ ...answers, ...defined({ signer: stores.signer }), ledger, engine, registry },
    onError: (err) => logger.error({ err }, 'what maxRows leaves out of a dataset could not be measured'),
  })
  return defined({
    ...stores,
    ...datasets,
    ...identity,
    ...pools,
    ...answers,
    ...{ connections, coverage, disk, tls, logger, metrics },
    traces: await openTraces(config.traces, SOFTWARE_VERSION, logger, opened),
    signIn: oidc,
    trustedProxies: config.trustedProxies,
    allowedOrigins: config.allowedOrigins,
    metricsAccess: config.metricsPort === undefined ? defined({ key: config.metricsKey }) : undefined,
    consoleDirectory: existsSync(CONSOLE_DIRECTORY) ? CONSOLE_DIRECTORY : undefined,
    guideDirectory: existsSync(path.join(GUIDE_DIRECTORY, 'index.html')) ? GUIDE_DIRECTORY : undefined,
    auditDirectory: config.audit ? temporaryDirectory : undefined,
    uploadMaxBytes: config.uploads.maxBytes,
    requestLimits: { quotas: createQuotas(config.quota), keylessPerMinute: config.keylessPerMinute },
    ingestTimeoutMs: config.ingestTimeoutMs,
    handlerTimeoutMs: config.queueWaitMs + queryTimeoutMs + 15_000,
    drainMs: config.drainMs,
    computations: [
      registry,
      dummyPool,
      answers.answerPool,
      answers.sqlPool,
      answers.auditPool,
      ...Object.values(pools),
    ],
    isHealthy: async () =>
      (await disk.isSufficient()) &&
      (await ledger.healthy()) &&
      (await engine.healthy()) &&
      ((await documents?.healthy()) ?? true),
  })
}

/** Opens the ledger and the catalog, and checks that the ledger has all that the catalog and the data folder know of. */
async function openStores(
  config: Config,
  {
    documents,
    completeUpTo,
    observer,
    logger,
  }: Pick<ServiceParts, 'completeUpTo'> & {
    readonly documents?: Documents
    readonly observer: LedgerObserver
    readonly logger: Logger
  },
  opened: AsyncDisposableStack,
) {
  const { dataDirectory, ledgerSigningKey, headsPublish: target, headsPublishMs: everyMs } = config
  const signer = ledgerSigningKey === undefined ? undefined : await readHeadSigner(ledgerSigningKey)
  const store = await openLedger({ url: config.ledgerUrl })
  const observed = observeLedger(store, observer)
  opened.defer(() => observed.close())
  const catalogFolder = path.join(dataDirectory, 'datasets')
  if (documents === undefined) await requireCatalogFolder(catalogFolder, store)
  const catalog = await openCatalog(
    catalogFolder,
    defined({
      shared: config.replicated,
      entries: documents === undefined ? undefined : openEntryDocuments(documents),
    }),
  )
  const { ledger, extent, close } = await openCustody(
    observed,
    defined({
      ...{ dataDirectory, datasets: catalog.ids(), logger },
      registeredHere: documents === undefined ? catalog.ids() : [],
      publication: signer === undefined || target === undefined ? undefined : { target, everyMs, signer },
      backup: 'backup' in store ? store.backup : undefined,
      completeUpTo,
    }),
  )
  opened.defer(close)
  return { ledger, catalog, verification: extent, signer }
}

/** Runs the service of the environment's variables until a signal requests a stop. Ends the process with 1 if it does not start. */
export async function runService(): Promise<void> {
  try {
    await start()
  } catch (error) {
    console.error(describe(error))
    process.exit(1)
  }
}

/** Starts the service. A signal then drains and closes it. */
async function start(): Promise<void> {
  // Files that any part of the process writes, including the engine, are readable by their owner only.
  process.umask(0o077)
  const config = readConfig(process.env)
  // Lines that are logged during a write are written together by the next one, and at the latest when the process exits.
  const logger = pino({ level: config.logLevel }, pino.destination({ sync: false }))
  const service = await startService(config, logger)
  const limitMs = () => config.drainMs + config.shutdownMs + service.longestDelayMs()
  closeOnSignal(() => service.close(), limitMs, logger)
  // A reader of this line may send a signal at once.
  printWelcome(service, config.dataDirectory)
}

/** Describes an error of the start. The error of a database names the variable that says where it is. */
function describe(error: unknown): string {
  if (error instanceof LedgerFault && (error.kind === 'unusable' || error.kind === 'in-use'))
    return `SOTTO_LEDGER_URL: ${error.message}`
  if (error instanceof DocumentsFault) return `SOTTO_CATALOG_URL: ${error.message}`
  const message = error instanceof Error ? error.message : String(error)
  return /^SOTTO_\w+: /.test(message) ? message : `Sotto did not start: ${message}`
}

if (import.meta.main) await runService()
