import { createLimiter } from '../../platform/concurrency/limiter.ts'
import { EngineFailure } from '../engine.ts'
import { createInterruptions } from '../tables/interruptions.ts'
import { type TrinoClient, TrinoFailure, type TrinoRows } from './connection.ts'

/**
 * Runs a statement and returns its pages that have rows.
 * @param signal cancels this statement alone
 */
export type RunStatement = (sql: string, signal?: AbortSignal) => AsyncIterable<TrinoRows>

/** Terms on which statements run. */
export interface SessionTerms {
  /** Id of the dataset that is queried; absent for work that no analyst asked for. */
  readonly dataset?: string
  /** Time limit; it begins once the session has a place. */
  readonly timeoutMs: number
  /** Cancels the statements. */
  readonly signal: AbortSignal
}

/** A place among the statements that may run at the same time, and a time limit. */
export interface Session {
  readonly run: RunStatement
  /**
   * Returns the failure to throw for an error: `EngineUnavailable` if the cluster has accepted no statement or has refused
   * one, or if the statements were cancelled; `EngineInterrupted` as {@link createInterruptions} has it.
   */
  failureOf(error: unknown): EngineFailure
  /** Gives the place back. */
  end(): void
}

/** The sessions of one connection. */
export interface Sessions {
  /**
   * Begins a session, once there is a place.
   * @throws EngineFailure `EngineUnavailable` if the signal is aborted before.
   */
  begin(terms: SessionTerms): Promise<Session>
  /**
   * Runs statements in a session.
   * @throws EngineFailure for any failure.
   */
  use<Answer>(terms: SessionTerms, work: (run: RunStatement) => Promise<Answer>): Promise<Answer>
  /** Resolves once no session has a place and none waits. */
  idle(): Promise<void>
}

/** Creates the sessions of a client. */
export function createSessions(client: TrinoClient, concurrency: number): Sessions {
  const limiter = createLimiter({ concurrency })
  const interrupted = createInterruptions()

  async function begin({ timeoutMs, signal, dataset }: SessionTerms): Promise<Session> {
    const place = await limiter.enter({ signal }).catch(() => {
      throw new EngineFailure('EngineUnavailable')
    })
    const begunMs = performance.now()
    let accepted = false
    const onAccepted = () => {
      accepted = true
    }
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), timeoutMs)
    const either = AbortSignal.any([limit.signal, signal])
    return {
      run: (sql, own) =>
        client.run(sql, {
          signal: own === undefined ? either : AbortSignal.any([either, own]),
          timeoutMs,
          onAccepted,
        }),
      failureOf: (error) => {
        if (error instanceof EngineFailure) return error
        const outcome = error instanceof TrinoFailure ? error.outcome : 'failed'
        if (!accepted || outcome === 'refused' || signal.aborted)
          return new EngineFailure('EngineUnavailable')
        if (limit.signal.aborted) return new EngineFailure('EngineTimeout')
        return outcome === 'interrupted' ? interrupted(dataset, begunMs) : new EngineFailure()
      },
      end: () => {
        clearTimeout(timer)
        place.leave()
      },
    }
  }

  return {
    begin,
    use: async (terms, work) => {
      const session = await begin(terms)
      try {
        return await work(session.run)
      } catch (error) {
        throw session.failureOf(error)
      } finally {
        session.end()
      }
    },
    idle: () => limiter.idle(),
  }
}

/**
 * Reads all rows of a statement.
 * @throws RangeError if there are more rows.
 */
export async function rowsOf(pages: AsyncIterable<TrinoRows>, mostRows: number): Promise<TrinoRows> {
  const rows: (readonly unknown[])[] = []
  for await (const page of pages) {
    if (rows.length + page.length > mostRows) throw new RangeError('the result has too many rows')
    for (const row of page) rows.push(row)
  }
  return rows
}
