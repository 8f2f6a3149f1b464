import { rm } from 'node:fs/promises'
import type { DuckDBConnection, DuckDBMaterializedResult } from '@duckdb/node-api'
import { createLimiter } from '../../platform/concurrency/limiter.ts'
import { EngineFailure } from '../engine.ts'
import type { PrintedStatement } from '../printing/printer.ts'
import { execute, PROBE, recoverConnection } from './connection.ts'
import { type InstanceLimits, openLockedInstance } from './instance.ts'

/** Reads the result of a statement; a reader that takes long stops once the signal is aborted. */
export type ResultReader<Answer> = (
  result: DuckDBMaterializedResult,
  signal: AbortSignal,
) => Answer | Promise<Answer>

/** An instance over one file, and its fixed number of connections. */
export interface ConnectionPool {
  /**
   * Runs a statement as soon as a connection is free. The time limit begins then; by default it is that of the pool.
   * @throws EngineFailure for any failure, and once the time limit has passed; `EngineUnavailable` if the statement was
   * not run, because the pool is closed or no connection could be opened.
   */
  run<Answer>(statement: PrintedStatement, read: ResultReader<Answer>, timeoutMs?: number): Promise<Answer>
  /** True while statements can be run. */
  healthy(): Promise<boolean>
  /** Accepts no more statements, waits for those it has accepted, and closes the file. */
  close(): Promise<void>
}

/** The limits of a pool. */
export interface ConnectionPoolOptions extends InstanceLimits {
  readonly connections: number
  /** Time limit for a statement; it begins once the statement has a connection. */
  readonly queryTimeoutMs: number
}

/** Interval of repeated interrupts: an interrupt that comes before the statement has begun is lost. */
const INTERRUPT_INTERVAL_MS = 20

/**
 * Opens a pool over an ingested file. All connections are opened here, because opening one later may have to wait for
 * every running statement of the process.
 */
export async function openConnectionPool(
  file: string,
  options: ConnectionPoolOptions,
): Promise<ConnectionPool> {
  const { connections, queryTimeoutMs } = options
  const instance = await openLockedInstance(file, 'READ_ONLY', options)
  const free: DuckDBConnection[] = []
  try {
    for (let count = 0; count < connections; count += 1) free.push(await instance.connect())
  } catch (error) {
    instance.closeSync()
    throw error
  }
  const limiter = createLimiter({ concurrency: connections })
  let isClosed = false

  /** Uses a connection that nothing else uses. One that no longer works is replaced, at the latest by the next use. */
  const lease = async <Answer>(use: (connection: DuckDBConnection) => Promise<Answer>): Promise<Answer> => {
    const connection = free.pop() ?? (await instance.connect().catch(unavailable))
    try {
      const answer = await use(connection)
      free.push(connection)
      return answer
    } catch {
      const recovered = await recoverConnection(instance, connection)
      if (recovered !== undefined) free.push(recovered)
      // DuckDB's message may quote data.
      throw new EngineFailure()
    }
  }

  return {
    run: async (statement, read, timeoutMs = queryTimeoutMs) => {
      if (isClosed) unavailable()
      const place = await limiter.enter()
      let begun = false
      return withTimeLimit(timeoutMs, (signal) =>
        lease((connection) => {
          begun = true
          return interruptOn(signal, connection, async () =>
            read(await execute(connection, statement), signal),
          )
        }).finally(place.leave),
      ).catch((error: unknown) => {
        // Opening a connection took all the time.
        if (!begun) unavailable()
        throw error
      })
    },
    healthy: async () => {
      if (isClosed) return false
      // Every busy connection either answers or runs out of time, so that a busy pool is healthy. For the same reason
      // the probe has no time limit.
      if (limiter.running() >= connections) return true
      return limiter
        .run(() => lease((connection) => execute(connection, PROBE)))
        .then(
          () => true,
          () => false,
        )
    },
    close: async () => {
      isClosed = true
      await limiter.idle()
      for (const connection of free.splice(0)) connection.disconnectSync()
      instance.closeSync()
      await rm(options.temporaryDirectory, { recursive: true, force: true })
    },
  }
}

function unavailable(): never {
  throw new EngineFailure('EngineUnavailable')
}

/**
 * Runs work with a time limit.
 * @throws EngineFailure `EngineTimeout` as soon as the time has passed, even if the work has not stopped yet.
 */
async function withTimeLimit<Answer>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const limit = new AbortController()
  const expired = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const failure = new EngineFailure('EngineTimeout')
    limit.abort(failure)
    expired.reject(failure)
  }, timeoutMs)
  try {
    return await Promise.race([work(limit.signal), expired.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs a statement, and interrupts it again and again after the signal, until it has stopped. */
async function interruptOn<Answer>(
  signal: AbortSignal,
  connection: DuckDBConnection,
  statement: () => Promise<Answer>,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const interrupt = () => {
    connection.interrupt()
    timer = setTimeout(interrupt, INTERRUPT_INTERVAL_MS)
  }
  signal.addEventListener('abort', interrupt, { once: true })
  if (signal.aborted) interrupt()
  try {
    return await statement()
  } finally {
    signal.removeEventListener('abort', interrupt)
    clearTimeout(timer)
  }
}
