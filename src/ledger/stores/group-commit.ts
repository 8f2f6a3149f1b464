import { setImmediate as nextTurn } from 'node:timers/promises'
import { LedgerFault } from '../fault.ts'
import type { OperationArguments, OperationName, OperationResults } from '../ledger.ts'
import type { Call, Settled } from './operation.ts'

/** Further calls are refused while this many wait: the store is unavailable or too slow. */
const MAX_QUEUE_LENGTH = 20_000

/** A call and the promise that its caller waits for. */
export interface QueuedCall<Name extends OperationName = OperationName> {
  readonly call: Call<Name>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions<Name extends OperationName> {
  /** Limits the size of a transaction, and how long its callers wait for it. */
  readonly maxBatchSize: number
  /** Carries out the calls in order, in one transaction. Once it resolves, every returned result is durable. */
  readonly commit: (calls: readonly Call<Name>[]) => Promise<readonly Settled[]>
  /**
   * Divides a batch that could not be committed into parts that are tried separately, in order. One part means that its
   * callers get the error. The default is {@link splitUnlessFault}.
   */
  readonly split?: (
    batch: readonly QueuedCall<Name>[],
    failure: unknown,
  ) => readonly (readonly QueuedCall<Name>[])[]
}

/** Collects concurrent calls into batches, each of which is one transaction of the store. */
export interface GroupCommit<Name extends OperationName> {
  /**
   * Adds a call to the next batch.
   * @returns its result, once it is durable; rejects with the error of the call or of its batch
   */
  submit<Each extends Name>(operation: Each, args: OperationArguments[Each]): Promise<OperationResults[Each]>
  /** Rejects the queued calls and all later ones. */
  stop(fault: LedgerFault): void
  /** Rejects later calls, and resolves when the queued ones are done. */
  close(): Promise<void>
  /** The number of calls answered, and of transactions committed. */
  statistics(): { readonly calls: number; readonly commits: number }
}

/** Creates a queue that commits one batch at a time. All calls that arrive during a commit form the next batch. */
export function createGroupCommit<Name extends OperationName>({
  maxBatchSize,
  commit,
  split = splitUnlessFault,
}: GroupCommitOptions<Name>): GroupCommit<Name> {
  let queue: QueuedCall<Name>[] = []
  let working: Promise<void> | undefined
  let refusal: LedgerFault | undefined
  /** The fault with which the store stopped. Nothing is committed after it. */
  let stopped: LedgerFault | undefined
  let calls = 0
  let commits = 0

  function submit<Each extends Name>(
    operation: Each,
    args: OperationArguments[Each],
  ): Promise<OperationResults[Each]> {
    if (refusal !== undefined) return Promise.reject(refusal)
    if (queue.length >= MAX_QUEUE_LENGTH)
      return Promise.reject(new LedgerFault('unknown', 'too many calls are waiting for the ledger'))
    const { promise, resolve, reject } = Promise.withResolvers<OperationResults[Each]>()
    queue.push({ call: { operation, args } as Call<Name>, resolve, reject })
    working ??= work()
    return promise
  }

  async function work(): Promise<void> {
    for (;;) {
      // Callers that were just answered can add their next call to this batch.
      await nextTurn()
      if (queue.length === 0) break
      const batch = queue.slice(0, maxBatchSize)
      queue = queue.slice(maxBatchSize)
      await carryOut(batch)
    }
    working = undefined
  }

  /** Settles every call of the batch. Never rejects. */
  async function carryOut(batch: readonly QueuedCall<Name>[]): Promise<void> {
    let settled: readonly Settled[]
    try {
      // The store may have stopped during an earlier part of a divided batch. It would never answer.
      if (stopped !== undefined) throw stopped
      settled = await commit(batch.map(({ call }) => call))
      commits += 1
    } catch (failure) {
      const parts = split(batch, failure)
      if (parts.length > 1) {
        for (const part of parts) await carryOut(part)
        return
      }
      calls += batch.length
      for (const { reject } of batch) reject(failure)
      return
    }
    calls += batch.length
    for (const [index, { resolve, reject }] of batch.entries()) {
      const each = settled[index]
      if (each?.kind === 'done') resolve(each.result as never)
      else reject(each?.error ?? new Error('a call of the ledger was not answered'))
    }
  }

  return {
    submit,
    stop(fault) {
      refusal ??= fault
      stopped ??= fault
      for (const { reject } of queue) reject(fault)
      queue = []
    },
    async close() {
      refusal ??= new LedgerFault('closed', 'the ledger is closed')
      await working
    },
    statistics: () => ({ calls, commits }),
  }
}

/** Divides a batch in two, so that a call that the store refuses is found without failing the others. */
export function halves<Item>(batch: readonly Item[]): readonly (readonly Item[])[] {
  const middle = Math.ceil(batch.length / 2)
  return [batch.slice(0, middle), batch.slice(middle)].filter((part) => part.length > 0)
}

/** A fault concerns the whole batch; any other error, one of its calls. */
function splitUnlessFault<Item>(batch: readonly Item[], failure: unknown): readonly (readonly Item[])[] {
  return failure instanceof LedgerFault ? [batch] : halves(batch)
}
