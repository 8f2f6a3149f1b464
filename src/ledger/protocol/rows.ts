import { noAmount } from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import type { AnalystSpending, Budget } from '../contract/budgets.ts'
import type { ChainHead, ChargeRecord, StoredEvent } from '../contract/chain.ts'
import type { ReleaseFacts } from '../contract/releases.ts'
import type { NewSession, SessionAnswer, StoredSession } from '../contract/sessions.ts'
import type { SuspensionState } from '../contract/suspension.ts'
import type { PackedAnswer } from '../stores/packed-answer.ts'

/*
 * The rows of a ledger, as the charge protocol reads and writes them. Every store maps its tables to these types.
 */

/** The budget of a dataset or a population, its suspension and the head of its hash chain. */
export interface Account extends SuspensionState {
  readonly dataset: string
  readonly budget: Budget
  /** Sequence number of the last event; 0 before the first. */
  readonly headSequence: number
  readonly headHash: string
}

/** One analyst's spending on one dataset. */
export interface AnalystAccount extends AnalystSpending {
  readonly dataset: string
  /** Bytes of requests, answers and events that the ledger stores for the analyst on the dataset. */
  readonly storedBytes: number
  /** Number of recorded denials. */
  readonly denials: number
}

/** A stored charge, without the text of its request. All times are milliseconds since 1970. */
export interface StoredCharge extends Omit<ChargeRecord, 'answerHash'> {
  readonly idempotencyKey: string
  readonly datasetVersion: string
  readonly createdAtMs: number
  readonly leasedAtMs: number
  readonly leaseExpiresAtMs: number
  /** True if the release of this charge may answer other analysts. */
  readonly sharing: boolean
}

/** A source that was registered under an id. */
export interface SourceRow {
  /** SHA-256, hexadecimal. */
  readonly digest: string
  readonly dataset: string
  readonly synthetic: boolean
  /** Account of the population of the dataset, which it never changes. */
  readonly population?: string
}

/** A sparse vector session, with the number of its answers and positives so far. */
export interface SessionRow extends NewSession, Omit<StoredSession, 'opening' | 'positivesLeft'> {
  readonly positivesFound: number
  /** Bytes that the ledger stores for the principal on the dataset. */
  readonly storedBytes: number
}

/** A stored answer to a question of a session. */
export type SessionAnswerRow = Pick<SessionAnswer, 'requestHash' | 'answer'>

/**
 * Reads the rows of a store before a batch. Every method returns `undefined` for a row that does not exist.
 */
export interface Rows {
  account(dataset: string): Account | undefined
  analyst(dataset: string, principal: string): AnalystAccount | undefined
  /** The accounts of all analysts of a dataset. */
  analysts(dataset: string): readonly AnalystAccount[]
  charge(id: string): StoredCharge | undefined
  /** The stored answer of a charge. */
  answer(id: string): string | undefined
  /** Id of the charge whose release is shared for this request. */
  sharedRelease(dataset: string, requestHash: string): string | undefined
  session(id: string): SessionRow | undefined
  sessionAnswer(session: string, idempotencyKey: string): SessionAnswerRow | undefined
  /** All sources with this digest, and all of this dataset. */
  sources(digest: string, dataset: string): readonly SourceRow[]
}

/** An event to append to the chain of its dataset. */
export interface NewEvent extends ChainHead, StoredEvent {
  readonly principal: string
  /** True for a failure that counts towards a suspension. */
  readonly counted: boolean
}

/** A new answer, with the facts by which it is listed. */
export interface NewRelease extends Required<ReleaseFacts> {
  readonly charge: string
  readonly dataset: string
  readonly principal: string
  readonly answer: PackedAnswer
}

/** The changes of a batch. A store writes all of them in one transaction. */
export interface Changes {
  /** Ordered by dataset. `before` is missing for a new account. */
  readonly accounts: readonly { readonly before?: Account; readonly after: Account }[]
  readonly analysts: readonly { readonly before?: AnalystAccount; readonly after: AnalystAccount }[]
  readonly newCharges: readonly (StoredCharge & { readonly request: string })[]
  readonly changedCharges: readonly {
    readonly before: StoredCharge
    readonly after: StoredCharge
    /** The request of a denied charge that is paid now. */
    readonly request?: string
  }[]
  /** Ordered by sequence within each dataset. */
  readonly events: readonly NewEvent[]
  readonly releases: readonly NewRelease[]
  readonly sharedReleases: readonly {
    readonly dataset: string
    readonly requestHash: string
    readonly charge: string
  }[]
  readonly sessions: readonly ({ readonly charge: string } & NewSession)[]
  readonly sessionAnswers: readonly SessionAnswer[]
  readonly sources: readonly SourceRow[]
}

/** The account of an analyst who has spent nothing and has no allotment. */
export function newAnalyst({ dataset, budget }: Account, principal: string): AnalystAccount {
  const nothing = noAmount(budget.cap.accounting)
  return { dataset, principal, spent: nothing, spentOnShared: nothing, storedBytes: 0, denials: 0 }
}

/** Converts an analyst's row to the form that the ledger returns. */
export function spendingOf(analyst: AnalystAccount): AnalystSpending {
  const { principal, allotment, spent, spentOnShared } = analyst
  return { principal, spent, spentOnShared, ...defined({ allotment }) }
}

/** Converts a charge's row to the record that verification compares with the events. */
export function recordOf(charge: StoredCharge, answerHash: string | undefined): ChargeRecord {
  const { id, dataset, principal, requestHash, price, state, attempt, sharedFrom } = charge
  return {
    ...{ id, dataset, principal, requestHash, price, state, attempt },
    ...defined({ sharedFrom, answerHash }),
  }
}

/** @throws Error if a row that must exist does not. */
export function expectRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a row is missing from the ledger')
  return row
}
