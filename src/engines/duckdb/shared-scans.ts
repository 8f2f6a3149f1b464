import type { Dataset } from '../../catalog/dataset.ts'
import type { Aggregate } from '../../planner/aggregate.ts'
import { commonColumns, printSharedScan, scanColumns } from '../printing/shared-scan.ts'
import { type PrintedAggregate, printAggregate } from '../sql-printer.ts'
import { readAggregate, readSharedScan } from '../sql-result.ts'
import { readRows } from './connection.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { duckDbDialect } from './dialect.ts'

/** The integers of an aggregate: one array per statistic, one entry per cell. */
type Integers = readonly (readonly bigint[])[]

/** Computes aggregates over one dataset. Those that are asked for in one turn of the event loop share scans. */
export interface SharedScans {
  /**
   * Computes an aggregate. The failure of another aggregate does not affect it.
   * @throws EngineFailure
   */
  aggregate(dataset: Dataset, aggregate: Aggregate): Promise<Integers>
  /** Hands the aggregates that were asked for to the pool, without waiting for the end of the turn. */
  flush(): void
}

/** Largest number of integers of an aggregate that shares a scan. More of them take longer to release than to read. */
const MOST_SHARED_INTEGERS = 100
/** Largest statement, in characters, and largest number of its values, of an aggregate that shares a scan. */
const [LONGEST_SHARED_SQL, MOST_SHARED_PARAMETERS] = [2_048, 32]
/** Share of the time limit that a shared scan may take. If it fails, each aggregate has the rest on its own. */
const SHARED_TIME = 1 / 4

/** An aggregate as its own statement, and the names of the scans that can compute it. */
interface Scannable {
  readonly printed: PrintedAggregate
  /** Aggregates with the same name are computed by one statement; absent for an aggregate that shares no scan. */
  readonly scan?: string
  /** Aggregates with the same name read the same integers. */
  readonly question: string
}

/** An aggregate that waits for its scan. */
interface Asked extends Scannable {
  readonly dataset: Dataset
  readonly aggregate: Aggregate
  readonly resolve: (integers: Integers | Promise<Integers>) => void
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

  const alone = async ({ aggregate, printed }: Pick<Asked, 'aggregate' | 'printed'>) =>
    readAggregate(aggregate, printed.cells, await pool.run(printed, readRows))

  /** Computes aggregates that read the same integers. */
  const computeEqual = async (asked: readonly Asked[], timeoutMs = queryTimeoutMs): Promise<void> => {
    const [first] = asked
    if (first === undefined) return
    const { printed } = first
    await pool.run(printed, readRows, timeoutMs).then(
      (rows) => settle(asked, ({ aggregate }) => readAggregate(aggregate, printed.cells, rows)),
      (error: unknown) => refuse(asked, error),
    )
  }

  /** Computes aggregates that have the same scan. */
  const computeTogether = async (asked: readonly Asked[]): Promise<void> => {
    const questions = [...Map.groupBy(asked, ({ question }) => question).values()]
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
    for (const [index, equal] of questions.entries()) {
      const [own] = equal
      settle(equal, ({ aggregate }) =>
        aggregate === own?.aggregate
          ? (integers[index] ?? missing())
          : (readSharedScan(
              [aggregate],
              { ...printed, aggregates: printed.aggregates.slice(index) },
              rows,
            )[0] ?? missing()),
      )
    }
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
      const scannable = scannableOf(dataset, aggregate)
      if (scannable.scan === undefined) return alone({ aggregate, printed: scannable.printed })
      const { promise, resolve, reject } = Promise.withResolvers<Integers>()
      waiting.push({ ...scannable, dataset, aggregate, resolve, reject })
      if (waiting.length === 1) setImmediate(flush)
      return promise
    },
  }
}

function settle(asked: readonly Asked[], integersOf: (asked: Asked) => Integers): void {
  for (const each of asked) {
    try {
      each.resolve(integersOf(each))
    } catch (error) {
      each.reject(error)
    }
  }
}

function refuse(asked: readonly Asked[], error: unknown): void {
  for (const { reject } of asked) reject(error)
}

function missing(): never {
  throw new RangeError('an aggregate is missing in the result')
}

const scannables = new WeakMap<Aggregate, Scannable & { readonly dataset: Dataset }>()

/**
 * Prints an aggregate, and names its scan. The queue in front of the engine asks before the engine does, so that the last
 * result for each aggregate is kept.
 * @throws RangeError for an aggregate that does not fit the dataset, which planning excludes.
 */
function scannableOf(dataset: Dataset, aggregate: Aggregate): Scannable {
  const known = scannables.get(aggregate)
  if (known?.dataset === dataset) return known
  const printed = printAggregate(aggregate, dataset, duckDbDialect)
  const { sql, parameters, cells } = printed
  const isSmall =
    cells * aggregate.statistics.length <= MOST_SHARED_INTEGERS &&
    sql.length <= LONGEST_SHARED_SQL &&
    parameters.length <= MOST_SHARED_PARAMETERS
  const question = JSON.stringify([
    sql,
    cells,
    ...parameters.map((value) => (typeof value === 'bigint' ? `${value}` : value)),
  ])
  const scannable = {
    dataset,
    printed,
    question,
    ...(isSmall ? { scan: nameScan(dataset, aggregate, question) } : {}),
  }
  scannables.set(aggregate, scannable)
  return scannable
}

function nameScan(dataset: Dataset, aggregate: Aggregate, question: string): string {
  const columns = scanColumns(aggregate, dataset)
  const common = commonColumns(dataset)
  const scan =
    columns === undefined
      ? question
      : [...columns].filter((column) => !common.has(column)).length === 0
        ? []
        : [...columns].sort()
  return JSON.stringify([dataset.id, dataset.version, scan])
}
