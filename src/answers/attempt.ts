import type { Dataset } from '../catalog/dataset.ts'
import { type Charge, type Failure, type Ledger, LedgerFault, type Suspension } from '../ledger/ledger.ts'
import { EntropyFailure } from '../mechanisms/samplers/entropy.ts'
import { Refusal } from '../privacy/refusal.ts'
import { inFlight } from './charge.ts'
import { AnswerFailure, errorClassOf } from './failure.ts'
import { shownTime } from './release-time.ts'

/** An attempt to answer a charged request. */
export interface Attempt {
  readonly charge: Pick<Charge, 'id' | 'attempt'>
  readonly dataset: Pick<Dataset, 'failureLimit' | 'timing'>
  /** Resolves at the next instant at which an outcome may be recorded. */
  readonly recordInstant: () => Promise<void>
}

/** A response document without the time of the answer, which is known when it is recorded. */
export interface Computed {
  /** JSON of an object. */
  readonly document: string
  /** Makes the body durable; returns false if a later attempt holds the charge. */
  readonly record: (body: string, answeredAtMs: number) => Promise<boolean>
}

/**
 * Computes the answer of a charged request and records it, or its failure, at a record instant.
 * @returns the body: the document with `answeredAt`, the time of the record rounded down to the slot. The end of the
 * computation, which may depend on data, does not show in it.
 * @throws AnswerFailure if it cannot be computed or recorded. A failure that may depend on data counts towards the
 * suspension of the dataset.
 * @throws Refusal `query-in-flight` if a later attempt holds the charge. Its answer counts, and this one is discarded.
 */
export async function completeAttempt(
  { ledger, leaseMs }: { readonly ledger: Ledger; readonly leaseMs: number },
  { charge: { id, attempt }, dataset, recordInstant }: Attempt,
  compute: () => Promise<Computed>,
): Promise<string> {
  const fail = async (failure: CountableFailure): Promise<never> => {
    await recordInstant()
    // If the failure cannot be recorded either, the lease expires on its own. The debit stands in both cases.
    await ledger.recordFailure(id, attempt, failure).catch(() => undefined)
    throw new AnswerFailure(id, failure.errorClass)
  }
  const { document, record } = await compute().catch((error: unknown) => fail(failureOf(error, dataset)))
  await recordInstant()
  // Appended to the text, because serializing a large document takes longer than may pass before the release.
  const answeredAt = shownTime(new Date().toISOString(), dataset.timing)
  const body = `${document.slice(0, -1)},"answeredAt":"${answeredAt}"}`
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
  ledger: Pick<Ledger, 'head' | 'suspension'>,
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
