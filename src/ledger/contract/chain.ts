import type { Amount } from '../../privacy/accounting.ts'
import type { EventKind } from '../../privacy/event-kinds.ts'
import type { PrivacyLoss } from '../../privacy/loss.ts'
import type { AnalystSpending, Budget } from './budgets.ts'
import type { SuspensionState } from './suspension.ts'

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
  /** Only of a population: the balances of its datasets, ordered by dataset. */
  readonly members?: readonly Member[]
}

/** A dataset of a population. */
export interface Member {
  readonly dataset: string
  readonly spent: Amount
  /** Ordered by principal. */
  readonly spending: readonly AnalystSpending[]
}

/** One event of a dataset's history. */
export interface LedgerEntry {
  readonly sequence: number
  readonly dataset: string
  readonly kind: EventKind
  /** ISO 8601, UTC. */
  readonly at: string
  readonly principal: string
  readonly chargeId?: string
  /** In `opened`, `granted`, `cap-replaced` and `allotted`. */
  readonly granted?: PrivacyLoss
  /** In `charged`, `shared`, `carried` and `denied`. */
  readonly price?: Amount
  /** In `allotted` and `carried`. */
  readonly analyst?: string
  /** In `granted`, `cap-replaced`, `allotted`, `resumed` and `source-reused`. */
  readonly reason?: string
  /** SHA-256 of the canonical event, which contains the previous hash; hexadecimal. */
  readonly hash: string
}

/** A stored event: its canonical text and the SHA-256 of it, which the next event contains. */
export interface StoredEvent {
  readonly canonical: string
  /** Hexadecimal. */
  readonly hash: string
}

/** A stored charge, for comparison with the events. */
export interface ChargeRecord {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly requestHash: string
  readonly price: Amount
  readonly state: 'charged' | 'answered' | 'failed' | 'denied'
  /** 0 for a denied charge. */
  readonly attempt: number
  /** Id of the charge whose release answers this one. */
  readonly sharedFrom?: string
  /** SHA-256 of the stored answer, hexadecimal. */
  readonly answerHash?: string
}

/** The number of stored charges per dataset among those of one page. */
export interface ChargeCounts {
  readonly counts: ReadonlyMap<string, number>
  /** Missing on the last page. */
  readonly next?: string
}

/** The events of every dataset, with the stored rows that they are compared with. The effect of every method is durable when its promise resolves. */
export interface Chain {
  /**
   * Reads the head of the chain of a dataset, a population or `ADMINISTRATION`, with all balances; `undefined` if the dataset has
   * no budget, or if no act was recorded.
   */
  head(dataset: string): Promise<LedgerHead | undefined>
  /** Reads the last event of every chain, ordered by dataset, at one moment. */
  heads(): Promise<readonly ChainHead[]>
  /** Lists every dataset id that has a budget, in order, without populations. */
  datasets(): Promise<readonly string[]>
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
   * Reads the canonical requests of charges, by id. Ids that are not found, and those of denied charges, are omitted.
   * @throws RangeError for more than 1,000 ids.
   */
  requests(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /**
   * Reads the canonical requests of those charges, by id, that are paid and not answered yet.
   * @throws RangeError for more than 1,000 ids.
   */
  unansweredRequests(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /**
   * Reads charges by id, in any order. Ids that are not found are omitted. Reads all their answers, which may be large.
   * @throws RangeError for more than 1,000 ids.
   */
  chargeRecords(ids: readonly string[]): Promise<readonly ChargeRecord[]>
  /**
   * Counts stored charges per dataset, including denied ones, a page at a time.
   * @param after the `next` of the page before; missing for the first page
   */
  chargeCounts(after?: string): Promise<ChargeCounts>
}
