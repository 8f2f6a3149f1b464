import type { Principal } from '../../http/access/principal.ts'
import type { CatalogueRows, Evaluated } from '../catalogue/evaluator.ts'
import type { TransactionStatus } from '../protocol/backend.ts'
import type { Settings } from './settings.ts'

/** What statements see and change of their session. */
export interface SessionState {
  readonly settings: Settings
  /** True if answers come from made-up rows. */
  readonly isDummy: boolean
  /**
   * Returns the principal as its key is now.
   * @throws WireError that ends the session if the key is no longer valid
   */
  principal(): Promise<Principal>
  status(): TransactionStatus
  setStatus(status: TransactionStatus): void
  /** Ends the portals of a transaction, and the transaction. */
  endTransaction(isRolledBack: boolean): void
  /** Tells the client new values of settings. */
  report(changed: readonly (readonly [string, string])[]): void
  /** Removes a prepared statement, or all of them. */
  deallocate(name: string | undefined): void
  /** Closes a cursor, or all of them. */
  close(name: string | undefined): void
  /** Evaluates a statement about the session and the catalogue of the datasets that a principal may use. */
  catalogue(principal: Principal, statement: Evaluated, givenUp: AbortSignal): Promise<CatalogueRows>
}
