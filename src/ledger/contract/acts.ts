import type { ActKind } from '../../privacy/event-kinds.ts'
import type { EventReference } from './chain.ts'

/**
 * Name of the chain of administrative acts, in the place of a dataset id. Ids of datasets begin with a letter, and the
 * ledger refuses this name for a budget, a charge or an allotment.
 */
export const ADMINISTRATION = '@administration'

/** Facts of an administrative act, by name. */
export type ActFacts = Readonly<Record<string, string | number | boolean | readonly string[]>>

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

/** A recorded administrative act. */
export interface Act extends Required<NewAct>, EventReference {
  /** ISO 8601, UTC. */
  readonly at: string
}

/** The administrative acts. The effect of every method is durable when its promise resolves. */
export interface Acts {
  /**
   * Appends an act to the chain of administrative acts.
   * @throws RangeError if a text is empty or too long.
   */
  recordAct(act: NewAct): Promise<EventReference>
  /** Lists the administrative acts, newest first: at most `limit`, before `beforeSequence` if given. */
  acts(page: { readonly limit: number; readonly beforeSequence?: number }): Promise<readonly Act[]>
}
