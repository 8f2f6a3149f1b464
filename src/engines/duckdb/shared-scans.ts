import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Aggregate } from '../../core/planner/language/aggregate.ts'
import type { CellIntegers } from '../../core/planner/language/reading.ts'
import { entry } from '../../privacy/must.ts'
import { commonColumns, integerCount, printSharedScan, scanColumns } from '../printing/shared-scan.ts'
import { printAggregate } from '../sql-printer.ts'
import { readAggregate, readSharedScan } from '../sql-result.ts'
import { readRows } from './connection.ts'
import { duckDbDialect } from './dialect.ts'
import type { ConnectionPool } from './sessions.ts'

/** Computes aggregates over one dataset. Those that are asked for in one turn of the event loop share scans. */
export interface SharedScans {
  /**
   * Computes an aggregate. The failure of another aggregate does not affect it.
   * @throws EngineFailure
   */
  aggregate(dataset: Dataset, aggregate: Aggregate): Promise<CellIntegers>
  /** Hands the aggregates that were asked for to the pool, without waiting for the end of the turn. */
  flush(): void
}

/** Largest number of integers of an aggregate that shares a scan. More of them take longer to release than to read. */
const MOST_SHARED_INTEGERS = 100
/** Longest text of an aggregate that shares a scan, in characters. Longer conditions take longer than the scan. */
const LONGEST_SHARED_TEXT = 1_024
/** Share of the time limit that a shared scan may take. If it fails, each aggregate has the rest on its own. */
const SHARED_TIME = 1 / 4

/** The names by which aggregates share their computation. */
interface Scannable {
  /** Aggregates with the same name are computed by one statement; absent for an aggregate that shares no scan. */
  readonly scan?: string
  /** Aggregates with the same text read the same integers. */
  readonly text: string
}

/** An aggregate that waits for its scan. */
interface Asked extends Scannable {
  readonly dataset: Dataset
  readonly aggregate: Aggregate
  readonly resolve: (integers: CellIntegers) => void
  readonly reject: (error: unknown) => void
}

/**
 * Returns the name of the scan that can compute an aggregate; `undefined` if it shares none. One statement computes all
 * aggregates with the same name. The name depends on public facts and the aggregate alone.
 */
export function scanOf(dataset: Dataset, aggregate: Aggregate): string | undefined {
  try {
    return scannableOf(dataset, aggregate).scan
  } catch {
    // An aggregate that does not fit the dataset fails when it is computed.
    return undefined
  }
}

/** Creates the scans of one dataset. */
export function createSharedScans(pool: ConnectionPool, queryTimeoutMs: number): SharedScans {
  let waiting: Asked[] = []
  const sharedMs = Math.floor(queryTimeoutMs * SHARED_TIME)

  /** Computes aggregates that read the same integers. */
  const computeEqual = async (asked: readonly Asked[], timeoutMs = queryTimeoutMs): Promise<void> => {
    const [first] = asked
    if (first === undefined) return
    try {
      const printed = printAggregate(first.aggregate, first.dataset, duckDbDialect)
      const rows = await pool.run(printed, readRows, timeoutMs)
      const integers = readAggregate(first.aggregate, printed.cells, rows)
      for (const { resolve } of asked) resolve(integers)
    } catch (error) {
      refuse(asked, error)
    }
  }

  /** Computes aggregates that have the same scan. */
  const computeTogether = async (asked: readonly Asked[]): Promise<void> => {
    const questions = [...Map.groupBy(asked, ({ text }) => text).values()]
    const firsts = questions.flatMap(([first]) => first ?? [])
    const [first, second] = firsts
    if (first === undefined || second === undefined) return computeEqual(asked)
    const aggregates = firsts.map(({ aggregate }) => aggregate)
    const printed = printSharedScan(aggregates, first.dataset, duckDbDialect)
    const rows = await pool.run(printed, readRows, sharedMs).catch(() => undefined)
    if (rows === undefined) {
      // One after the other, so that they take no more connections than the scan did.
      for (const equal of questions) await computeEqual(equal, queryTimeoutMs - sharedMs)
      return
    }
    const integers = readSharedScan(aggregates, printed, rows)
    for (const [index, equal] of questions.entries())
      for (const { resolve } of equal) resolve(entry(integers, index))
  }

  const flush = (): void => {
    const asked = waiting
    waiting = []
    for (const together of Map.groupBy(asked, ({ scan }) => scan).values())
      computeTogether(together).catch((error: unknown) => refuse(together, error))
  }

  return {
    flush,
    async aggregate(dataset, aggregate) {
      const { promise, resolve, reject } = Promise.withResolvers<CellIntegers>()
      const asked: Asked = { ...scannableOf(dataset, aggregate), dataset, aggregate, resolve, reject }
      if (asked.scan === undefined) void computeEqual([asked])
      else if (waiting.push(asked) === 1) setImmediate(flush)
      return promise
    },
  }
}

function refuse(asked: readonly Asked[], error: unknown): void {
  for (const { reject } of asked) reject(error)
}

/**
 * Names the scan of an aggregate.
 * @throws RangeError for group keys that do not fit the dataset, which planning excludes.
 */
function scannableOf(dataset: Dataset, aggregate: Aggregate): Scannable {
  const text = JSON.stringify(aggregate, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
  const isSmall =
    text.length <= LONGEST_SHARED_TEXT &&
    integerCount(aggregate, dataset, duckDbDialect) <= MOST_SHARED_INTEGERS
  return { text, ...(isSmall ? { scan: nameScan(dataset, aggregate, text) } : {}) }
}

function nameScan(dataset: Dataset, aggregate: Aggregate, text: string): string {
  const columns = scanColumns(aggregate, dataset)
  const common = commonColumns(dataset)
  const scan =
    columns === undefined
      ? text
      : [...columns].filter((column) => !common.has(column)).length === 0
        ? []
        : [...columns].sort()
  return JSON.stringify([dataset.id, dataset.version, scan])
}
