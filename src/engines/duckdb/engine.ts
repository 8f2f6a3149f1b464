import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DuckDBConnection,
  type DuckDBInstance,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  DuckDBTypeId,
} from '@duckdb/node-api'
import type { Dataset } from '../../catalog/dataset.ts'
import type { SqlValue } from '../dialect.ts'
import { type Engine, EngineFailure } from '../engine.ts'
import {
  type PrintedStatement,
  printAggregate,
  printIndexCounting,
  printTextCounting,
} from '../sql-printer.ts'
import { readAggregate } from '../sql-result.ts'
import { duckDbDialect } from './dialect.ts'
import { openLockedInstance } from './instance.ts'
import { BYTES_PER_INDEX, BYTES_PER_TEXT, readIndexCounts, readTextCounts } from './values.ts'

/** Which ingested file is meant: a dataset, or just its name and version. */
export type DatasetVersion = Pick<Dataset, 'id' | 'version'>

/** How the engine finds its files and how much of the machine it may use. */
export interface DuckDbEngineOptions {
  /** The file that a dataset was ingested into. */
  readonly files: (dataset: DatasetVersion) => string
  /**
   * How many statements may run at a time over one dataset. Each occupies one of the few threads (four, unless
   * UV_THREADPOOL_SIZE says otherwise) that the whole process has for such work.
   */
  readonly connectionsPerDataset: number
  /** Threads and memory of each dataset's instance; memory as DuckDB writes it: `512MB`. */
  readonly threads: number
  readonly memoryLimit: string
  /** From the moment an aggregate is asked for, waiting for a connection included. */
  readonly queryTimeoutMs: number
  /** A folder of the engine's own, for what exceeds the memory limit. */
  readonly temporaryDirectory: string
  readonly maxTemporaryDirectorySize?: string
  /** How much of the process's memory the counts of a column's values may take up: 256 MiB unless told otherwise. */
  readonly maxValueCountsBytes?: number
}

/** An engine over ingested files; datasets come and go while it runs. */
export interface DuckDbEngine extends Engine {
  /**
   * Makes a dataset's file ready to be asked; one that is open already stays so.
   * @throws EngineFailure where there is no such file.
   */
  open(dataset: DatasetVersion): Promise<void>
  /** Takes nothing more, lets what was asked before finish, and closes the file. One that is not open is no error. */
  closeDataset(dataset: DatasetVersion): Promise<void>
}

/** An engine over files that `ingest` made. Nothing is open yet. */
export function openDuckDbEngine(options: DuckDbEngineOptions): DuckDbEngine {
  const pools = new Map<string, Promise<Pool>>()
  const maxBytes = options.maxValueCountsBytes ?? 2 ** 28
  let opened = 0

  const openOne = async (dataset: DatasetVersion): Promise<void> => {
    const key = keyOf(dataset)
    let pool = pools.get(key)
    if (pool === undefined) {
      // A folder for each instance: they do not share theirs.
      pool = openPool(
        options.files(dataset),
        join(options.temporaryDirectory, `instance-${opened++}`),
        options,
      )
      pools.set(key, pool)
    }
    try {
      await pool
    } catch {
      if (pools.get(key) === pool) pools.delete(key)
      throw new EngineFailure()
    }
  }

  const closeOne = async (key: string): Promise<void> => {
    const pool = pools.get(key)
    pools.delete(key)
    await (await pool?.catch(() => undefined))?.close()
  }

  const ask = async <Answer>(
    dataset: DatasetVersion,
    question: (pool: Pool) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      const pool = await pools.get(keyOf(dataset))
      if (pool === undefined) throw new RangeError('the dataset is not open')
      return await question(pool)
    } catch (error) {
      throw error instanceof EngineFailure ? error : new EngineFailure()
    }
  }

  /** One value more than there is room for, which is how the reader learns that there are too many. */
  const limit = (bytesPerValue: number): number => Math.floor(maxBytes / bytesPerValue) + 1

  return {
    aggregate: (dataset, aggregate) =>
      ask(dataset, async (pool) => {
        const printed = printAggregate(aggregate, dataset, duckDbDialect)
        return readAggregate(aggregate, printed.cells, await pool.run(printed, readRows))
      }),
    countIndexes: (dataset, counting) =>
      ask(dataset, (pool) =>
        pool.run(
          printIndexCounting(counting, dataset, duckDbDialect, limit(BYTES_PER_INDEX)),
          (result, expired) => readIndexCounts(result, maxBytes, expired),
        ),
      ),
    countTexts: (dataset, counting) =>
      ask(dataset, (pool) =>
        pool.run(
          printTextCounting(counting, dataset, duckDbDialect, limit(BYTES_PER_TEXT)),
          (result, expired) => readTextCounts(result, maxBytes, expired),
        ),
      ),
    healthy: async () => {
      const states = await Promise.all(
        Array.from(pools.values(), async (pool) => (await pool.catch(() => undefined))?.healthy() ?? false),
      )
      return states.every(Boolean)
    },
    open: openOne,
    closeDataset: (dataset) => closeOne(keyOf(dataset)),
    close: async () => {
      await Promise.all(Array.from(pools.keys(), closeOne))
    },
  }
}

function keyOf({ id, version }: DatasetVersion): string {
  return JSON.stringify([id, version])
}

/** How often a statement that is out of time is interrupted again, see `expire`. */
const INTERRUPT_EVERY_MS = 20

/**
 * Shapes of aggregates whose statements each connection keeps prepared. That saves the parsing; a statement with values
 * bound is planned anew each time (DuckDB since 1.5), which lets its filters into the scan.
 */
const PREPARED_STATEMENTS_PER_CONNECTION = 64

/**
 * A longer statement is not kept: DuckDB holds a kilobyte and more for each of its parameters, outside of its memory
 * limit, and the shapes of long lists are many.
 */
const LONGEST_KEPT = 4_096

const PROBE: PrintedStatement = { sql: "SELECT '1'", parameters: [] }

/** Takes an answer in, until `expired` says that nobody waits for it any more. */
type Reader<Answer> = (result: DuckDBMaterializedResult, expired: () => boolean) => Answer | Promise<Answer>

/** A connection and the statements it has prepared, the most recently used last. */
interface Seat {
  readonly connection: DuckDBConnection
  readonly statements: Map<string, Statement>
}

interface Statement {
  readonly prepared: DuckDBPreparedStatement
  readonly bind: readonly ((value: SqlValue) => void)[]
}

interface Job {
  /** Executes the statement and hands its answer to the caller. */
  readonly work: (seat: Seat) => Promise<void>
  readonly reject: (failure: EngineFailure) => void
  expired: boolean
  timer?: NodeJS.Timeout
  /** Where it runs; absent while it waits. */
  seat?: Seat
}

interface Pool {
  run<Answer>(statement: PrintedStatement, read: Reader<Answer>): Promise<Answer>
  healthy(): Promise<boolean>
  close(): Promise<void>
}

/**
 * One file's instance and its fixed set of connections, each running one statement at a time. All are opened here,
 * because opening one later may wait behind every running statement of the process.
 */
async function openPool(
  path: string,
  temporaryDirectory: string,
  options: DuckDbEngineOptions,
): Promise<Pool> {
  await mkdir(options.temporaryDirectory, { recursive: true })
  const instance = await openLockedInstance(path, 'READ_ONLY', {
    threads: options.threads,
    memoryLimit: options.memoryLimit,
    temporaryDirectory,
    maxTemporaryDirectorySize: options.maxTemporaryDirectorySize ?? '1GB',
  })
  const idle: Seat[] = []
  const waiting = new Set<Job>()
  const running = new Set<Promise<void>>()
  let closed = false

  try {
    for (let count = 0; count < options.connectionsPerDataset; count += 1) idle.push(await openSeat(instance))
  } catch (error) {
    instance.closeSync()
    throw error
  }
  let seats = idle.length

  const run = <Answer>(statement: PrintedStatement, read: Reader<Answer>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (closed || seats === 0) return reject(new EngineFailure())
      const job: Job = {
        work: async (seat) =>
          resolve(await execute(seat, statement, (result) => read(result, () => job.expired))),
        reject,
        expired: false,
      }
      job.timer = setTimeout(() => expire(job), options.queryTimeoutMs)
      waiting.add(job)
      startWaiting()
    })

  const startWaiting = (): void => {
    for (const job of waiting) {
      const seat = idle.pop()
      if (seat === undefined) return
      waiting.delete(job)
      void track(runAt(seat, job))
    }
  }

  const track = (work: Promise<void>): Promise<void> => {
    const tracked = work.finally(() => running.delete(tracked))
    running.add(tracked)
    return tracked
  }

  const runAt = async (seat: Seat, job: Job): Promise<void> => {
    job.seat = seat
    let sound = true
    try {
      await job.work(seat)
    } catch {
      // What DuckDB says may quote the data.
      sound = false
      job.reject(new EngineFailure())
    }
    clearTimeout(job.timer)
    await release(seat, sound)
  }

  const probe = async (seat: Seat): Promise<void> => {
    const sound = await execute(seat, PROBE, readRows).then(
      () => true,
      () => false,
    )
    await release(seat, sound)
  }

  const release = async (seat: Seat, sound: boolean): Promise<void> => {
    const next = sound ? seat : await recover(instance, seat)
    if (next === undefined) seats -= 1
    else idle.push(next)
    if (seats === 0) turnAwayWaiting()
    else startWaiting()
  }

  /**
   * The caller is told at once; the connection is busy until the statement has stopped. An interrupt that comes before
   * the statement has begun is lost, so it is repeated.
   */
  const expire = (job: Job): void => {
    job.expired = true
    job.reject(new EngineFailure('EngineTimeout'))
    if (job.seat === undefined) {
      waiting.delete(job)
      return
    }
    job.seat.connection.interrupt()
    job.timer = setTimeout(() => expire(job), INTERRUPT_EVERY_MS)
  }

  const turnAwayWaiting = (): void => {
    for (const job of waiting) {
      clearTimeout(job.timer)
      job.reject(new EngineFailure())
    }
    waiting.clear()
  }

  return {
    run,
    healthy: async () => {
      if (closed || seats === 0) return false
      // While every connection is at work, the pool is busy, not ill: each either answers or runs out of time. The same
      // goes for a probe that is slow, which is why it has no time limit of its own.
      const seat = idle.pop()
      if (seat !== undefined) await track(probe(seat))
      return seats > 0
    },
    close: async () => {
      closed = true
      // What waits is started by what ends, so nothing waits any more once nothing runs.
      while (running.size > 0) await Promise.all(running)
      for (const seat of idle) closeSeat(seat)
      idle.length = 0
      instance.closeSync()
      await rm(temporaryDirectory, { recursive: true, force: true })
    },
  }
}

async function openSeat(instance: DuckDBInstance): Promise<Seat> {
  return { connection: await instance.connect(), statements: new Map() }
}

function closeSeat(seat: Seat): void {
  forgetStatements(seat)
  seat.connection.disconnectSync()
}

function forgetStatements({ statements }: Seat): void {
  for (const { prepared } of statements.values()) prepared.destroySync()
  statements.clear()
}

/** A connection to go on with after a failure: the same, a new one, or none where the instance is beyond use. */
async function recover(instance: DuckDBInstance, seat: Seat): Promise<Seat | undefined> {
  forgetStatements(seat)
  try {
    await execute(seat, PROBE, readRows)
    return seat
  } catch {
    // Then another has to do.
  }
  try {
    closeSeat(seat)
    const replacement = await openSeat(instance)
    await execute(replacement, PROBE, readRows)
    return replacement
  } catch {
    return undefined
  }
}

async function execute<Answer>(
  seat: Seat,
  { sql, parameters }: PrintedStatement,
  read: (result: DuckDBMaterializedResult) => Answer | Promise<Answer>,
): Promise<Answer> {
  const { prepared, bind } = await prepare(seat, sql)
  try {
    if (bind.length !== parameters.length)
      throw new RangeError('a statement has as many values as parameters')
    for (const [index, value] of parameters.entries()) bind[index]?.(value)
    return await read(await prepared.run())
  } finally {
    if (!seat.statements.has(sql)) prepared.destroySync()
  }
}

function readRows(result: DuckDBMaterializedResult): readonly (readonly unknown[])[] {
  const rows: (readonly unknown[])[] = []
  for (let index = 0; index < result.chunkCount; index += 1) {
    const chunk = result.getChunk(index)
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnValues(column))
    for (let row = 0; row < chunk.rowCount; row += 1) rows.push(columns.map((values) => values[row]))
  }
  return rows
}

async function prepare({ connection, statements }: Seat, sql: string): Promise<Statement> {
  const known = statements.get(sql)
  if (known !== undefined) {
    statements.delete(sql)
    statements.set(sql, known)
    return known
  }
  const prepared = await connection.prepare(sql)
  const statement = {
    prepared,
    bind: Array.from({ length: prepared.parameterCount }, (_, index) => binder(prepared, index + 1)),
  }
  if (sql.length > LONGEST_KEPT) return statement
  statements.set(sql, statement)
  const [oldest] = statements
  if (statements.size > PREPARED_STATEMENTS_PER_CONNECTION && oldest !== undefined) {
    statements.delete(oldest[0])
    oldest[1].prepared.destroySync()
  }
  return statement
}

/** Binds in just the type that the statement spells out. */
function binder(prepared: DuckDBPreparedStatement, position: number): (value: SqlValue) => void {
  const type = prepared.parameterTypeId(position)
  return (value) => {
    if (typeof value === 'bigint' && type === DuckDBTypeId.BIGINT) prepared.bindBigInt(position, value)
    else if (typeof value === 'bigint' && type === DuckDBTypeId.INTEGER)
      prepared.bindInteger(position, Number(value))
    else if (typeof value === 'boolean' && type === DuckDBTypeId.BOOLEAN)
      prepared.bindBoolean(position, value)
    else if (typeof value === 'string' && type === DuckDBTypeId.VARCHAR) prepared.bindVarchar(position, value)
    else throw new RangeError('a value is of its parameter’s type')
  }
}
