import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from 'pino'
import { type Dataset, databaseOf, isLiveSource } from '../core/dataset/dataset.ts'
import { openDuckDbEngine } from '../engines/duckdb/engine.ts'
import type { SourceBounds } from '../engines/duckdb/ingestion/bounds.ts'
import { createDatasetEngine, type DatasetEngine, type Reachability } from '../engines/routing.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { FreeSpace } from '../platform/files/free-space.ts'
import { createTemporaryFolder } from '../platform/files/temporary-folder.ts'
import { type ComputationPool, openComputationPool } from '../platform/threads/pool.ts'
import { createAbsentRows } from './catalog/absent-rows.ts'
import type { Catalog } from './catalog/catalog.ts'
import { createVersionUses, type VersionUses } from './catalog/version-uses.ts'
import { type Dummies, openDummies } from './dummy/dummies.ts'
import { createDrafts, type Drafts } from './registration/drafts/drafts.ts'
import { createRegistry, type Registry } from './registration/registry.ts'
import type { Connections } from './registration/sources/table.ts'
import { openUploads, type UploadOptions, type Uploads } from './registration/uploads.ts'

/** Folders, limits and times of {@link openDatasets}. */
interface DatasetSettings {
  readonly dataDirectory: string
  /** True if other processes may use the data folder. */
  readonly replicated: boolean
  readonly queryConnections: number
  readonly queryThreads: number
  readonly queryMemory: string
  readonly queryTimeoutMs: number
  readonly ingestTimeoutMs: number
  readonly sourceBounds: SourceBounds
  readonly uploads: Pick<UploadOptions, 'maxBytes' | 'totalBytes' | 'keepMs'>
}

/** Parts that datasets use. */
interface Surroundings {
  readonly catalog: Catalog
  /** True if replicas that have no common volume share the catalog. */
  readonly isCatalogShared: boolean
  readonly ledger: Ledger
  readonly databases: Connections
  readonly connections: Reachability
  readonly disk: FreeSpace
  readonly logger: Logger
}

/** Threads that write made-up rows. */
type DummyPool = ComputationPool<typeof import('./dummy/thread.ts')>

/** The rows of all datasets, and the parts that change them. */
interface Datasets {
  readonly engine: DatasetEngine
  readonly versionUses: VersionUses
  readonly registry: Registry
  readonly drafts: Drafts
  readonly uploads: Uploads
  readonly dummies: Dummies
  readonly dummyPool: DummyPool
  readonly temporaryDirectory: string
}

/** Time limit for writing made-up rows, far above what the largest file needs. */
const DUMMY_TIMEOUT_MS = 60_000

/**
 * Opens the rows of every dataset of a catalog, and the parts that register, draft, upload and make up rows.
 * @param opened closes each part, the last one first
 * @throws Error if the rows of a dataset cannot be opened.
 */
export async function openDatasets(
  settings: DatasetSettings,
  surroundings: Surroundings,
  opened: AsyncDisposableStack,
): Promise<Datasets> {
  const { dataDirectory, replicated: shared, ingestTimeoutMs, sourceBounds } = settings
  const { catalog, ledger, databases, disk, logger } = surroundings
  const temporaryDirectory = await createTemporaryFolder(dataDirectory, shared)
  opened.defer(() => rm(temporaryDirectory, { recursive: true, force: true }))
  const routing = createDatasetEngine({
    duckDb: openDuckDbEngine({
      files: catalog.rowsFile,
      connectionsPerDataset: settings.queryConnections,
      threads: settings.queryThreads,
      memoryLimit: settings.queryMemory,
      queryTimeoutMs: settings.queryTimeoutMs,
      temporaryDirectory,
    }),
    tables: new Map(Array.from(databases, ([name, database]) => [name, database.engine])),
    keyedUnit: catalog.keyedUnit,
    reachability: surroundings.connections,
  })
  opened.defer(() => routing.close())
  const { engine, versionUses } = await openRows(routing, surroundings)
  const registry = createRegistry({
    ...{ catalog, engine, ledger, dataDirectory, connections: databases, versionUses },
    ...{ ingestTimeoutMs, sourceBounds },
    onError: (err) => logger.error({ err }, 'an earlier version of a dataset cannot be closed or removed'),
  })
  const uploads = await openUploads({
    ...settings.uploads,
    ...{ dataDirectory, shared, disk },
    onError: (err) => logger.error({ err }, 'expired uploads could not be deleted'),
  })
  opened.defer(() => uploads.close())
  const dummyPool: DummyPool = openComputationPool(new URL('./dummy/thread.ts', import.meta.url), {
    ...{ threads: 1, maxWaiting: 16, waitMs: 20_000, maxPerPrincipal: 8 },
  })
  opened.defer(() => dummyPool.close())
  const dummies = openDummies({
    directory: path.join(temporaryDirectory, 'dummy'),
    write: (input, caller) => dummyPool.run('dummyFile', input, { ...caller, timeoutMs: DUMMY_TIMEOUT_MS }),
    hasSpace: () => disk.isSufficient(),
  })
  opened.defer(() => dummies.close())
  const drafts = createDrafts({ dataDirectory, temporaryDirectory, connections: databases })
  return { engine, versionUses, registry, drafts, uploads, dummies, dummyPool, temporaryDirectory }
}

/** Opens the rows of every registered dataset, except those that only another replica has. */
async function openRows(
  engine: DatasetEngine,
  { catalog, isCatalogShared, databases, logger }: Surroundings,
): Promise<Pick<Datasets, 'engine' | 'versionUses'>> {
  const absent = isCatalogShared
    ? createAbsentRows(catalog, engine.open, ({ id }) =>
        logger.error({ dataset: id }, 'the rows of the dataset are a file that this replica does not have'),
      )
    : undefined
  if (isCatalogShared)
    logger.info(
      'the catalog and the keys are in PostgreSQL. Source files, uploads and ingested rows are not: a dataset over files is ' +
        'answered only by replicas on the volume with its rows',
    )
  const open = absent?.open ?? engine.open
  for (const entry of catalog.list()) {
    const { dataset } = entry
    warnOfMissingConnection(dataset, databases, logger)
    if (isCatalogShared) warnOfLocalRows(dataset, logger)
    await open(entry).catch((cause: unknown) => {
      throw new Error(`the rows of the dataset ${dataset.id} cannot be opened`, { cause })
    })
  }
  return { engine: { ...engine, open }, versionUses: createVersionUses(absent?.require) }
}

/** Logs that a dataset cannot be queried. It does not stop the start, because the other datasets can be. */
function warnOfMissingConnection({ id, source }: Dataset, databases: Connections, logger: Logger): void {
  const database = databaseOf(source)
  if (database === undefined || databases.has(database.connection)) return
  const consequence =
    database.mode === 'live' ? 'the dataset cannot be queried' : 'the dataset cannot get a new version'
  logger.error(
    { dataset: id, connection: database.connection },
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
