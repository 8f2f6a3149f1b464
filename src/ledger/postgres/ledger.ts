import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerFault } from '../fault.ts'
import type { Ledger } from '../ledger.ts'
import type { Call, OperationResults, Settled } from '../operation.ts'
import type { CommandName } from '../protocol/commands.ts'
import { ask, openConnections, prepareConnection, StatementError, useOnce } from './connection.ts'
import { postgresReads } from './reads.ts'
import { knownVersion, migratePostgres } from './schema.ts'
import { type BatchOptions, type Command, commitBatch } from './store.ts'

/** Bounds what one COMMIT waits for, and how long the budgets of its datasets are locked. */
const LARGEST_BATCH = 1_024
/** Beyond so many calls that wait, more are turned away: the database is away or too slow. */
const MOST_WAITING = 20_000
/** How often a batch is tried that others were faster than. */
const MOST_ATTEMPTS = 4
const READ_CONNECTIONS = 4
/** `Stt2`: the advisory lock of whoever is at work beside the ledger. The connection's end frees it. */
const EXCLUSIVE_LOCK = 0x53747432
const READ_AGAIN_WITHIN_MS = 3_000
/** After this long without an answer the store counts as unhealthy. */
const HEALTH_TIMEOUT_MS = 2_000

/** A ledger in a PostgreSQL database, with a count of what it did. */
export interface PostgresLedger extends Ledger {
  /** How many calls were answered since it was opened, and how many transactions the changes among them took. */
  statistics(): { readonly calls: number; readonly commits: number }
}

export interface PostgresLedgerOptions extends BatchOptions {
  /**
   * `postgres://user:password@host:port/database`, as `pg` reads it. A pooler in between must leave each connection to one
   * client until it ends: settings and prepared statements belong to the connection.
   */
  readonly url: string
}

/** One caller of a change. */
interface Waiting {
  readonly call: Command
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/**
 * Open, or create, the ledger in the schema `sotto` of the PostgreSQL database at `url`. Several processes may have it open:
 * what they do to one dataset follows each other, by the server's clock. Leases of attempts that another process left
 * under way run out. Concurrent calls of this process are made durable together.
 *
 * A call rejects with a {@link LedgerFault} where the database failed, and the ledger goes on with the next; with a
 * RangeError where an argument is out of range. Where it failed at the commit, whether the call took effect is unknown: the
 * same charge, asked again, tells.
 * @throws LedgerFault `unusable` where the database cannot be reached, is not fit for a ledger, or holds something else.
 */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<PostgresLedger> {
  const { url } = options
  // What is thrown for a URL that cannot be read may quote it, and its password.
  if (!URL.canParse(url)) throw new LedgerFault('unusable', "the ledger's URL is none")
  try {
    await useOnce(url, (client) => migratePostgres(client))
  } catch (error) {
    if (error instanceof StatementError)
      throw new LedgerFault('unusable', `the ledger cannot be opened: ${error.message}`)
    throw error
  }
  const prepare: Parameters<typeof openConnections>[2] = async (client) => {
    await prepareConnection(client)
    await knownVersion(client)
  }
  const writers = openConnections(url, 1, prepare)
  const readers = openConnections(url, READ_CONNECTIONS, prepare)
  let waiting: Waiting[] = []
  let working: Promise<void> | undefined
  let refusal: LedgerFault | undefined
  let closed: Promise<void> | undefined
  let calls = 0
  let commits = 0

  function change<Name extends CommandName>(
    operation: Name,
    args: Call<Name>['args'],
  ): Promise<OperationResults[Name]> {
    if (refusal !== undefined) return Promise.reject(refusal)
    if (waiting.length >= MOST_WAITING)
      return Promise.reject(new LedgerFault('unknown', "too many calls wait for the ledger's database"))
    const { promise, resolve, reject } = Promise.withResolvers<OperationResults[Name]>()
    waiting.push({ call: { operation, args } as Command, resolve, reject })
    working ??= work()
    return promise
  }

  /** While a batch is under way whatever is asked waits: the next batch is all of it. */
  async function work(): Promise<void> {
    for (;;) {
      // Whoever was just answered may ask again at once, and is in time for this batch.
      await nextTurn()
      if (waiting.length === 0) break
      const batch = waiting.slice(0, LARGEST_BATCH)
      waiting = waiting.slice(LARGEST_BATCH)
      await carryOut(batch)
    }
    working = undefined
  }

  /** Settles every call of the batch, and never rejects. */
  async function carryOut(batch: readonly Waiting[]): Promise<void> {
    const commands = batch.map(({ call }) => call)
    let failure: unknown
    let losses = 0
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      try {
        const settled = await writers.use((client) => commitBatch(client, commands, options))
        commits += 1
        return settle(batch, settled)
      } catch (error) {
        failure = error
      }
      // Nothing was changed: a loss of the connection at the commit is no StatementError.
      const kind = failure instanceof StatementError ? failure.kind : undefined
      if (kind === 'lost') losses += 1
      if (kind !== 'conflict' && !(kind === 'lost' && losses === 1)) break
    }
    const parts = apart(batch, failure)
    if (parts.length > 1) {
      for (const part of parts) await carryOut(part)
      return
    }
    const error = faultFrom(failure)
    settle(
      batch,
      batch.map(() => ({ kind: 'failed', error })),
    )
  }

  function settle(batch: readonly Waiting[], settled: readonly Settled[]): void {
    calls += batch.length
    for (const [index, { resolve, reject }] of batch.entries()) {
      const each = settled[index]
      if (each?.kind === 'done') resolve(each.result as never)
      else reject(each?.error ?? new Error('a call of the ledger was not answered'))
    }
  }

  /** What is only read may be read again: after a restart of the server each of the connections may turn out dead. */
  const reads = postgresReads(async (statement, values) => {
    if (refusal !== undefined) throw refusal
    calls += 1
    for (const startMs = performance.now(); ; ) {
      try {
        return await readers.use((client) => ask(client, statement, values))
      } catch (error) {
        const isLost = error instanceof StatementError && error.kind === 'lost'
        if (!isLost || performance.now() > startMs + READ_AGAIN_WITHIN_MS) throw faultFrom(error)
      }
    }
  })

  async function exclusively<Result>(
    task: (requireAlone: () => Promise<void>) => Promise<Result>,
  ): Promise<Result> {
    if (refusal !== undefined) throw refusal
    let outcome: Promise<Result> | undefined
    try {
      await useOnce(url, async (client) => {
        const requireAlone = async () => {
          await ask(client, 'SELECT 1').catch((error: unknown) => {
            throw faultFrom(error)
          })
        }
        await ask(client, `SELECT pg_advisory_lock(${EXCLUSIVE_LOCK})`)
        outcome = task(requireAlone)
        // Its errors are its caller's, who gets them below.
        await outcome.catch(() => undefined)
      })
    } catch (error) {
      throw faultFrom(error)
    }
    if (outcome === undefined) throw new Error('the task was not begun')
    return outcome
  }

  async function healthy(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, HEALTH_TIMEOUT_MS, false)
    try {
      return await Promise.race([reads.healthy(), late])
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  async function finish(): Promise<void> {
    refusal = new LedgerFault('closed', 'the ledger is closed')
    await working
    await Promise.all([writers.end(), readers.end()])
  }

  return {
    openBudget: (...args) => change('openBudget', args),
    grant: (...args) => change('grant', args),
    allot: (...args) => change('allot', args),
    charge: (...args) => change('charge', args),
    recordAnswer: (...args) => change('recordAnswer', args),
    recordFailure: (...args) => change('recordFailure', args),
    openSession: (...args) => change('openSession', args),
    recordSessionAnswer: (...args) => change('recordSessionAnswer', args),
    ...reads,
    exclusively,
    healthy,
    statistics: () => ({ calls, commits }),
    close() {
      closed ??= finish()
      return closed
    },
  }
}

/** The parts of a batch among which some may fare better by themselves; in each part, the calls keep their order. */
function apart(batch: readonly Waiting[], failure: unknown): readonly (readonly Waiting[])[] {
  if (failure instanceof LedgerFault) return [batch]
  const kind = failure instanceof StatementError ? failure.kind : 'refused'
  switch (kind) {
    // What the tables refuse, or what others are faster with, is the matter of one call: the rest is not in its way.
    case 'conflict':
    case 'refused': {
      const middle = Math.ceil(batch.length / 2)
      return [batch.slice(0, middle), batch.slice(middle)].filter((part) => part.length > 0)
    }
    // Somebody holds the budget of one dataset.
    case 'busy':
      return [...Map.groupBy(batch, ({ call }) => placeOf(call)).values()]
    case 'lost':
    case 'unusable':
    case 'failed':
      return [batch]
  }
}

/** Calls of one place change the same dataset, as far as the calls themselves tell. */
function placeOf({ operation, args }: Command): string {
  switch (operation) {
    case 'charge':
    case 'allot':
      return `dataset ${args[0].dataset}`
    case 'openBudget':
    case 'grant':
      return `dataset ${args[0]}`
    case 'recordSessionAnswer':
      return `charge ${args[0].session}`
    case 'recordAnswer':
    case 'recordFailure':
    case 'openSession':
      return `charge ${args[0]}`
  }
}

/** How a caller hears of it. */
function faultFrom(failure: unknown): Error {
  if (!(failure instanceof StatementError))
    return failure instanceof Error ? failure : new Error(String(failure))
  const { kind, message } = failure
  switch (kind) {
    case 'refused':
      return new Error(`the ledger refuses the change: ${message}`)
    case 'unusable':
      return new LedgerFault('unusable', `the ledger's database cannot be used: ${message}`)
    case 'conflict':
    case 'busy':
    case 'lost':
    case 'failed':
      return new LedgerFault('unknown', `the ledger's database could not do it: ${message}`)
  }
}
