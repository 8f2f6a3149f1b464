import type { Amount } from '../../privacy/accounting.ts'
import type { AnalystSpending, Balances, Budget } from './budgets.ts'
import type { EventReference } from './chain.ts'
import type { ReleaseFacts, StoredRelease } from './releases.ts'
import type { Failure } from './suspension.ts'

/** A request to pay for a question. */
export interface ChargeRequest {
  readonly dataset: string
  /** An integer in decimal digits. */
  readonly datasetVersion: string
  readonly principal: string
  /** Unique per principal. */
  readonly idempotencyKey: string
  /**
   * True if the client chose the key. A denial of the key is then permanent, and the charge gets fresh noise instead of
   * a shared release.
   */
  readonly keyChosen: boolean
  /** SHA-256 of the canonical request, hexadecimal. A key that is reused with another hash is refused. */
  readonly requestHash: string
  /** The canonical request, kept for audits, except that of a denied charge. */
  readonly request: string
  /** In the units of the dataset's accounting. */
  readonly price: Amount
  /** True if analysts of the dataset share releases. */
  readonly sharing: boolean
  /**
   * Ids of the principal's own charges on the dataset from whose releases the answer follows, in order. The price is then 0, and
   * no data is read.
   */
  readonly parents?: readonly string[]
  /** Time limit for this attempt. After it, a repeated request starts another attempt. */
  readonly leaseMs: number
  /** Within which a new debit must be made, by the clock of the ledger: from the first instant to before the second. */
  readonly within?: Span
  /**
   * Bytes from which on nothing more is stored for the principal on this dataset. Answers that are under way when it is
   * reached are stored. Default: no limit.
   */
  readonly maxStoredBytes?: number
}

/** A span of time, in milliseconds since 1970. It ends before `untilMs`. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** The outcome of a request that would store more than the principal may store on a dataset. Nothing was changed. */
export interface StorageExceeded {
  readonly kind: 'storage-exceeded'
  /**
   * `bytes`: the stored requests and answers have reached the limit of the request. `denials`: the request would be
   * denied, and no more denials of the principal are recorded. Without a record the denial of a chosen key could not be
   * permanent.
   */
  readonly by: 'bytes' | 'denials'
  readonly storedBytes: number
}

/** A debit under which an answer may be computed and recorded. Only the latest attempt can record it. */
export interface Charge {
  readonly id: string
  readonly attempt: number
  /** The budget after the debit, or at the start of a further attempt. */
  readonly budget: Budget
  /** The analyst's allotment and spending. */
  readonly analyst: AnalystSpending
  /** Time of the debit, in milliseconds since 1970. */
  readonly debitedAtMs: number
  /** The event that started this attempt. */
  readonly event: EventReference
  /** The debit of the population, if the dataset belongs to one. */
  readonly population?: PopulationDebit
}

/** A debit of a population, made together with that of one of its datasets. */
export interface PopulationDebit extends Balances {
  /** Account of the population. */
  readonly account: string
  /** The event of the debit; missing for a further attempt, which debits nothing, and for an inferred answer. */
  readonly event?: EventReference
}

/** A limit that a price can exceed: a cap or an allotment, of the dataset or of its population. */
export type Limit = 'dataset' | 'allotment' | 'population' | 'population-allotment'

/** The outcome of a {@link ChargeRequest}. It is durable when it is returned. */
export type ChargeOutcome =
  /** Debited now, or by an earlier attempt without an answer. The caller computes the answer. */
  | { readonly kind: 'charged'; readonly charge: Charge }
  /**
   * Another analyst paid for the same question. The analyst is debited and the dataset is not. The caller answers with
   * the stored release `shared` and must not read data.
   */
  | { readonly kind: 'shared'; readonly charge: Charge; readonly shared: StoredRelease }
  /** The charge is already answered. `answer` is the stored answer, byte for byte. Nothing was debited. */
  | { readonly kind: 'answered'; readonly id: string; readonly answer: string }
  /** An attempt is under way and its lease has not expired. */
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  /** The remaining budget or allotment, of the dataset or of its population, is less than the price. Nothing was debited. */
  | {
      readonly kind: 'denied'
      readonly by: Limit
      /** The balances of the population, if the dataset belongs to one. */
      readonly population?: Omit<PopulationDebit, 'event'>
      /** True if this repeats the permanent denial of a chosen key. */
      readonly sticks: boolean
      readonly budget: Budget
      readonly analyst: AnalystSpending
    }
  /** The principal has used this key for another request. Nothing was debited. */
  | { readonly kind: 'key-reused' }
  /** The clock of the ledger shows a time that is not within the span of the request. Nothing was debited. */
  | { readonly kind: 'other-time'; readonly nowMs: number }
  /** The dataset is suspended. Nothing was debited and no attempt was started. */
  | { readonly kind: 'suspended' }
  | StorageExceeded
  | { readonly kind: 'no-budget' }

/** An outcome with a charge or its stored answer. */
export type Charged = Extract<ChargeOutcome, { readonly kind: 'charged' | 'shared' | 'answered' }>

/** The outcome of several {@link ChargeRequest}s, which are debited together or not at all. */
export type ChargesOutcome =
  | { readonly kind: 'charged'; readonly outcomes: readonly Charged[] }
  /** One of them is refused. Nothing was debited; a denial is recorded. */
  | {
      readonly kind: 'refused'
      /** Place of the first request that is refused. */
      readonly place: number
      /** Its outcome, with the balances before any of the requests. */
      readonly outcome: Exclude<ChargeOutcome, Charged>
      /** Sum of the prices of those requests that are not paid for. */
      readonly unpaid: Amount
    }

/** The charges and their attempts. The effect of every method is durable when its promise resolves. */
export interface Charges {
  /** Debits a request, or returns its stored answer. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>
  /**
   * Decides several requests in one transaction, each as {@link Charges.charge} does after those before it, so that a population
   * is debited the sum of their prices. All of them are debited, or none.
   * @param requests each about another dataset, all in the accounting of one population
   */
  chargeAll(requests: readonly ChargeRequest[]): Promise<ChargesOutcome>
  /**
   * Records the answer of a charge.
   * @returns false if `attempt` is not the latest or has ended; the answer must then be discarded
   */
  recordAnswer(id: string, attempt: number, answer: string, facts?: ReleaseFacts): Promise<boolean>
  /**
   * Records that an attempt failed. The debit stays, and a repeated request can start another attempt at once, unless
   * the failure suspends the dataset. Does nothing if `attempt` is not the latest or has ended.
   * @param failure default: a failure that does not count
   */
  recordFailure(id: string, attempt: number, failure?: Failure): Promise<void>
}
