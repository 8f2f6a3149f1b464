import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerFault } from './fault.ts'
import type { Ledger } from './ledger.ts'
import type { Call, CommandName, OperationResults, Settled } from './operation.ts'
import { ask, openConnections, prepareConnection, StatementError, useOnce } from './postgres-connection.ts'
import { postgresReads } from './postgres-reads.ts'
import { knownVersion, migratePostgres } from './postgres-schema.ts'
import { type BatchOptions, type Command, commitBatch } from './postgres-store.ts'

/** Bounds what one COMMIT waits for, and how long the budgets of its datasets are locked. */
const LARGEST_BATCH = 1_024
/** Beyond so many calls that wait, more are turned away: the database is away or too slow. */
const MOST_WAITING = 20_000
/** How often a batch is tried that others were faster than. */
const MOST_ATTEMPTS = 4
const READ_CONNECTIONS = 4
/** After this long without an answer the store counts as unhealthy. */
const HEALTH_TIMEOUT_MS = 2_000

/** A ledger in a PostgreSQL database, with a count of what it did. */
export interface PostgresLedger extends Ledger {
  /** How many calls were answered since it was opened, and how many transactions the changes among them took. */
  statistics(): { readonly calls: number; readonly commits: number }
}

export interface PostgresLedgerOptions extends BatchOptions {
  /** `postgres://user:password@host:port/database`, as libpq and `pg` read it. */
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
    for (let attempt = 1, lost = 0; ; attempt += 1) {
      let failure: unknown
      try {
        const settled = await writers.use((client) => commitBatch(client, commands, options))
        commits += 1
        return settle(batch, settled)
      } catch (error) {
        failure = error
      }
      if (failure instanceof StatementError && failure.kind === 'lost' && lost === 0) {
        lost += 1
        continue
      }
      if (failure instanceof StatementError && failure.kind === 'conflict' && attempt < MOST_ATTEMPTS)
        continue
      // What the tables refuse, or what others are faster with, is the matter of one call: the rest is not in its way.
      if (batch.length > 1 && isOfOneCall(failure)) {
        const middle = Math.ceil(batch.length / 2)
        await carryOut(batch.slice(0, middle))
        return carryOut(batch.slice(middle))
      }
      const error = faultFrom(failure)
      return settle(
        batch,
        batch.map(() => ({ kind: 'failed', error })),
      )
    }
  }

  function settle(batch: readonly Waiting[], settled: readonly Settled[]): void {
    calls += batch.length
    for (const [index, { resolve, reject }] of batch.entries()) {
      const each = settled[index]
      if (each?.kind === 'done') resolve(each.result as never)
      else reject(each?.error ?? new Error('a call of the ledger was not answered'))
    }
  }

  /** What is only read may be read again. */
  const reads = postgresReads(async (statement, values) => {
    if (refusal !== undefined) throw refusal
    calls += 1
    const look = () => readers.use((client) => ask(client, statement, values))
    try {
      return await look().catch((error) => {
        if (error instanceof StatementError && error.kind === 'lost') return look()
        throw error
      })
    } catch (error) {
      throw faultFrom(error)
    }
  })

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
    healthy,
    statistics: () => ({ calls, commits }),
    close() {
      closed ??= finish()
      return closed
    },
  }
}

function isOfOneCall(failure: unknown): boolean {
  if (failure instanceof LedgerFault) return false
  return !(failure instanceof StatementError) || failure.kind === 'conflict' || failure.kind === 'refused'
}

/** How a caller hears of it. */
function faultFrom(failure: unknown): Error {
  if (!(failure instanceof StatementError))
    return failure instanceof Error ? failure : new Error(String(failure))
  const { kind, message } = failure
  switch (kind) {
    case 'conflict':
    case 'refused':
      return new Error(`the ledger refuses the change: ${message}`)
    case 'unusable':
      return new LedgerFault('unusable', `the ledger's database cannot be used: ${message}`)
    case 'busy':
    case 'lost':
    case 'failed':
      return new LedgerFault('unknown', `the ledger's database does not answer: ${message}`)
  }
}
