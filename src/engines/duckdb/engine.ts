import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatasetVersion, versionKey } from '../../core/dataset/dataset.ts'
import { type Engine, EngineFailure } from '../engine.ts'
import { createQueries, type OpenDataset, type UseDataset } from './queries.ts'
import { type ConnectionPoolOptions, openConnectionPool } from './sessions.ts'
import { createSharedScans, scanOf } from './shared-scans.ts'

/**
 * Location of the engine's files, and its share of the machine. Threads, memory and temporary space are those of each
 * dataset; the temporary folder is one of the engine's own.
 */
export interface DuckDbEngineOptions
  extends Omit<ConnectionPoolOptions, 'connections' | 'maxTemporaryDirectorySize'>,
    Partial<Pick<ConnectionPoolOptions, 'maxTemporaryDirectorySize'>> {
  /** Returns the file into which a dataset was ingested. */
  readonly files: (dataset: DatasetVersion) => string
  /**
   * The number of statements that may run at a time over one dataset. Others wait for a connection. Each statement occupies
   * one of the libuv threads of the process: four, unless UV_THREADPOOL_SIZE sets another number.
   */
  readonly connectionsPerDataset: number
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

  /** Any failure becomes one that says nothing about data. */
  const use: UseDataset = async (dataset, work) => {
    const open = await opened.get(versionKey(dataset))?.catch(() => undefined)
    if (open === undefined) throw new EngineFailure('EngineUnavailable')
    try {
      return await work(open)
    } catch (error) {
      throw error instanceof EngineFailure ? error : new EngineFailure()
    }
  }

  return {
    scanOf,
    ...createQueries(use),
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

async function openDataset(file: string, folder: string, options: DuckDbEngineOptions): Promise<OpenDataset> {
  await mkdir(options.temporaryDirectory, { recursive: true })
  const pool = await openConnectionPool(file, {
    maxTemporaryDirectorySize: '20GB',
    ...options,
    connections: options.connectionsPerDataset,
    temporaryDirectory: join(options.temporaryDirectory, folder),
  })
  return { pool, scans: createSharedScans(pool, options.queryTimeoutMs) }
}
