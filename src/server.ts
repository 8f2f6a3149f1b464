import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import type { MetricsAccess } from '../routes/metrics.ts'
import { openIdentity } from './access/identity.ts'
import { openKeyDocument } from './access/key-document.ts'
import { openKeyFile } from './access/key-file.ts'
import { createFirstKeys } from './access/keys.ts'
import { createQuotas } from './access/quotas.ts'
import { createAdmission } from './answers/admission.ts'
import { registerAuditedDatasets } from './answers/audited-datasets.ts'
import { longestDelayMs, systemClock } from './answers/release-time.ts'
import { SOFTWARE_VERSION } from './answers/software-version.ts'
import { type AppDependencies, buildApp, buildMetricsApp } from './app.ts'
import { createAbsentRows } from './catalog/absent-rows.ts'
import { openCatalog } from './catalog/catalog.ts'
import { type Dataset, isLiveSource } from './catalog/dataset.ts'
import { openEntryDocuments } from './catalog/entry-documents.ts'
import { createVersionUses } from './catalog/version-uses.ts'
import { printWelcome } from './commands/welcome.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { ConnectionFileError } from './connections/connection-file.ts'
import { type OpenTableEngine, openConnections } from './connections/open.ts'
import { openTableEngine } from './connections/table-engines.ts'
import type { ConnectionState } from './connections/watch.ts'
import { type CustodyOptions, openCustody } from './custody/custody.ts'
import { type Documents, openDocuments } from './documents/documents.ts'
import { DocumentsFault } from './documents/fault.ts'
import { openDummies } from './dummy/dummies.ts'
import { openDuckDbEngine } from './engines/duckdb/engine.ts'
import { createDatasetEngine } from './engines/routing.ts'
import { watchFreeSpace } from './files/free-space.ts'
import { createTemporaryFolder } from './files/temporary-folder.ts'
import { createWritableFolder } from './files/writable-folder.ts'
import { listen } from './http/listen.ts'
import { createMetrics, type Metrics } from './http/metrics.ts'
import { followCertificate, readTls, TlsFileError, type TlsFiles } from './http/tls.ts'
import { LedgerFault } from './ledger/ledger.ts'
import { observeLedger } from './ledger/observed.ts'
import { openLedger } from './ledger/open.ts'
import { type HeadSigner, readHeadSigner } from './ledger/signature.ts'
import { systemEntropy } from './mechanisms/samplers/entropy.ts'
import { censusRegistration, registerDemo } from './registration/demo.ts'
import { createDrafts } from './registration/drafts/drafts.ts'
import { createRegistry } from './registration/registry.ts'
import { followRegistrations } from './registration/replicas.ts'
import type { Connections } from './registration/sources/table.ts'
import { openUploads } from './registration/uploads.ts'
import type { TraceSink } from './tracing/trace.ts'
import { openComputationPools } from './workers/pools.ts'

/** Folder of the console once `npm run build --workspace console` has run. */
const CONSOLE_DIRECTORY = path.resolve(import.meta.dirname, '../console/dist')

/** A listening service. */
export interface Service {
  /** Address such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Address of the metrics' own port, if they have one. */
  readonly metricsUrl?: string
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
}

/**
 * Opens the stores, registers the demo if configured, builds the app and listens.
 * @throws Error if a store cannot be opened, for example a ledger that another process uses.
 */
export async function startService(
  config: Config,
  logger: Logger,
  { tableEngines = openTableEngine }: ServiceParts = {},
): Promise<Service> {
  await openDataDirectory(config)
  const opened = new AsyncDisposableStack()
  try {
    const parts = await openParts(config, logger, opened, tableEngines)
    const { catalog, registry } = parts
    if (config.demo) await registerDemo(registry, catalog, parts.ledger)
    if (config.audit) await registerAudited(config, parts)
    const app = await buildApp(parts)
    if (config.replicated) opened.defer(followRegistrations(registry, logger))
    app.addHook('onClose', () => opened.disposeAsync())
    const { host } = config
    const url = await listen(app, {
      host,
      port: config.port,
      portVariable: 'SOTTO_PORT',
      logged: 'listening',
    })
    const metricsApp = await openMetricsApp(config, parts, opened)
    const metricsUrl =
      metricsApp === undefined
        ? undefined
        : await listen(metricsApp, {
            host,
            port: config.metricsPort ?? 0,
            portVariable: 'SOTTO_METRICS_PORT',
            logged: 'listening for metrics',
          })
    if (config.tls !== undefined)
      opened.defer(followCertificate(config.tls, [app.server, metricsApp?.server], logger))
    return {
      url,
      ...(metricsUrl === undefined ? {} : { metricsUrl }),
      hasDemo: catalog.get(censusRegistration.id) !== undefined,
      hasConsole: parts.consoleDirectory !== undefined,
      longestDelayMs: () =>
        Math.max(0, ...catalog.list().map(({ dataset }) => longestDelayMs(dataset.timing))),
      close: () => app.close(),
    }
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
  tableEngines: OpenTableEngine,
): Promise<AppDependencies> {
  const { dataDirectory, oidc } = config
  const tls = config.tls === undefined ? undefined : await openTls(config.tls)
  const metrics = createMetrics()
  const { opened: databases, connections } = await openDatabases(config, logger, tableEngines)
  opened.defer(() => connections.close())
  const documents = await openSharedDocuments(config, logger, opened)
  const { temporaryDirectory, ...stores } = await openStores(
    config,
    { metrics, logger, databases, documents },
    opened,
  )
  const { ledger } = stores
  const keyPlace = documents === undefined ? openKeyFile(dataDirectory) : openKeyDocument(documents)
  await createFirstKeys(dataDirectory, keyPlace)
  const { authenticator, keys, keyActs, close } = await openIdentity({
    keyPlace,
    ...(oidc === undefined ? {} : { oidc }),
    record: (act) => ledger.recordAct(act),
    onError: (err, what) => logger.error({ err }, what),
  })
  opened.defer(close)
  const traces = await openTraces(config, logger, opened)
  const disk = watchFreeSpace(writtenFolders(config), config.minFreeDiskBytes)
  const uploads = await openUploads({
    dataDirectory,
    shared: config.replicated,
    ...config.uploads,
    disk,
    onError: (err) => logger.error({ err }, 'expired uploads could not be deleted'),
  })
  opened.defer(() => uploads.close())
  const pools = openComputationPools()
  for (const pool of Object.values(pools)) opened.defer(() => pool.close())
  const dummies = openDummies({
    directory: path.join(temporaryDirectory, 'dummy'),
    write: (input, caller) =>
      pools.dummyPool.run('dummyFile', input, { ...caller, timeoutMs: DUMMY_TIMEOUT_MS }),
    hasSpace: () => disk.isSufficient(),
  })
  opened.defer(() => dummies.close())
  return {
    ...stores,
    ...pools,
    ...(documents === undefined ? {} : { documents }),
    dummies,
    connections,
    authenticator,
    keys,
    keyActs,
    ...(oidc === undefined ? {} : { signIn: oidc }),
    ...(tls === undefined ? {} : { tls }),
    ...(traces === undefined ? {} : { traces }),
    ...(config.trustedProxies === undefined ? {} : { trustedProxies: config.trustedProxies }),
    ...(config.metricsPort === undefined ? { metricsAccess: metricsAccessFor(config) } : {}),
    ...(existsSync(CONSOLE_DIRECTORY) ? { consoleDirectory: CONSOLE_DIRECTORY } : {}),
    disk,
    uploads,
    uploadMaxBytes: config.uploads.maxBytes,
    noiseSource: systemEntropy(),
    limits: { maxCells: config.maxCells },
    admission: createAdmission({
      places: config.queryConnections,
      seats: SEATS_PER_SCAN,
      turns: TURNS_PER_PLACE * config.queryConnections,
      maxWaiting: config.queueLength,
      maxWaitMs: config.queueWaitMs,
      onEntered: metrics.waited,
    }),
    leaseMs: config.queryTimeoutMs + 10_000,
    maxStoredBytes: config.quota.storedBytesPerDataset,
    clock: systemClock,
    requestLimits: { quotas: createQuotas(config.quota), keylessPerMinute: config.keylessPerMinute },
    logger,
    metrics,
    ingestTimeoutMs: config.ingestTimeoutMs,
    handlerTimeoutMs: config.queueWaitMs + config.queryTimeoutMs + 15_000,
    drainMs: config.drainMs,
  }
}

/** Opens the export of traces, if it is configured. Its packages are loaded only then. */
async function openTraces(
  { traces }: Config,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<TraceSink | undefined> {
  if (traces === undefined) return undefined
  const { openTraceExport } = await import('./tracing/otlp.ts')
  const { sink, close } = openTraceExport({
    ...traces,
    version: SOFTWARE_VERSION,
    onChange: (state) =>
      state === 'working'
        ? logger.info('traces can be exported again')
        : logger.warn('traces cannot be exported'),
    onDropped: (spans) => logger.warn({ spans }, 'spans of traces were dropped'),
  })
  opened.defer(close)
  return sink
}

/** Opens the database of the catalog and the keys, if it is configured. */
async function openSharedDocuments(
  { catalogUrl }: Config,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<Documents | undefined> {
  if (catalogUrl === undefined) return undefined
  const documents = await openDocuments(catalogUrl)
  opened.defer(() => documents.close())
  logger.info(
    'the catalog and the keys are in PostgreSQL. Source files, uploads and ingested rows are not: a dataset over files is ' +
      'answered only by replicas on the volume with its rows',
  )
  return documents
}

/** @throws ConfigError for a file of connections that cannot be used. */
async function openDatabases(
  { connectionsFile: file, queryTimeoutMs }: Config,
  logger: Logger,
  tableEngines: OpenTableEngine,
) {
  const onChange = ({ name: connection, reachable }: ConnectionState) =>
    reachable
      ? logger.info({ connection }, 'the database of the connection can be reached again')
      : logger.warn({ connection }, 'the database of the connection cannot be reached')
  const onWritable = (connection: string) =>
    logger.warn({ connection }, 'allowWritableRole: a table was accepted although the role may change it')
  try {
    return await openConnections({
      file,
      queryTimeoutMs,
      openTableEngine: tableEngines,
      onChange,
      onWritable,
    })
  } catch (error) {
    if (!(error instanceof ConnectionFileError)) throw error
    throw new ConfigError(error.message.replace(/^/gm, 'SOTTO_CONNECTIONS: '))
  }
}

/** Parts that the stores use. */
interface StoreParts {
  readonly metrics: Metrics
  readonly logger: Logger
  readonly databases: Connections
  /** Absent if the catalog is in the data folder. */
  readonly documents: Documents | undefined
}

/** Opens the ledger, the catalog, and the ingested rows of every registered dataset. */
async function openStores(
  config: Config,
  { metrics, logger, databases, documents }: StoreParts,
  opened: AsyncDisposableStack,
) {
  const { dataDirectory, replicated: shared } = config
  const signer =
    config.ledgerSigningKey === undefined ? undefined : await readHeadSigner(config.ledgerSigningKey)
  const store = await openLedger({ url: config.ledgerUrl })
  const observed = observeLedger(store, metrics.ledgerObserver)
  opened.defer(() => observed.close())
  const catalog = await openCatalog(path.join(dataDirectory, 'datasets'), {
    shared,
    ...(documents === undefined ? {} : { entries: openEntryDocuments(documents) }),
  })
  const { ledger, extent, close } = await openCustody(observed, {
    dataDirectory,
    datasets: catalog.ids(),
    logger,
    ...publicationOf(config, signer),
    ...('backup' in store ? { backup: store.backup } : {}),
  })
  opened.defer(close)
  const temporaryDirectory = await createTemporaryFolder(dataDirectory, shared)
  opened.defer(() => rm(temporaryDirectory, { recursive: true, force: true }))
  const duckDb = openDuckDbEngine({
    files: catalog.rowsFile,
    connectionsPerDataset: config.queryConnections,
    threads: config.queryThreads,
    memoryLimit: config.queryMemory,
    queryTimeoutMs: config.queryTimeoutMs,
    temporaryDirectory,
  })
  const engine = createDatasetEngine({
    duckDb,
    tables: new Map(Array.from(databases, ([name, database]) => [name, database.engine])),
    keyedUnit: catalog.keyedUnit,
  })
  opened.defer(() => engine.close())
  const absent =
    documents === undefined
      ? undefined
      : createAbsentRows(catalog, engine.open, ({ id }) =>
          logger.error({ dataset: id }, 'the rows of the dataset are a file that this replica does not have'),
        )
  const open = absent?.open ?? engine.open
  for (const entry of catalog.list()) {
    const { dataset } = entry
    warnOfMissingConnection(dataset, databases, logger)
    if (documents !== undefined) warnOfLocalRows(dataset, logger)
    await open(entry).catch((cause: unknown) => {
      throw new Error(`the rows of the dataset ${dataset.id} cannot be opened`, { cause })
    })
  }
  const versionUses = createVersionUses(absent?.require)
  const registry = createRegistry({
    ...{ catalog, engine: { ...engine, open }, ledger, dataDirectory, connections: databases, versionUses },
    onError: (err) => logger.error({ err }, 'an earlier version of a dataset cannot be closed or removed'),
    ingestTimeoutMs: config.ingestTimeoutMs,
    sourceBounds: config.sourceBounds,
  })
  for (const dataset of await registry.recordSources())
    logger.warn({ dataset }, 'the dataset is synthetic, but its source was registered as real data elsewhere')
  return {
    ledger,
    verification: extent,
    temporaryDirectory,
    catalog,
    engine,
    registry,
    drafts: createDrafts({ dataDirectory, temporaryDirectory, connections: databases }),
    versionUses,
    ...(signer === undefined ? {} : { signer }),
    ...(config.audit ? { auditDirectory: temporaryDirectory } : {}),
  }
}

/** Logs that a dataset cannot be queried. It does not stop the start, because the other datasets can be. */
function warnOfMissingConnection({ id, source }: Dataset, databases: Connections, logger: Logger): void {
  if (source.kind !== 'table' || databases.has(source.connection)) return
  const consequence =
    source.mode === 'live' ? 'the dataset cannot be queried' : 'the dataset cannot get a new version'
  logger.error(
    { dataset: id, connection: source.connection },
    `SOTTO_CONNECTIONS has no such connection: ${consequence}`,
  )
}

/** Logs that a dataset is answered by one replica only, unless all have one volume. */
function warnOfLocalRows({ id, source }: Dataset, logger: Logger): void {
  if (isLiveSource(source)) return
  logger.warn(
    { dataset: id },
    'SOTTO_CATALOG_URL does not share files: only replicas on the volume with the rows of the dataset can answer',
  )
}

/** Registers the datasets that audits draw from, unless they are registered. */
async function registerAudited(
  { dataDirectory }: Config,
  { registry, catalog, ledger }: AppDependencies,
): Promise<void> {
  await registerAuditedDatasets({
    registry,
    isRegistered: (dataset) => catalog.get(dataset) !== undefined,
    wasRemoved: catalog.wasRemoved,
    budget: (dataset) => ledger.budget(dataset),
    dataDirectory,
  })
}

/** Builds the server of the metrics' own port, if one is configured. */
async function openMetricsApp(
  config: Config,
  { metrics, logger, tls }: AppDependencies,
  opened: AsyncDisposableStack,
): Promise<FastifyInstance | undefined> {
  if (config.metricsPort === undefined) return undefined
  const metricsAccess = metricsAccessFor(config)
  const app = await buildMetricsApp({ metrics, metricsAccess, logger, ...(tls === undefined ? {} : { tls }) })
  opened.defer(() => app.close())
  return app
}

/** @throws ConfigError naming the variable whose file cannot be used. */
async function openTls(files: TlsFiles): Promise<SecureContextOptions> {
  try {
    return await readTls(files)
  } catch (error) {
    throw error instanceof TlsFileError ? new ConfigError(error.message) : error
  }
}

/** A separate port is open, because operators restrict it, unless there is a key; the main port needs one. */
function metricsAccessFor({ metricsKey, metricsPort }: Config): MetricsAccess {
  if (metricsKey !== undefined) return { key: metricsKey }
  return metricsPort === undefined ? {} : 'open'
}

/** The publication of heads, if it is configured. */
function publicationOf(
  { headsPublish: target, headsPublishMs: everyMs }: Config,
  signer: HeadSigner | undefined,
): Pick<CustodyOptions, 'publication'> {
  return signer === undefined || target === undefined ? {} : { publication: { target, everyMs, signer } }
}

/** Folders that the service writes to. A ledger in PostgreSQL is not among them. */
function writtenFolders({ dataDirectory, ledgerUrl, replicated }: Config): readonly string[] {
  return replicated ? [dataDirectory] : [dataDirectory, path.dirname(ledgerUrl)]
}

/** Number of requests that may be charged or computed, per place at the engine. */
const TURNS_PER_PLACE = 4

/** Time limit for writing made-up rows, far above what the largest file needs. */
const DUMMY_TIMEOUT_MS = 60_000

/** Largest number of requests that share a scan. */
const SEATS_PER_SCAN = 32

/** @throws ConfigError if the data folder cannot be created or written to. */
async function openDataDirectory({ dataDirectory }: Config): Promise<void> {
  try {
    await createWritableFolder(dataDirectory)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new ConfigError(`SOTTO_DATA_DIR: must be a folder that can be created and written to${reason}`)
  }
}

/** Signals of a broken process. It ends at once, because closing might never finish. */
const FATAL_SIGNALS = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'] as const

/** Runs until a signal requests a stop, then drains and closes. */
async function main(): Promise<void> {
  // Files that any part of the process writes, including the engine, are readable by their owner only.
  process.umask(0o077)
  const config = readConfig(process.env)
  // Lines that are logged during a write are written together by the next one, and at the latest when the process exits.
  const logger = pino({ level: config.logLevel }, pino.destination({ sync: false }))
  const service = await startService(config, logger)
  // The time limit depends on the datasets, and is therefore set at the stop.
  closeWithGrace({ delay: false, logger, skip: [...FATAL_SIGNALS] }, async ({ signal, err }) => {
    if (err !== undefined) {
      // The state of this process is unknown, so it must no longer charge or draw noise. A restart recovers.
      // The origin of the error is unknown, too: its message could quote data, but its stack frames cannot.
      const frames = err.stack?.split('\n').filter((line) => /^\s+at /.test(line))
      logger.fatal({ errorClass: err.name, frames }, 'stopping after an unexpected error')
      return
    }
    const limitMs = config.drainMs + config.shutdownMs + service.longestDelayMs()
    logger.info({ signal, limitMs }, 'stopping')
    const limit = setTimeout(() => {
      logger.error({ limitMs }, 'stopping took too long; open requests are aborted')
      process.exit(1)
    }, limitMs)
    await service.close()
    clearTimeout(limit)
  })
  // A reader of this line may send a signal at once.
  printWelcome(service, config.dataDirectory)
}

if (import.meta.main) {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : `Sotto did not start: ${describe(error)}`)
    process.exit(1)
  }
}

/** Describes an error of the start. If a database cannot be opened, names the variable that says where it is. */
function describe(error: unknown): string {
  if (error instanceof LedgerFault && (error.kind === 'unusable' || error.kind === 'in-use'))
    return `SOTTO_LEDGER_URL: ${error.message}`
  if (error instanceof DocumentsFault) return `SOTTO_CATALOG_URL: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
