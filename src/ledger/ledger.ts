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
  readonly kind: 'opened' | 'granted' | 'charged' | 'denied' | 'retried' | 'answered' | 'failed'
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

/** A stored answer and who owns it. */
export interface StoredRelease {
  readonly id: string
  readonly dataset: string
  readonly principal: string
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
  /** An attempt failed: the debit stays, and a repeat of the question may try again at once. */
  recordFailure(id: string, attempt: number): Promise<void>
  /** Newest first, at most `limit`, before `beforeSequence` where it is given, of one principal where it is given. */
  entries(
    dataset: string,
    page: { readonly limit: number; readonly beforeSequence?: number; readonly principal?: string },
  ): Promise<readonly LedgerEntry[]>
  release(id: string): Promise<StoredRelease | undefined>
  /** The largest version of a dataset that a charge was ever made under, 0 where there is none. It reads every charge. */
  lastDatasetVersion(dataset: string): Promise<number>
  /** Whether the store answers. */
  healthy(): Promise<boolean>
  /** Finish what was asked, then close the store. */
  close(): Promise<void>
}
