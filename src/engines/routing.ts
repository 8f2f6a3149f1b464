import { connectionOf, type Dataset, isLive, type KeyedPrivacyUnit } from '../core/dataset/dataset.ts'
import type { CatalogEntry } from '../core/dataset/entry.ts'
import type { DuckDbEngine } from './duckdb/engine.ts'
import { type Engine, EngineFailure } from './engine.ts'
import { type TableEngine, tablesOf } from './tables/table-engine.ts'

/** Facts that open a dataset for queries. */
export type OpenableDataset = Pick<CatalogEntry, 'dataset' | 'tableColumns'>

/** An engine over all datasets of the service, each of which can be opened and closed while it runs. */
export interface DatasetEngine extends Engine {
  /**
   * Opens a dataset for queries; does nothing if it is open already. A database is not reached. Queries of a live table
   * whose connection is not configured fail as `EngineUnavailable`.
   * @throws EngineFailure if its ingested rows cannot be opened.
   * @throws Error if the key of its people cannot be read.
   */
  open(entry: OpenableDataset): Promise<void>
  /** Accepts no more queries of a dataset, and ends or cancels those that run. */
  closeDataset(dataset: Dataset): Promise<void>
}

/** Reachability of the databases of the connections, by name. */
export interface Reachability {
  /** False for a database that the last check could not reach, and for a connection that is not configured. */
  isReachable(connection: string): boolean
  /** Checks a database soon, because a statement has failed. */
  checkSoon(connection: string): void
}

/** Names of failures after which a database may be unreachable. */
const CONCERNS_DATABASE: readonly string[] = ['EngineUnavailable', 'EngineInterrupted']

/** Parts of a {@link DatasetEngine}. */
export interface RoutingOptions {
  readonly duckDb: DuckDbEngine
  /** Engines of the configured connections, by their names. */
  readonly tables: ReadonlyMap<string, TableEngine>
  readonly reachability: Reachability
  /** Reads the privacy unit of a dataset with the key that was created at its registration. */
  readonly keyedUnit: (dataset: Dataset) => Promise<KeyedPrivacyUnit>
}

/** Creates an engine that sends each dataset to DuckDB, or to the engine of its connection if it is a live table. */
export function createDatasetEngine(options: RoutingOptions): DatasetEngine {
  const { duckDb, tables, keyedUnit, reachability } = options
  const tableEngine = (dataset: Dataset): TableEngine | undefined => tables.get(connectionOf(dataset) ?? '')
  /** Computes with the engine of a dataset. */
  const compute = async <Result>(
    dataset: Dataset,
    work: (engine: Engine) => Promise<Result>,
  ): Promise<Result> => {
    const connection = connectionOf(dataset)
    if (connection === undefined) return work(duckDb)
    const engine = tables.get(connection)
    if (engine === undefined) throw new EngineFailure('EngineUnavailable')
    try {
      return await work(engine)
    } catch (error) {
      if (error instanceof EngineFailure && CONCERNS_DATABASE.includes(error.name))
        reachability.checkSoon(connection)
      throw error
    }
  }
  return {
    scanOf: (dataset, aggregate) => (isLive(dataset) ? undefined : duckDb.scanOf?.(dataset, aggregate)),
    accepts: (dataset, reading) =>
      (isLive(dataset) ? tableEngine(dataset) : duckDb)?.accepts?.(dataset, reading) ?? true,
    aggregate: (dataset, aggregate) => compute(dataset, (engine) => engine.aggregate(dataset, aggregate)),
    countIndexes: (dataset, counting) => compute(dataset, (engine) => engine.countIndexes(dataset, counting)),
    countIndexesInCells: (dataset, counting) =>
      compute(dataset, (engine) => engine.countIndexesInCells(dataset, counting)),
    countTexts: (dataset, counting) => compute(dataset, (engine) => engine.countTexts(dataset, counting)),
    isReachable: (dataset) => {
      const connection = connectionOf(dataset)
      return connection === undefined || reachability.isReachable(connection)
    },
    // A database that cannot be reached concerns its own datasets only; see `datasets/connections/watch.ts`.
    healthy: () => duckDb.healthy(),
    async open({ dataset, tableColumns }) {
      if (!isLive(dataset)) return duckDb.open(dataset)
      if (tableColumns === undefined) throw new Error('the columns of the table are not recorded')
      const unit = await keyedUnit(dataset)
      tableEngine(dataset)?.open({ dataset, table: tablesOf(dataset), columns: tableColumns, unit })
    },
    async closeDataset(dataset) {
      if (isLive(dataset)) await tableEngine(dataset)?.closeDataset(dataset)
      else await duckDb.closeDataset(dataset)
    },
    close: async () => {
      await Promise.all([duckDb, ...tables.values()].map((engine) => engine.close()))
    },
  }
}
