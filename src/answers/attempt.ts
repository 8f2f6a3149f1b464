import type { Dataset } from '../core/dataset/dataset.ts'
import { EntropyFailure } from '../core/mechanisms/samplers/entropy.ts'
import type { Chain } from '../ledger/contract/chain.ts'
import type { Failure, Suspension, Suspensions } from '../ledger/contract/suspension.ts'
import { LedgerFault } from '../ledger/fault.ts'
import { Refusal } from '../privacy/refusal.ts'
import type { Turn } from './admission.ts'
import { inFlight } from './charge.ts'
import { errorClassOf } from './failure.ts'
import { shownTime } from './release-time.ts'

/** An attempt to answer a request in its turn. */
export interface Attempt {
  readonly dataset: Pick<Dataset, 'failureLimit' | 'timing'>
  readonly turn: Turn
  /** Resolves at the next instant at which an outcome may be recorded. */
  readonly recordInstant: () => Promise<void>
  readonly recordFailure: (failure: Failure) => Promise<unknown>
  /** Makes the error that the caller receives. */
  readonly failed: (errorClass: string) => Error
}

/** A response document without the time of the answer, which is known when it is recorded. */
export interface Computed {
  readonly document: object
  /** Makes the body durable; returns false if a later attempt holds the charge. */
  readonly record: (body: string, answeredAtMs: number) => Promise<boolean>
}

/**
 * Computes an answer, and records it, or its failure, at a record instant. The turn ends at that instant, and the place at
 * the engine once everything is computed.
 * @returns the body: the document with `answeredAt`, the time of the record rounded down to the slot. The end of the
 * computation, which may depend on data, does not show in it.
 * @throws the error of {@link Attempt.failed} if it cannot be computed or recorded. A failure that may depend on data counts
 * towards the suspension of the dataset.
 * @throws Refusal `query-in-flight` if a later attempt holds the charge. Its answer counts, and this one is discarded.
 */
export async function completeAttempt(
  { leaseMs }: { readonly leaseMs: number },
  { dataset, turn, recordInstant, recordFailure, failed }: Attempt,
  compute: () => Promise<Computed>,
): Promise<string> {
  const fail = async (failure: CountableFailure): Promise<never> => {
    await recordInstant().then(turn.leave)
    // If the failure cannot be recorded either, the lease expires on its own. The debit stands in both cases.
    await recordFailure(failure).catch(() => undefined)
    throw failed(failure.errorClass)
  }
  const serialize = async () => {
    const { document, record } = await compute()
    return { text: JSON.stringify(document), record }
  }
  const { text, record } = await serialize()
    .finally(turn.leavePlace)
    .catch((error: unknown) => fail(failureOf(error, dataset)))
  await recordInstant().then(turn.leave)
  // Appended to the text, because serializing a large document takes longer than may pass before the release.
  const answeredAt = shownTime(new Date().toISOString(), dataset.timing)
  const body = `${text.slice(0, -1)},"answeredAt":"${answeredAt}"}`
  const stored = await record(body, Date.parse(answeredAt)).catch((error: unknown) =>
    fail({ ...failureOf(error, dataset), counts: false }),
  )
  if (stored) return body
  throw inFlight(leaseMs)
}

/** A failure as the ledger records it, with its class. */
type CountableFailure = Failure & Required<Pick<Failure, 'errorClass'>>

/**
 * Describes a failure for the ledger. A table whose columns have changed suspends its dataset at once, because its
 * declaration may no longer hold; other failures do so at the limit of the dataset.
 */
export function failureOf(error: unknown, { failureLimit }: Pick<Dataset, 'failureLimit'>): CountableFailure {
  const errorClass = errorClassOf(error)
  return {
    counts: mayDependOnData(error),
    limit: errorClass === TABLE_CHANGED ? 1 : failureLimit,
    errorClass,
  }
}

/** Class of the failure of a query whose table no longer has the columns of the registration. */
const TABLE_CHANGED = 'TableChanged'

/** Reason why a dataset is suspended, for its custodian. */
export type SuspensionReason = 'failures' | 'table-changed'

/** Returns the reason of a suspension; `undefined` if the dataset is not suspended. */
export function suspensionReason({ suspended, counted }: Suspension): SuspensionReason | undefined {
  if (!suspended) return undefined
  return counted.some(({ errorClass }) => errorClass === TABLE_CHANGED) ? 'table-changed' : 'failures'
}

/** Reads the reason why a dataset is suspended; `undefined` if it is not. */
export async function readSuspensionReason(
  ledger: Chain & Suspensions,
  dataset: string,
): Promise<SuspensionReason | undefined> {
  // Almost all datasets need no list of failures.
  if (!(await ledger.head(dataset))?.suspended) return undefined
  const suspension = await ledger.suspension(dataset)
  return suspension === undefined ? undefined : suspensionReason(suspension)
}

/**
 * True for a failure that may depend on the query and the data, such as a time or memory limit. False for failures that
 * every request meets: of the ledger, the source of randomness, the queue, or an engine that accepts no statements.
 */
export function mayDependOnData(error: unknown): boolean {
  if (error instanceof Refusal || error instanceof LedgerFault || error instanceof EntropyFailure)
    return false
  return errorClassOf(error) !== 'EngineUnavailable'
}
