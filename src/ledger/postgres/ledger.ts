import { ADMINISTRATION } from '../contract/acts.ts'
import { LedgerFault } from '../fault.ts'
import type { Ledger, OperationArguments, OperationResults } from '../ledger.ts'
import type { CommandName } from '../protocol/commands.ts'
import { createGroupCommit, halves, type QueuedCall } from '../stores/group-commit.ts'
import { answersInTime, commandMethods, type Settled } from '../stores/operation.ts'
import { ask, openConnections, prepareConnection, StatementError, useOnce } from './connection.ts'
import { postgresReads } from './reads.ts'
import { expectSchema, LEDGER_SCHEMA, prepareSchema } from './schema.ts'
import { type BatchOptions, type Command, commitBatch, keysOf } from './store.ts'

/** Limits how long callers wait for a COMMIT, and how long a batch locks the budgets of its datasets. */
const MAX_BATCH_SIZE = 1_024
/** Attempts of a batch that conflicts with transactions of other replicas. */
const MAX_ATTEMPTS = 4
const READ_CONNECTIONS = 4
/** Key of the advisory lock (`Stt2`) that {@link Ledger.exclusively} holds. It is released when its connection ends. */
const EXCLUSIVE_LOCK = 0x53747432

/** A ledger in a PostgreSQL database, with the number of calls it answered and of transactions it committed. */
export interface PostgresLedger extends Ledger {
  statistics(): { readonly calls: number; readonly commits: number }
}

export interface PostgresLedgerOptions extends BatchOptions {
  /**
   * `postgres://user:password@host:port/database`, as `pg` reads it. A connection pooler must assign each connection to
   * one client until it ends, because settings and prepared statements belong to the connection.
   */
  readonly url: string
}

/**
 * Opens or creates the ledger in the schema `sotto` of the PostgreSQL database at `url`. Several processes may have it
 * open. Their changes to a dataset are serialized, and leases use the server's clock. Leases of attempts that another
 * process left unfinished expire. Concurrent calls of this process are committed together.
 *
 * A call rejects with a {@link LedgerFault} if the database failed, and the ledger continues with the next call. It
 * rejects with a RangeError if an argument is out of range. If the commit failed, it is unknown whether the call took
 * effect; repeating the same charge shows it.
 * @throws LedgerFault `unusable` if the database cannot be reached, does not meet the requirements, or belongs to
 * another program.
 */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<PostgresLedger> {
  const { url } = options
  // The error for an invalid URL may quote it, with its password.
  if (!URL.canParse(url)) throw new LedgerFault('unusable', "the ledger's URL is not valid")
  try {
    await useOnce(url, (client) => prepareSchema(client, LEDGER_SCHEMA))
  } catch (error) {
    if (error instanceof StatementError)
      throw new LedgerFault('unusable', `the ledger cannot be opened: ${error.message}`)
    throw error
  }
  const prepare: Parameters<typeof openConnections>[2] = async (client) => {
    await prepareConnection(client)
    await expectSchema(client, LEDGER_SCHEMA)
  }
  const writers = openConnections(url, 1, prepare)
  const readers = openConnections(url, READ_CONNECTIONS, prepare)
  const batches = createGroupCommit<CommandName>({
    maxBatchSize: MAX_BATCH_SIZE,
    commit: commitWithRetries,
    split: splitAfter,
  })
  let refusal: LedgerFault | undefined
  let closed: Promise<void> | undefined
  let reads = 0

  async function change<Name extends CommandName>(
    operation: Name,
    args: OperationArguments[Name],
  ): Promise<OperationResults[Name]> {
    try {
      return await batches.submit(operation, args)
    } catch (error) {
      throw faultFrom(error)
    }
  }

  async function commitWithRetries(calls: readonly Command[]): Promise<readonly Settled[]> {
    let losses = 0
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await writers.use((client) => commitBatch(client, calls, options))
      } catch (error) {
        // A StatementError means that nothing was changed. A connection lost during the commit is a LedgerFault.
        const kind = error instanceof StatementError ? error.kind : undefined
        if (kind === 'lost') losses += 1
        const again = kind === 'conflict' || (kind === 'lost' && losses === 1)
        if (!again || attempt === MAX_ATTEMPTS) throw error
      }
    }
  }

  const readMethods = postgresReads(async (statement, values) => {
    if (refusal !== undefined) throw refusal
    reads += 1
    try {
      return await readers.look(statement, values)
    } catch (error) {
      throw faultFrom(error)
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
        // The caller gets the error of the task below.
        await outcome.catch(() => undefined)
      })
    } catch (error) {
      throw faultFrom(error)
    }
    if (outcome === undefined) throw new Error('the task was not started')
    return outcome
  }

  async function finish(): Promise<void> {
    refusal = new LedgerFault('closed', 'the ledger is closed')
    await batches.close()
    await Promise.all([writers.end(), readers.end()])
  }

  return {
    ...commandMethods(change),
    ...readMethods,
    exclusively,
    healthy: () => answersInTime(readMethods.healthy),
    statistics() {
      const { calls, commits } = batches.statistics()
      return { calls: calls + reads, commits }
    },
    close() {
      closed ??= finish()
      return closed
    },
  }
}

/** Divides a batch that failed into parts that may succeed separately. Each part keeps the order of its calls. */
function splitAfter(
  batch: readonly QueuedCall<CommandName>[],
  failure: unknown,
): readonly (readonly QueuedCall<CommandName>[])[] {
  if (failure instanceof LedgerFault) return [batch]
  const kind = failure instanceof StatementError ? failure.kind : 'refused'
  switch (kind) {
    // One call causes this: the tables refuse it, or other replicas change the same rows.
    case 'conflict':
    case 'refused':
      return halves(batch)
    // Another transaction holds the lock of one dataset.
    case 'busy':
      return [...Map.groupBy(batch, ({ call }) => lockKeyOf(call)).values()]
    case 'lost':
    case 'unusable':
    case 'failed':
      return [batch]
  }
}

/** Groups calls that change the same datasets, as far as their arguments show it. */
function lockKeyOf(call: Command): string | undefined {
  const { datasets, charges } = keysOf([call])
  // Most calls on a dataset may append an act as well.
  const named = datasets.all().filter((dataset) => dataset !== ADMINISTRATION)
  return named.length > 1 ? named.join() : [...named, ...charges.all()][0]
}

/** Converts a failure to the error that callers get. */
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
      return new LedgerFault('unknown', `the ledger's database failed: ${message}`)
  }
}
