import type { PrivacyLoss } from '../privacy/loss.ts'

/** A dataset's budget: exact, and never forgotten, whatever happens to the dataset. */
export interface Budget {
  readonly cap: PrivacyLoss
  readonly spent: PrivacyLoss
}

/** What a question wants to pay, and what identifies it. */
export interface ChargeRequest {
  readonly dataset: string
  /** A whole number in decimal digits. */
  readonly datasetVersion: string
  readonly principal: string
  /** Unique per principal. */
  readonly idempotencyKey: string
  /** SHA-256 of the canonical request, hexadecimal: the same key with another hash is refused. */
  readonly requestHash: string
  /** The canonical request, for the audit. */
  readonly request: string
  readonly loss: PrivacyLoss
  /** How long this attempt may take before a repeat of the question may take the charge over. */
  readonly leaseMs: number
}

/** A debit under which an answer may be computed and stored. `attempt` fences out earlier attempts. */
export interface Charge {
  readonly id: string
  readonly attempt: number
  /** The budget right after the debit (for a further attempt: now). */
  readonly budget: Budget
}

/** What became of a {@link ChargeRequest}; durable when it is returned. */
export type ChargeOutcome =
  /** Debited now, or earlier by an attempt that left no answer: the caller computes the answer. */
  | { readonly kind: 'charged'; readonly charge: Charge }
  /** This question was answered before: the stored answer, byte for byte. Nothing was debited. */
  | { readonly kind: 'answered'; readonly id: string; readonly answer: string }
  /** An attempt is under way and its lease has not run out. */
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  /** The budget does not suffice. Recorded; nothing was debited. */
  | { readonly kind: 'denied'; readonly budget: Budget }
  /** The principal used this key for another request. Nothing was debited. */
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'no-budget' }

/** One event of a dataset's history, in the order in which it became durable. */
export interface LedgerEntry {
  readonly sequence: number
  readonly dataset: string
  readonly kind:
    | 'opened'
    | 'granted'
    | 'charged'
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
  /** Only for opened, granted, charged and denied. */
  readonly loss?: PrivacyLoss
  /** Why a cap was raised. */
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
  | ({ readonly kind: 'open'; readonly question: number; readonly positivesFound: number } & NewSession)
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

/** The budget ledger: every method is durable when its promise resolves. */
export interface Ledger {
  /** Open the budget of a dataset id; an existing one is never changed. */
  openBudget(dataset: string, cap: PrivacyLoss, principal: string): Promise<OpenOutcome>
  /** Raise a cap. `undefined` where the dataset has no budget; RangeError where the cap would pass its largest value. */
  grant(dataset: string, amount: PrivacyLoss, principal: string, reason: string): Promise<Budget | undefined>
  budget(dataset: string): Promise<Budget | undefined>
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
  /** The largest version of a dataset that a charge was ever made under, 0 where there is none. It reads every charge. */
  lastDatasetVersion(dataset: string): Promise<number>
  /** Whether the store answers. */
  healthy(): Promise<boolean>
  /** Finish what was asked, then close the store. */
  close(): Promise<void>
}
