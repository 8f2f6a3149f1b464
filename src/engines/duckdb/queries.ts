import { setImmediate } from 'node:timers/promises'
import {
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  type DuckDBMaterializedResult,
  DuckDBVarCharVector,
} from '@duckdb/node-api'
import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Engine } from '../engine.ts'
import { createCounting, printReading } from '../readings.ts'
import type { Collector } from '../value-counts.ts'
import { duckDbDialect } from './dialect.ts'
import type { ConnectionPool } from './sessions.ts'
import type { SharedScans } from './shared-scans.ts'

/** A dataset that can be queried. */
export interface OpenDataset {
  readonly pool: ConnectionPool
  readonly scans: SharedScans
}

/**
 * Runs queries of an open dataset.
 * @throws EngineFailure
 */
export type UseDataset = <Answer>(
  dataset: Dataset,
  query: (open: OpenDataset) => Promise<Answer>,
) => Promise<Answer>

type Queries = Pick<Engine, 'aggregate' | 'countIndexes' | 'countIndexesInCells' | 'countTexts'>

/** Prints queries, runs them, and reads their results. Aggregates share scans. */
export function createQueries(use: UseDataset): Queries {
  return {
    aggregate: (dataset, aggregate) => use(dataset, ({ scans }) => scans.aggregate(dataset, aggregate)),
    ...createCounting((dataset, reading, collectorOf) =>
      use(dataset, ({ pool }) => {
        const { cells, ...statement } = printReading(reading, dataset, duckDbDialect)
        return pool.run(statement, (result, signal) => collectResult(result, collectorOf(cells), signal))
      }),
    ),
  }
}

/**
 * Collects the rows of a result of VARCHARs and DOUBLEs. Between chunks it yields to other work of the process. A chunk is read
 * without a pause, because only its columns keep its memory.
 * @param signal stops the reading
 * @throws RangeError as the collector does, and for columns of another type; the signal's reason once it is aborted.
 */
export async function collectResult<Collected>(
  result: DuckDBMaterializedResult,
  collector: Collector<Collected>,
  signal: AbortSignal,
): Promise<Collected> {
  for (let index = 0; index < result.chunkCount; index += 1) {
    signal.throwIfAborted()
    const chunk = result.getChunk(index)
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => vectorOf(chunk, column))
    const values: unknown[] = []
    for (let row = 0; row < chunk.rowCount; row += 1) {
      for (let place = 0; place < columns.length; place += 1) values[place] = columns[place]?.getItem(row)
      collector.add(values)
    }
    await setImmediate()
  }
  return collector.finish()
}

function vectorOf(chunk: DuckDBDataChunk, column: number): DuckDBDoubleVector | DuckDBVarCharVector {
  const vector = chunk.getColumnVector(column)
  if (vector instanceof DuckDBDoubleVector || vector instanceof DuckDBVarCharVector) return vector
  throw new RangeError('a column of a result has another type')
}
