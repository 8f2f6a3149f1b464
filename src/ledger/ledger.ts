import type { Accounting, Amount } from '../privacy/accounting.ts'
import type { PrivacyLoss } from '../privacy/loss.ts'
import type { Neighbours, PrivacyUnit } from '../privacy/neighbours.ts'
import type { ActKind } from './act.ts'

/** A dataset's budget. It is exact and is kept even if the dataset is deleted. */
export interface Budget {
  /** Sum of all grants, since the cap was last replaced. */
  readonly granted: PrivacyLoss
  /** The amount that the grants buy under the dataset's accounting. */
  readonly cap: Amount
  readonly spent: Amount
}

/** The part of a dataset's cap that one analyst may spend. */
export interface Allotment {
  readonly granted: PrivacyLoss
  /** The amount that it buys under the dataset's accounting. */
  readonly limit: Amount
}

/** The spending of one analyst on a dataset. */
export interface AnalystSpending {
  readonly principal: string
  /** If missing, only the dataset's cap limits the analyst. */
  readonly allotment?: Allotment
  /** Total spending, which the allotment limits. */
  readonly spent: Amount
  /** The part of `spent` that paid for shared releases, which the dataset was not debited for. */
  readonly spentOnShared: Amount
}

/** A reference to an event, as in a receipt. */
export interface EventReference {
  readonly sequence: number
  /** Hexadecimal. */
  readonly hash: string
}

/** The last event of a dataset's chain, or any other one. Its hash shows whether an export still contains it. */
export interface ChainHead extends EventReference {
  readonly dataset: string
}

/** The last event of a dataset's chain and the balances after it, read at one moment. */
export interface LedgerHead extends EventReference, SuspensionState {
  readonly budget: Budget
  /** Ordered by principal. */
  readonly spending: readonly AnalystSpending[]
}

/** The failures of a dataset that were counted since its last resumption. */
export interface SuspensionState {
  /** Number of failures. */
  readonly failures: number
  /** True if nothing is charged, retried or asked until the dataset is resumed. */
  readonly suspended: boolean
}

/** A failure after a charge, as it is recorded. */
export interface Failure {
  /** True if the failure may depend on data, and therefore counts towards the suspension of the dataset. */
  readonly counts: boolean
  /** Number of counted failures at which the dataset is suspended. */
  readonly limit: number
  /** Class name of the error. Another text than a class name is not recorded, because it could contain data. */
  readonly errorClass?: string
}

/** A counted failure. */
export interface CountedFailure {
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly at: string
  readonly principal: string
  /** Charge whose attempt failed; for a question of a session, the charge that opened the session. */
  readonly chargeId: string
  /** Missing if the class of the error is unknown. */
  readonly errorClass?: string
}

/** The suspension of a dataset, as the custodian sees it. */
export interface Suspension extends SuspensionState {
  /** The counted failures since the last resumption, oldest first; the latest 1,000 if there are more. */
  readonly counted: readonly CountedFailure[]
}

/** The outcome of {@link Ledger.resume}. */
export type ResumeOutcome =
  | { readonly kind: 'resumed' }
  /** The dataset is not suspended. Nothing was changed. */
  | { readonly kind: 'not-suspended' }
  | { readonly kind: 'no-budget' }

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
  /** Time limit for this attempt. After it, a repeated request starts another attempt. */
  readonly leaseMs: number
  /**
   * Bytes from which on nothing more is stored for the principal on this dataset. Answers that are under way when it is
   * reached are stored. Default: no limit.
   */
  readonly maxStoredBytes?: number
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
  /** The event that started this attempt. */
  readonly event: EventReference
}

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
  /** The remaining budget or allotment is less than the price. Nothing was debited. */
  | {
      readonly kind: 'denied'
      readonly by: 'dataset' | 'allotment'
      /** True if this repeats the permanent denial of a chosen key. */
      readonly sticks: boolean
      readonly budget: Budget
      readonly analyst: AnalystSpending
    }
  /** The principal has used this key for another request. Nothing was debited. */
  | { readonly kind: 'key-reused' }
  /** The dataset is suspended. Nothing was debited and no attempt was started. */
  | { readonly kind: 'suspended' }
  | StorageExceeded
  | { readonly kind: 'no-budget' }

/** The outcome of {@link Ledger.allot}. */
export type AllotOutcome =
  | { readonly kind: 'allotted'; readonly analyst: AnalystSpending }
  /** The analyst has already spent more. Nothing was changed. */
  | { readonly kind: 'below-spent'; readonly analyst: AnalystSpending }
  | { readonly kind: 'no-budget' }

/** One event of a dataset's history. */
export interface LedgerEntry {
  readonly sequence: number
  readonly dataset: string
  readonly kind:
    | 'opened'
    | 'granted'
    /** The cap was replaced before anything was spent. */
    | 'cap-replaced'
    /** An analyst's allotment was set or removed. */
    | 'allotted'
    /** The source of the dataset is registered under another id as well, with a budget of its own. */
    | 'source-reused'
    | 'charged'
    /** An analyst was debited for a shared release. The dataset was not. */
    | 'shared'
    | 'denied'
    | 'retried'
    | 'answered'
    | 'failed'
    /** A question of a sparse vector session was answered, under the charge that opened the session. */
    | 'session-answered'
    /** A question of a session failed, and the failure was counted. */
    | 'session-failed'
    /** The number of counted failures reached its limit. */
    | 'suspended'
    /** The custodian ended a suspension. */
    | 'resumed'
  /** ISO 8601, UTC. */
  readonly at: string
  readonly principal: string
  readonly chargeId?: string
  /** In `opened`, `granted`, `cap-replaced` and `allotted`. */
  readonly granted?: PrivacyLoss
  /** In `charged`, `shared` and `denied`. */
  readonly price?: Amount
  /** In `allotted`. */
  readonly analyst?: string
  /** In `granted`, `cap-replaced`, `allotted`, `resumed` and `source-reused`. */
  readonly reason?: string
  /** SHA-256 of the canonical event, which contains the previous hash; hexadecimal. */
  readonly hash: string
}

/** An administrative act to record. */
export interface NewAct {
  readonly kind: ActKind
  /** The principal who acts; `sotto` for the service itself. */
  readonly principal: string
  /** The thing acted on: the id of a key or dataset, or an address. At most 512 characters. */
  readonly subject: string
  /** Further public facts, at most 4,096 characters as JSON. Never a credential. */
  readonly facts?: ActFacts
}

/** Facts of an administrative act, by name. */
export type ActFacts = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A recorded administrative act. */
export interface Act extends Required<NewAct>, EventReference {
  /** ISO 8601, UTC. */
  readonly at: string
}

/** A stored event: its canonical text and the SHA-256 of it, which the next event contains. */
export interface StoredEvent {
  readonly canonical: string
  /** Hexadecimal. */
  readonly hash: string
}

/** A stored answer with its owner. */
export interface StoredRelease {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly answer: string
}

/** The facts about an answer by which the ledger lists it. */
export interface ReleaseFacts {
  /** Kind of the request, such as `count`. Default: the empty text. */
  readonly kind?: string
  /** Time that analysts see, in milliseconds since 1970. Default: the time of the store. */
  readonly answeredAtMs?: number
}

/** A position in a list of releases, which are ordered by time and then by id. */
export interface ReleasePosition {
  readonly answeredAtMs: number
  readonly id: string
}

/** A selection of releases. */
export interface ReleaseSelection {
  /** Only releases on these datasets. */
  readonly datasets: readonly string[]
  /** Only releases of this principal. Default: of all principals. */
  readonly principal?: string
  readonly kind?: string
  /** The earliest time, inclusive. */
  readonly fromMs?: number
  /** The latest time, exclusive. */
  readonly toMs?: number
  /** Only releases after this position of the list. */
  readonly after?: ReleasePosition
  /** Largest number of releases, at most 1,000. */
  readonly limit: number
}

/** A stored answer with the facts about its charge. */
export interface ListedRelease extends StoredRelease, Required<ReleaseFacts> {
  readonly datasetVersion: string
  /** The canonical request. */
  readonly request: string
  readonly price: Amount
  /** True if another analyst had paid for the release. */
  readonly shared: boolean
}

/** A page of releases, newest first. */
export interface ReleasePage {
  readonly releases: readonly ListedRelease[]
  /** Position of the last release; missing on the last page. */
  readonly next?: ReleasePosition
}

/** The number of stored charges per dataset among those of one page. */
export interface ChargeCounts {
  readonly counts: ReadonlyMap<string, number>
  /** Missing on the last page. */
  readonly next?: string
}

/** A stored charge, for comparison with the events. */
export interface ChargeRecord {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly requestHash: string
  readonly price: Amount
  readonly state: 'charged' | 'answered' | 'failed' | 'denied'
  readonly attempt: number
  readonly sharedFrom?: string
  /** SHA-256 of the stored answer, hexadecimal. */
  readonly answerHash?: string
}

/** The immutable state of a sparse vector session. */
export interface NewSession {
  /** Number of answers "above" after which the session is used up. */
  readonly positives: number
  /** The public parameters of the session, in the format of the caller. */
  readonly terms: string
  /** Noise of the threshold. Secret: only the computation of answers may use it. */
  readonly thresholdNoise: bigint
}

/** The part of a session that its owner may see. */
export interface StoredSession {
  /** Id of the charge that opened the session. */
  readonly id: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly principal: string
  /** Answer of that charge. */
  readonly opening: string
  /** Number of answered questions. */
  readonly answered: number
  readonly positivesLeft: number
}

/** The identity of a question of a session. */
export interface SessionQuestion {
  readonly session: string
  /** Unique per session. */
  readonly idempotencyKey: string
  /** SHA-256 of the canonical request, hexadecimal. A key that is reused with another hash is refused. */
  readonly requestHash: string
  /** As in a {@link ChargeRequest}. */
  readonly maxStoredBytes?: number
}

/** The outcome of {@link Ledger.sessionQuestion}. */
export type SessionQuestionOutcome =
  /** It may be answered as the question with this number. */
  | ({
      readonly kind: 'open'
      readonly question: number
      readonly positivesFound: number
      /** The last event of the dataset. The event of the answer comes after it. */
      readonly head: EventReference
    } & NewSession)
  /** It is already answered. `answer` is the stored answer, byte for byte. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** The key was used for another question. */
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'used-up' }
  /** The dataset is suspended. */
  | { readonly kind: 'suspended' }
  | StorageExceeded
  | { readonly kind: 'no-session' }

/** An answer of a session, to be stored. */
export interface SessionAnswer extends SessionQuestion {
  /** The number that {@link Ledger.sessionQuestion} returned. */
  readonly question: number
  /** The canonical request, kept for audits. */
  readonly request: string
  readonly above: boolean
  readonly answer: string
}

/** A stored answer of a session. */
export interface StoredSessionAnswer {
  readonly question: number
  readonly request: string
  readonly answer: string
}

/** The outcome of {@link Ledger.replaceCap}. */
export type ReplaceOutcome =
  | { readonly kind: 'replaced'; readonly budget: Budget }
  /** Something was spent. Nothing was changed. */
  | { readonly kind: 'spent'; readonly budget: Budget }
  | { readonly kind: 'no-budget' }

/** The outcome of {@link Ledger.openBudget}. */
export type OpenOutcome =
  | { readonly kind: 'opened' }
  /** A budget already exists for this id, possibly of a deleted dataset. It is unchanged. */
  | { readonly kind: 'exists'; readonly budget: Budget }
  | SourceRefusal

/** A source that must not be registered. Nothing was changed. */
export interface SourceRefusal {
  readonly kind: 'source-refused'
  /**
   * - `registered-as-real`: the source is to be registered as synthetic, and it or the id was registered as real;
   * - `registered-elsewhere`: the source has a budget under another id, and no reason for a second one is given.
   */
  readonly because: 'registered-as-real' | 'registered-elsewhere'
}

/** A source of a dataset's rows. */
export interface NewSource {
  /** SHA-256 of the source, hexadecimal. It would confirm a guess of the whole file, so it is in no event. */
  readonly digest: string
  /** True if the rows describe no real person. */
  readonly synthetic: boolean
  /** Reason for a budget of its own if the source is registered under another id as well. */
  readonly separateBudget?: string
}

/** A budget to open. */
export interface NewBudget {
  readonly accounting: Accounting
  readonly granted: PrivacyLoss
  /** The neighbours that its charges are priced for. They are only recorded. */
  readonly neighbours: Neighbours
  /** The privacy unit that its charges are priced for, recorded as well. Default: a row. */
  readonly privacyUnit?: PrivacyUnit
  /** True if the data describe no real person, recorded as well. Default: false. */
  readonly synthetic?: boolean
  /** The source of the rows, if it can be identified. It is recorded even if the budget exists. */
  readonly source?: NewSource
}

/** An allotment to set. */
export interface NewAllotment {
  readonly dataset: string
  readonly analyst: string
  /** If missing, the allotment is removed. If 0, the analyst may not spend more than they have. */
  readonly granted?: PrivacyLoss
  /** The principal who sets it. */
  readonly principal: string
  readonly reason: string
}

/** The budget ledger. The effect of every method is durable when its promise resolves. */
export interface Ledger {
  /**
   * Opens the budget of a dataset id. An existing budget is never changed.
   *
   * The digest of a source is kept forever. A source or an id that was registered as real is never registered as
   * synthetic, and a source of real data is registered under a second id only for a reason, which becomes an event.
   * @throws RangeError if the grant is out of range.
   */
  openBudget(dataset: string, budget: NewBudget, principal: string): Promise<OpenOutcome>
  /**
   * Records the source of a dataset that has a budget, as {@link Ledger.openBudget} does.
   * @returns `undefined` if the source is recorded
   */
  registerSource(
    dataset: string,
    source: NewSource,
    principal: string,
  ): Promise<SourceRefusal | { readonly kind: 'no-budget' } | undefined>
  /**
   * Raises a cap.
   * @returns the new budget; `undefined` if the dataset has none
   * @throws RangeError if the cap would exceed its largest value.
   */
  grant(dataset: string, amount: PrivacyLoss, principal: string, reason: string): Promise<Budget | undefined>
  /**
   * Replaces the cap of a budget from which nothing was spent, by a larger or smaller one. The same cap again changes
   * nothing.
   * @throws RangeError if the cap is out of range.
   */
  replaceCap(
    dataset: string,
    granted: PrivacyLoss,
    principal: string,
    reason: string,
  ): Promise<ReplaceOutcome>
  /** Sets or removes the allotment of an analyst. */
  allot(allotment: NewAllotment): Promise<AllotOutcome>
  /** Reads a budget; `undefined` if the dataset has none. */
  budget(dataset: string): Promise<Budget | undefined>
  /** Reads the spending of an analyst, which is 0 for an unknown one; `undefined` if the dataset has no budget. */
  analystSpending(dataset: string, principal: string): Promise<AnalystSpending | undefined>
  /**
   * Reads the head of the chain of a dataset, or of `ADMINISTRATION`, with all balances; `undefined` if the dataset has
   * no budget, or if no act was recorded.
   */
  head(dataset: string): Promise<LedgerHead | undefined>
  /** Reads the last event of every chain, ordered by dataset, at one moment. */
  heads(): Promise<readonly ChainHead[]>
  /** Lists every dataset id that has a budget, in order. */
  datasets(): Promise<readonly string[]>
  /** Debits a request, or returns its stored answer. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>
  /**
   * Records the answer of a charge.
   * @returns false if `attempt` is not the latest or has ended; the answer must then be discarded
   */
  recordAnswer(id: string, attempt: number, answer: string, facts?: ReleaseFacts): Promise<boolean>
  /**
   * Records the answer of a charge and opens the session that it pays for. Both are durable, or neither is.
   * @returns false if both must be discarded, as for {@link Ledger.recordAnswer}
   */
  openSession(
    id: string,
    attempt: number,
    answer: string,
    session: NewSession,
    facts?: ReleaseFacts,
  ): Promise<boolean>
  /** Reads a session by the id of its charge. */
  session(id: string): Promise<StoredSession | undefined>
  /** Finds out how a question of a session may be answered. Changes nothing. */
  sessionQuestion(question: SessionQuestion): Promise<SessionQuestionOutcome>
  /**
   * Records the next answer of a session that has positives left, under a new key.
   * @returns false if it is no longer the next answer; it must then be discarded
   */
  recordSessionAnswer(answer: SessionAnswer): Promise<boolean>
  /** Lists the answers of a session, newest first: at most `limit`, before `beforeQuestion` if given. */
  sessionAnswers(
    id: string,
    page: { readonly limit: number; readonly beforeQuestion?: number },
  ): Promise<readonly StoredSessionAnswer[]>
  /**
   * Records that an attempt failed. The debit stays, and a repeated request can start another attempt at once, unless
   * the failure suspends the dataset. Does nothing if `attempt` is not the latest or has ended.
   * @param failure default: a failure that does not count
   */
  recordFailure(id: string, attempt: number, failure?: Failure): Promise<void>
  /**
   * Counts the failure of a question of a session, which can suspend the dataset. Does nothing for a failure that does
   * not count, or if there is no such session.
   */
  recordQuestionFailure(session: string, failure: Failure): Promise<void>
  /** Reads the suspension of a dataset; `undefined` if it has no budget. */
  suspension(dataset: string): Promise<Suspension | undefined>
  /** Ends the suspension of a dataset and counts its failures from 0 again. */
  resume(dataset: string, principal: string, reason: string): Promise<ResumeOutcome>
  /**
   * Appends an act to the chain of administrative acts.
   * @throws RangeError if a text is empty or too long.
   */
  recordAct(act: NewAct): Promise<EventReference>
  /** Lists the administrative acts, newest first: at most `limit`, before `beforeSequence` if given. */
  acts(page: { readonly limit: number; readonly beforeSequence?: number }): Promise<readonly Act[]>
  /** Lists the history, newest first: at most `limit`, before `beforeSequence` and of `principal` if given. */
  entries(
    dataset: string,
    page: { readonly limit: number; readonly beforeSequence?: number; readonly principal?: string },
  ): Promise<readonly LedgerEntry[]>
  /**
   * Lists the stored events of a dataset, or of `ADMINISTRATION`, oldest first: at most `limit` (1,000), after
   * `afterSequence`.
   */
  events(
    dataset: string,
    page: { readonly limit: number; readonly afterSequence: number },
  ): Promise<readonly StoredEvent[]>
  /**
   * Lists releases, newest first. The releases of one time are in descending order of their ids, which does not depend on
   * the order of the charges. A page ends early once its answers are large.
   * @throws RangeError if the selection is out of range.
   */
  releases(selection: ReleaseSelection): Promise<ReleasePage>
  /** Reads the answer of a charge. */
  release(id: string): Promise<StoredRelease | undefined>
  /**
   * Reads charges by id, in any order. Ids that are not found are omitted. Reads all their answers, which may be large.
   * @throws RangeError for more than 1,000 ids.
   */
  chargeRecords(ids: readonly string[]): Promise<readonly ChargeRecord[]>
  /**
   * Reads the canonical requests of charges, by id. Ids that are not found, and those of denied charges, are omitted.
   * @throws RangeError for more than 1,000 ids.
   */
  requests(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /**
   * Counts stored charges per dataset, including denied ones, a page at a time.
   * @param after the `next` of the page before; missing for the first page
   */
  chargeCounts(after?: string): Promise<ChargeCounts>
  /** Finds the largest dataset version of a charge; 0 if there is none. Reads every charge. */
  lastDatasetVersion(dataset: string): Promise<number>
  /**
   * Runs a task while no other process that shares the ledger runs one. For other resources that replicas share.
   * @param task must await `requireAlone` just before it publishes its work, which rejects if the exclusive access may
   *   be lost
   */
  exclusively<Result>(task: (requireAlone: () => Promise<void>) => Promise<Result>): Promise<Result>
  /** True if the store answers. */
  healthy(): Promise<boolean>
  /** Completes the calls under way, then closes the store. */
  close(): Promise<void>
}

/**
 * Reason for the failure of a ledger:
 * - `in-use`: the store is open in another process, or already in this one;
 * - `unusable`: the store is not a ledger, is from a newer release, is corrupt, or cannot be written;
 * - `unknown`: the commit failed, and the operation may or may not be durable: consider its cost as spent and repeat
 *   it;
 * - `stopped`: the store met an error after which it must not continue. Operations that were under way are `unknown`
 *   too, and a restart recovers what is durable;
 * - `closed`: {@link Ledger.close} was called before.
 */
export type LedgerFaultKind = 'in-use' | 'unusable' | 'unknown' | 'stopped' | 'closed'

/** A failure of the store itself, not of one request. No operation was acknowledged. */
export class LedgerFault extends Error {
  readonly kind: LedgerFaultKind

  constructor(kind: LedgerFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'LedgerFault'
    this.kind = kind
  }
}
