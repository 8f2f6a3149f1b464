import type { Accounting, Amount } from '../privacy/accounting.ts'
import type { PrivacyLoss } from '../privacy/loss.ts'
import type { Neighbours } from '../privacy/neighbours.ts'

/** A dataset's budget: exact, and never forgotten, whatever happens to the dataset. */
export interface Budget {
  /** What was granted, all grants together. */
  readonly granted: PrivacyLoss
  /** What the grants buy under the dataset's accounting. */
  readonly cap: Amount
  readonly spent: Amount
}

/** How much of a dataset's cap one analyst may spend. */
export interface Allotment {
  readonly granted: PrivacyLoss
  /** What that buys under the dataset's accounting. */
  readonly limit: Amount
}

/** What one analyst has spent of a dataset. */
export interface AnalystSpending {
  readonly principal: string
  /** Left out: the dataset's cap alone limits them. */
  readonly allotment?: Allotment
  /** All that they paid, which is what their allotment is held against. */
  readonly spent: Amount
  /** The part of it that they paid for releases of others, and that the dataset was not charged again. */
  readonly spentOnShared: Amount
}

/** One event, as a receipt names it. */
export interface EventReference {
  readonly sequence: number
  /** Hexadecimal. */
  readonly hash: string
}

/** The end of a dataset's chain, and what its events amount to, all of one moment. */
export interface LedgerHead extends EventReference {
  readonly budget: Budget
  /** In the order of their names. */
  readonly spending: readonly AnalystSpending[]
}

/** What a question wants to pay, and what identifies it. */
export interface ChargeRequest {
  readonly dataset: string
  /** A whole number in decimal digits. */
  readonly datasetVersion: string
  readonly principal: string
  /** Unique per principal. */
  readonly idempotencyKey: string
  /**
   * Whether the principal chose the key. A denial then sticks to it, and a release of others does not stand in for the
   * fresh one that was asked for.
   */
  readonly keyChosen: boolean
  /** SHA-256 of the canonical request, hexadecimal: the same key with another hash is refused. */
  readonly requestHash: string
  /** The canonical request, for the audit. */
  readonly request: string
  /** In the units of the dataset's accounting. */
  readonly price: Amount
  /** Whether the dataset lets analysts share releases. */
  readonly sharing: boolean
  /** How long this attempt may take before a repeat of the question may take the charge over. */
  readonly leaseMs: number
}

/** A debit under which an answer may be computed and stored. `attempt` fences out earlier attempts. */
export interface Charge {
  readonly id: string
  readonly attempt: number
  /** The budget right after the debit (for a further attempt: now). */
  readonly budget: Budget
  /** What the analyst may still spend of it, and has. */
  readonly analyst: AnalystSpending
  /** The event that this attempt rests on. */
  readonly event: EventReference
}

/** What became of a {@link ChargeRequest}; durable when it is returned. */
export type ChargeOutcome =
  /** Debited now, or earlier by an attempt that left no answer: the caller computes the answer. */
  | { readonly kind: 'charged'; readonly charge: Charge }
  /**
   * Another analyst paid for the same question before: the analyst's allotment is debited, the dataset is not, and the
   * caller answers with the stored answer `shared`. No data may be read.
   */
  | { readonly kind: 'shared'; readonly charge: Charge; readonly shared: StoredRelease }
  /** This question was answered before: the stored answer, byte for byte. Nothing was debited. */
  | { readonly kind: 'answered'; readonly id: string; readonly answer: string }
  /** An attempt is under way and its lease has not run out. */
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  /** What is left does not suffice, of the dataset's budget or of the analyst's allotment. Nothing was debited. */
  | {
      readonly kind: 'denied'
      readonly by: 'dataset' | 'allotment'
      /** Whether it is the denial of before, which sticks to the key whatever is left now. */
      readonly sticks: boolean
      readonly budget: Budget
      readonly analyst: AnalystSpending
    }
  /** The principal used this key for another request. Nothing was debited. */
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'no-budget' }

/** What became of a change of an analyst's allotment. */
export type AllotOutcome =
  | { readonly kind: 'allotted'; readonly analyst: AnalystSpending }
  /** The analyst has spent more than that already: nothing was changed. */
  | { readonly kind: 'below-spent'; readonly analyst: AnalystSpending }
  | { readonly kind: 'no-budget' }

/** One event of a dataset's history, in the order in which it became durable. */
export interface LedgerEntry {
  readonly sequence: number
  readonly dataset: string
  readonly kind:
    | 'opened'
    | 'granted'
    /** An analyst's allotment was set, or lifted. */
    | 'allotted'
    | 'charged'
    /** Debited from an analyst's allotment alone, for a release that another paid for. */
    | 'shared'
    | 'denied'
    | 'retried'
    | 'answered'
    | 'failed'
    /** One question of a sparse vector session, under the charge that opened it. */
    | 'session-answered'
  /** ISO 8601, UTC. */
  readonly at: string
  readonly principal: string
  readonly chargeId?: string
  /** Of opened, granted and allotted: the (epsilon, delta) in question. */
  readonly granted?: PrivacyLoss
  /** Of charged, shared and denied. */
  readonly price?: Amount
  /** Whose allotment was set. */
  readonly analyst?: string
  /** Why a cap was raised, or an allotment set. */
  readonly reason?: string
  /** SHA-256 over the canonical event with the previous event's hash, hexadecimal. */
  readonly hash: string
}

/** An event as it is stored: the canonical text, and the SHA-256 over it that the next event names. */
export interface StoredEvent {
  readonly canonical: string
  /** Hexadecimal. */
  readonly hash: string
}

/** A stored answer and who owns it. */
export interface StoredRelease {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly answer: string
}

/** What is stored of a charge beside the events, to be held against them. */
export interface ChargeRecord {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly requestHash: string
  readonly price: Amount
  readonly state: 'charged' | 'answered' | 'failed' | 'denied'
  readonly attempt: number
  readonly sharedFrom?: string
  /** SHA-256 of its stored answer, hexadecimal. */
  readonly answerHash?: string
}

/** The state of a sparse vector session that is opened, and that never changes. */
export interface NewSession {
  /** After so many answers "above" the session is used up. */
  readonly positives: number
  /** What its answers follow from and everybody may know, written as its owner likes. */
  readonly terms: string
  /** The noise of its threshold: a secret, for whoever computes its answers and nobody else. */
  readonly thresholdNoise: bigint
}

/** What a session's owner may see of it. */
export interface StoredSession {
  /** The id of the charge that opened it. */
  readonly id: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly principal: string
  /** The answer of that charge. */
  readonly opening: string
  /** How many questions were answered. */
  readonly answered: number
  readonly positivesLeft: number
}

/** What identifies a question of a session. */
export interface SessionQuestion {
  readonly session: string
  /** Unique per session. */
  readonly idempotencyKey: string
  /** SHA-256 of the canonical request, hexadecimal: the same key with another hash is refused. */
  readonly requestHash: string
}

/** What a question of a session meets. */
export type SessionQuestionOutcome =
  /** It may be answered, as the session's question of this number. */
  | ({
      readonly kind: 'open'
      readonly question: number
      readonly positivesFound: number
      /** The end of the dataset's chain: the answer's event comes after it. */
      readonly head: EventReference
    } & NewSession)
  /** It was answered before: the stored answer, byte for byte. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** The key was used for another question. */
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'used-up' }
  | { readonly kind: 'no-session' }

/** An answer to store. */
export interface SessionAnswer extends SessionQuestion {
  /** The number under which the question was found to be open. */
  readonly question: number
  /** The canonical request, for the audit. */
  readonly request: string
  readonly above: boolean
  readonly answer: string
}

/** An answer as it was stored. */
export interface StoredSessionAnswer {
  readonly question: number
  readonly request: string
  readonly answer: string
}

/** What became of an attempt to open a budget. */
export type OpenOutcome =
  | { readonly kind: 'opened' }
  /** The dataset's id has a budget already, perhaps from a dataset that was deleted: it stays as it is. */
  | { readonly kind: 'exists'; readonly budget: Budget }

/** A budget to open. */
export interface NewBudget {
  readonly accounting: Accounting
  readonly granted: PrivacyLoss
  /** What its charges are priced for; only written down. */
  readonly neighbours: Neighbours
}

/** An allotment to set. */
export interface NewAllotment {
  readonly dataset: string
  readonly analyst: string
  /** Left out: the limit is lifted. Nothing: they may spend no more than they have. */
  readonly granted?: PrivacyLoss
  /** Who sets it. */
  readonly principal: string
  readonly reason: string
}

/** The budget ledger: every method is durable when its promise resolves. */
export interface Ledger {
  /**
   * Open the budget of a dataset id; an existing one is never changed.
   * @throws RangeError where it is more than a budget holds.
   */
  openBudget(dataset: string, budget: NewBudget, principal: string): Promise<OpenOutcome>
  /** Raise a cap. `undefined` where the dataset has no budget; RangeError where the cap would pass its largest value. */
  grant(dataset: string, amount: PrivacyLoss, principal: string, reason: string): Promise<Budget | undefined>
  /** Limit what one analyst may spend of a dataset's cap, or lift the limit. */
  allot(allotment: NewAllotment): Promise<AllotOutcome>
  budget(dataset: string): Promise<Budget | undefined>
  /** Of one analyst who has spent nothing and has no allotment: nothing spent. `undefined` without a budget. */
  analystSpending(dataset: string, principal: string): Promise<AnalystSpending | undefined>
  /** The end of the chain with all balances, as they were at one moment; `undefined` without a budget. */
  head(dataset: string): Promise<LedgerHead | undefined>
  /** Every dataset id that ever had a budget, in order. */
  datasets(): Promise<readonly string[]>
  charge(request: ChargeRequest): Promise<ChargeOutcome>
  /**
   * Store the answer of a charge whose attempt is still the latest.
   * @returns false where it is not, or where the charge is answered already: the answer must then be discarded.
   */
  recordAnswer(id: string, attempt: number, answer: string): Promise<boolean>
  /**
   * {@link Ledger.recordAnswer}, with the session that the charge has paid for: both are durable, or neither is.
   * @returns false where the answer, and the session with it, must be discarded.
   */
  openSession(id: string, attempt: number, answer: string, session: NewSession): Promise<boolean>
  session(id: string): Promise<StoredSession | undefined>
  /** Whether a question of a session may be answered now, and with what; it changes nothing. */
  sessionQuestion(question: SessionQuestion): Promise<SessionQuestionOutcome>
  /**
   * Store an answer of a session as its next, where a positive is left and the key is new.
   * @returns false where it is not the next any more: the answer must then be discarded.
   */
  recordSessionAnswer(answer: SessionAnswer): Promise<boolean>
  /** Newest first, at most `limit`, before `beforeQuestion` where it is given. */
  sessionAnswers(
    id: string,
    page: { readonly limit: number; readonly beforeQuestion?: number },
  ): Promise<readonly StoredSessionAnswer[]>
  /** An attempt failed: the debit stays, and a repeat of the question may try again at once. */
  recordFailure(id: string, attempt: number): Promise<void>
  /** Newest first, at most `limit`, before `beforeSequence` where it is given, of one principal where it is given. */
  entries(
    dataset: string,
    page: { readonly limit: number; readonly beforeSequence?: number; readonly principal?: string },
  ): Promise<readonly LedgerEntry[]>
  /** The events as they are stored and hashed, oldest first, at most `limit` (1,000) after `afterSequence`. */
  events(
    dataset: string,
    page: { readonly limit: number; readonly afterSequence: number },
  ): Promise<readonly StoredEvent[]>
  release(id: string): Promise<StoredRelease | undefined>
  /**
   * The charges of these ids, in any order; those that are not found are left out. It reads every answer of theirs, which
   * may be large. RangeError for more than 1,000.
   */
  chargeRecords(ids: readonly string[]): Promise<readonly ChargeRecord[]>
  /** How many charges are stored of each dataset that has any, with those that were denied. It reads every charge. */
  chargeCounts(): Promise<ReadonlyMap<string, number>>
  /** The largest version of a dataset that a charge was ever made under, 0 where there is none. It reads every charge. */
  lastDatasetVersion(dataset: string): Promise<number>
  /**
   * Carry out a task while no other process carries one out: for what lies beside the ledger and replicas share.
   * @param task awaits `requireAlone` just before it makes its work known: it rejects where others may be at work by now
   */
  exclusively<Result>(task: (requireAlone: () => Promise<void>) => Promise<Result>): Promise<Result>
  /** Whether the store answers. */
  healthy(): Promise<boolean>
  /** Finish what was asked, then close the store. */
  close(): Promise<void>
}

/**
 * Reason for the failure of a ledger:
 * - `in-use`: the store is open in another process, or already in this one;
 * - `unusable`: the store is not a ledger, is from a newer release, is corrupt, or cannot be written;
 * - `unknown`: the commit failed, and the operation may or may not be durable: consider its cost as spent and repeat it;
 * - `stopped`: the store met an error after which it must not continue. Operations that were under way are `unknown` too, and a
 *   restart recovers what is durable;
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
