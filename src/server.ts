import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { Server as HttpsServer } from 'node:https'
import path from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import type { MetricsAccess } from '../routes/metrics.ts'
import { openIdentity } from './access/identity.ts'
import { createFirstKeys } from './access/keys.ts'
import { createQuotas } from './access/quotas.ts'
import { createAdmission } from './answers/admission.ts'
import { registerAuditedDatasets } from './answers/audited-datasets.ts'
import { longestDelayMs, systemClock } from './answers/release-time.ts'
import { type AppDependencies, buildApp, buildMetricsApp } from './app.ts'
import { type Catalog, openCatalog } from './catalog/catalog.ts'
import { printWelcome } from './commands/welcome.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { type CustodyOptions, openCustody } from './custody/custody.ts'
import { type DuckDbEngine, openDuckDbEngine } from './engines/duckdb/engine.ts'
import { watchFreeSpace } from './files/free-space.ts'
import { createWritableFolder } from './files/writable-folder.ts'
import { createMetrics } from './http/metrics.ts'
import { followTls, readTls, TlsFileError, type TlsFiles } from './http/tls.ts'
import { openedFor } from './ledger/event.ts'
import type { Ledger } from './ledger/ledger.ts'
import { observeLedger } from './ledger/observed.ts'
import { openLedger } from './ledger/open.ts'
import { type HeadSigner, readHeadSigner } from './ledger/signature.ts'
import { systemEntropy } from './mechanisms/samplers/entropy.ts'
import { lossNumbers } from './privacy/loss.ts'
import { censusRegistration } from './registration/demo.ts'
import { createRegistry, type Registry } from './registration/register.ts'
import { openComputationPool } from './workers/pool.ts'

/** A listening service. */
export interface Service {
  /** Address such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Address of the metrics' own port, if they have one. */
  readonly metricsUrl?: string
  /** True if the demo dataset is registered. */
  readonly hasDemo: boolean
  /** Returns the longest time for which the release of an outcome is delayed, over all registered datasets. */
  longestDelayMs(): number
  /** Reports not ready, finishes open requests, then closes engine and ledger. */
  close(): Promise<void>
}

/**
 * Opens the stores, registers the demo if configured, builds the app and listens.
 * @throws Error if a store cannot be opened, for example a ledger that another process uses.
 */
export async function startService(config: Config, logger: Logger): Promise<Service> {
  await openDataDirectory(config)
  const tls = config.tls === undefined ? undefined : await openTls(config.tls)
  const signer =
    config.ledgerSigningKey === undefined ? undefined : await readHeadSigner(config.ledgerSigningKey)
  const opened = new AsyncDisposableStack()
  try {
    const metrics = createMetrics()
    const shared = config.replicated
    const store = await openLedger({ url: config.ledgerUrl })
    const bareLedger = observeLedger(store, metrics.ledgerObserver)
    opened.defer(() => bareLedger.close())
    const catalog = await openCatalog(path.join(config.dataDirectory, 'datasets'), { shared })
    const custody = await openCustody(bareLedger, {
      dataDirectory: config.dataDirectory,
      datasets: catalog.ids(),
      logger,
      ...publicationOf(config, signer),
      ...('backup' in store ? { backup: store.backup } : {}),
    })
    opened.defer(() => custody.close())
    const { ledger } = custody
    const temporaryDirectory = await openTemporaryDirectory(config.dataDirectory, shared)
    opened.defer(() => rm(temporaryDirectory, { recursive: true, force: true }))
    const engine = openDuckDbEngine({
      files: catalog.rowsFile,
      connectionsPerDataset: config.queryConnections,
      threads: config.queryThreads,
      memoryLimit: config.queryMemory,
      queryTimeoutMs: config.queryTimeoutMs,
      temporaryDirectory,
    })
    opened.defer(() => engine.close())
    await openDatasets(engine, catalog)
    const registry = createRegistry({ catalog, engine, ledger, dataDirectory: config.dataDirectory })
    await createFirstKeys(config.dataDirectory)
    for (const id of await registry.recordSources())
      logger.warn(
        { dataset: id },
        'the dataset is synthetic, but its source was registered as real data elsewhere',
      )
    const { dataDirectory, oidc } = config
    const identity = await openIdentity({
      dataDirectory,
      ...(oidc === undefined ? {} : { oidc }),
      record: (act) => ledger.recordAct(act),
      onError: (err, what) => logger.error({ err }, what),
    })
    opened.defer(() => identity.close())

    if (config.demo) await registerDemo(registry, catalog, ledger)
    if (config.audit) {
      await registerAuditedDatasets({
        registry,
        isRegistered: (dataset) => catalog.get(dataset) !== undefined,
        wasRemoved: catalog.wasRemoved,
        budget: (dataset) => ledger.budget(dataset),
        dataDirectory: config.dataDirectory,
      })
    }

    const pools = openPools()
    for (const pool of Object.values(pools)) opened.defer(() => pool.close())
    const app = await buildApp({
      authenticator: identity.authenticator,
      keys: identity.keys,
      keyActs: identity.keyActs,
      ...(oidc === undefined ? {} : { signIn: oidc }),
      ...(tls === undefined ? {} : { tls }),
      ...(config.trustedProxies === undefined ? {} : { trustedProxies: config.trustedProxies }),
      catalog,
      registry,
      disk: watchFreeSpace(writtenFolders(config), config.minFreeDiskBytes),
      engine,
      ledger,
      verification: custody.extent,
      ...(signer === undefined ? {} : { signer }),
      noiseSource: systemEntropy(),
      limits: { maxCells: config.maxCells },
      admission: createAdmission({
        places: config.queryConnections,
        turns: TURNS_PER_PLACE * config.queryConnections,
        maxWaiting: config.queueLength,
        maxWaitMs: config.queueWaitMs,
        onEntered: metrics.waited,
      }),
      leaseMs: config.queryTimeoutMs + 10_000,
      maxStoredBytes: config.quota.storedBytesPerDataset,
      clock: systemClock,
      requestLimits: { quotas: createQuotas(config.quota), keylessPerMinute: config.keylessPerMinute },
      ...pools,
      logger,
      metrics,
      ...(config.metricsPort === undefined ? { metricsAccess: metricsAccessFor(config) } : {}),
      handlerTimeoutMs: config.queueWaitMs + config.queryTimeoutMs + 15_000,
      drainMs: config.drainMs,
      ...(config.audit ? { auditDirectory: temporaryDirectory } : {}),
    })
    if (shared) opened.defer(followRegistrations(registry, logger))
    app.addHook('onClose', () => opened.disposeAsync())
    const url = await app.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: () => 'listening',
    })
    const metricsApp = await openMetricsApp(
      config,
      { metrics, logger, ...(tls === undefined ? {} : { tls }) },
      opened,
    )
    const metricsUrl = await metricsApp?.listen({
      host: config.host,
      port: config.metricsPort ?? 0,
      listenTextResolver: () => 'listening for metrics',
    })
    if (config.tls !== undefined) {
      const servers = [app.server, ...(metricsApp === undefined ? [] : [metricsApp.server])]
      opened.defer(followCertificate(config.tls, servers, logger))
    }
    return {
      url,
      ...(metricsUrl === undefined ? {} : { metricsUrl }),
      hasDemo: catalog.get(censusRegistration.id) !== undefined,
      longestDelayMs: () =>
        Math.max(0, ...catalog.list().map(({ dataset }) => longestDelayMs(dataset.timing))),
      close: () => app.close(),
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** Builds the server of the metrics' own port, if one is configured. */
async function openMetricsApp(
  config: Config,
  parts: Pick<AppDependencies, 'metrics' | 'logger' | 'tls'>,
  opened: AsyncDisposableStack,
): Promise<FastifyInstance | undefined> {
  if (config.metricsPort === undefined) return undefined
  const app = await buildMetricsApp({ ...parts, metricsAccess: metricsAccessFor(config) })
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

/**
 * Gives new connections the certificate that is in the files by then. Existing connections continue.
 * @returns a function that stops following the files.
 */
function followCertificate(files: TlsFiles, servers: readonly unknown[], logger: Logger): () => void {
  return followTls(
    files,
    (options) => {
      for (const server of servers) if (server instanceof HttpsServer) server.setSecureContext(options)
      logger.info('the TLS certificate was read again')
    },
    (err) => logger.error({ err }, 'the changed TLS files cannot be used; the certificate before stays'),
  )
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

/** Opens the ingested rows of every registered dataset. */
async function openDatasets(engine: DuckDbEngine, catalog: Catalog): Promise<void> {
  for (const { dataset } of catalog.list()) {
    await engine.open(dataset).catch((cause: unknown) => {
      throw new Error(`the ingested rows of the dataset ${dataset.id} cannot be opened`, { cause })
    })
  }
}

/** Registers the demo dataset, unless it is registered or was withdrawn. An existing budget is not changed. */
async function registerDemo(registry: Registry, catalog: Catalog, ledger: Ledger): Promise<void> {
  const { id } = censusRegistration
  if (catalog.get(id) !== undefined || catalog.wasRemoved(id)) return
  const before = await ledger.budget(id)
  const budget = before === undefined ? censusRegistration.budget : lossNumbers(before.granted)
  const accounting = before?.cap.accounting ?? censusRegistration.accounting
  const opened = await openedFor(ledger, id)
  // The budget of a lost catalog. It may have been spent on real data, so the demo must not use it.
  if (before !== undefined && opened.synthetic !== true) return
  const neighbours = opened.neighbours ?? censusRegistration.neighbours
  await registry.register({ ...censusRegistration, accounting, neighbours, budget }, 'sotto')
}

/** Opens a pool for each kind of computation, so that none waits for another kind. */
function openPools() {
  return {
    riskPool: openComputationPool({ threads: 2, maxWaiting: 16, waitMs: 20_000, maxPerPrincipal: 4 }),
    evaluationPool: openComputationPool({ threads: 1, maxWaiting: 4, waitMs: 120_000, maxPerPrincipal: 2 }),
    plotPool: openComputationPool({ threads: 1, maxWaiting: 8, waitMs: 10_000, maxPerPrincipal: 4 }),
  }
}

/** @throws ConfigError if the data folder cannot be created or written to. */
async function openDataDirectory({ dataDirectory }: Config): Promise<void> {
  try {
    await createWritableFolder(dataDirectory)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new ConfigError(`SOTTO_DATA_DIR: must be a folder that can be created and written to${reason}`)
  }
}

/**
 * Creates a folder for this process alone.
 * @param shared true if other processes may use the data folder; otherwise existing folders were left by a process
 * that crashed, and are removed
 */
async function openTemporaryDirectory(dataDirectory: string, shared: boolean): Promise<string> {
  const parent = path.join(dataDirectory, 'temporary')
  if (!shared) await rm(parent, { recursive: true, force: true })
  await mkdir(parent, { recursive: true, mode: 0o700 })
  return mkdtemp(path.join(parent, 'process-'))
}

/** Time until a replica knows about registrations and withdrawals of the others. */
const REFRESH_MS = 1_000

/**
 * Polls for the other replicas' registrations.
 * @returns a function that stops polling and waits for a running step.
 */
function followRegistrations(registry: Registry, logger: Logger): () => Promise<void> {
  let last: Promise<void> | undefined
  const timer = setInterval(() => {
    last ??= registry
      .refresh()
      .catch((err: unknown) => logger.error({ err }, 'registrations of other replicas cannot be read'))
      .finally(() => {
        last = undefined
      })
  }, REFRESH_MS)
  return async () => {
    clearInterval(timer)
    await last
  }
}

/** Signals of a broken process. It ends at once, because closing might never finish. */
const FATAL_SIGNALS = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'] as const

/** Runs until a signal requests a stop, then drains and closes. */
async function main(): Promise<void> {
  // Files that any part of the process writes, including the engine, are readable by their owner only.
  process.umask(0o077)
  const config = readConfig(process.env)
  const logger = pino({ level: config.logLevel })
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

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
