import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatasetVersion, versionKey } from '../../catalog/dataset.ts'
import { MOST_TEXTS, MOST_VALUES } from '../../catalog/value-limits.ts'
import { type Engine, EngineFailure } from '../engine.ts'
import { printCellCounting, printIndexCounting, printTextCounting } from '../sql-printer.ts'
import { type ConnectionPool, openConnectionPool } from './connection-pool.ts'
import { duckDbDialect } from './dialect.ts'
import { createSharedScans, type SharedScans, scanOf } from './shared-scans.ts'
import { readCellCounts, readIndexCounts, readTextCounts } from './values.ts'

/** Location of the engine's files, and its share of the machine. */
export interface DuckDbEngineOptions {
  /** Returns the file into which a dataset was ingested. */
  readonly files: (dataset: DatasetVersion) => string
  /**
   * The number of statements that may run at a time over one dataset. Others wait for a connection. Each statement occupies
   * one of the libuv threads of the process: four, unless UV_THREADPOOL_SIZE sets another number.
   */
  readonly connectionsPerDataset: number
  /** Threads and memory of each dataset's instance; memory in DuckDB's notation, such as `512MB`. */
  readonly threads: number
  readonly memoryLimit: string
  /** Time limit for a statement; it begins once the statement has a connection. */
  readonly queryTimeoutMs: number
  /** A folder of the engine's own, to which queries spill what exceeds the memory limit. */
  readonly temporaryDirectory: string
  /** Limit for the spilled files of one dataset, in DuckDB's notation; 20 GB if absent. */
  readonly maxTemporaryDirectorySize?: string
}

/** An engine over ingested files, which can be opened and closed while it runs. */
export interface DuckDbEngine extends Engine {
  /**
   * Opens a dataset's file; does nothing if it is open already.
   * @throws EngineFailure if the file cannot be opened.
   */
  open(dataset: DatasetVersion): Promise<void>
  /** Finishes the queries that were accepted, accepts no more, and closes the file; does nothing if it is not open. */
  closeDataset(dataset: DatasetVersion): Promise<void>
}

/** An engine over files that `ingest` wrote. None of them is open at first. */
export function openDuckDbEngine(options: DuckDbEngineOptions): DuckDbEngine {
  const opened = new Map<string, Promise<OpenDataset>>()
  let openedCount = 0

  const open = async (dataset: DatasetVersion): Promise<void> => {
    const key = versionKey(dataset)
    let opening = opened.get(key)
    if (opening === undefined) {
      // Instances cannot share a temporary folder.
      opening = openDataset(options.files(dataset), `instance-${openedCount++}`, options)
      opened.set(key, opening)
    }
    try {
      await opening
    } catch {
      if (opened.get(key) === opening) opened.delete(key)
      throw new EngineFailure()
    }
  }

  const close = async (key: string): Promise<void> => {
    const opening = opened.get(key)
    opened.delete(key)
    const open = await opening?.catch(() => undefined)
    open?.scans.flush()
    await open?.pool.close()
  }

  /** Runs work on an open dataset; any failure becomes one that says nothing about data. */
  const use = async <Answer>(
    dataset: DatasetVersion,
    work: (open: OpenDataset) => Promise<Answer>,
  ): Promise<Answer> => {
    const open = await opened.get(versionKey(dataset))?.catch(() => undefined)
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    try {
      return await work(open)
    } catch (error) {
      throw error instanceof EngineFailure ? error : new EngineFailure()
    }
  }

  return {
    aggregate: (dataset, aggregate) => use(dataset, ({ scans }) => scans.aggregate(dataset, aggregate)),
    scanOf,
    countIndexes: (dataset, counting) =>
      use(dataset, ({ pool }) =>
        pool.run(printIndexCounting(counting, dataset, duckDbDialect, MOST_VALUES + 1), readIndexCounts),
      ),
    countIndexesInCells: (dataset, counting) =>
      use(dataset, ({ pool }) => {
        const printed = printCellCounting(counting, dataset, duckDbDialect, MOST_VALUES + 1)
        return pool.run(printed, (result, signal) => readCellCounts(result, printed.cells, signal))
      }),
    countTexts: (dataset, counting) =>
      use(dataset, ({ pool }) =>
        pool.run(printTextCounting(counting, dataset, duckDbDialect, MOST_TEXTS + 1), readTextCounts),
      ),
    healthy: async () => {
      const states = await Promise.all(
        Array.from(opened.values(), async (opening) => {
          const open = await opening.catch(() => undefined)
          return open?.pool.healthy() ?? false
        }),
      )
      return states.every(Boolean)
    },
    open,
    closeDataset: (dataset) => close(versionKey(dataset)),
    close: async () => {
      await Promise.all(Array.from(opened.keys(), close))
    },
  }
}

/** A dataset that can be queried. */
interface OpenDataset {
  readonly pool: ConnectionPool
  readonly scans: SharedScans
}

async function openDataset(file: string, folder: string, options: DuckDbEngineOptions): Promise<OpenDataset> {
  await mkdir(options.temporaryDirectory, { recursive: true })
  const pool = await openConnectionPool(file, {
    connections: options.connectionsPerDataset,
    queryTimeoutMs: options.queryTimeoutMs,
    threads: options.threads,
    memoryLimit: options.memoryLimit,
    temporaryDirectory: join(options.temporaryDirectory, folder),
    maxTemporaryDirectorySize: options.maxTemporaryDirectorySize ?? '20GB',
  })
  return { pool, scans: createSharedScans(pool, options.queryTimeoutMs) }
}
