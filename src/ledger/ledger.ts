import type { Acts } from './contract/acts.ts'
import type { Budgets } from './contract/budgets.ts'
import type { Chain } from './contract/chain.ts'
import type { Charges } from './contract/charges.ts'
import type { Releases } from './contract/releases.ts'
import type { Sessions } from './contract/sessions.ts'
import type { Suspensions } from './contract/suspension.ts'

/** The budget ledger, as a store implements it and a process opens it. Those who use it take the parts that they need. */
export type Ledger = Budgets & Charges & Sessions & Releases & Chain & Suspensions & Acts & Store

/** The store itself, which replicas may share. */
interface Store {
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

/** A method of the ledger that a store carries out in a batch. */
export type OperationName = Exclude<keyof Ledger, 'close' | 'exclusively'>

export type OperationArguments = { readonly [Name in OperationName]: Parameters<Ledger[Name]> }
export type OperationResults = { readonly [Name in OperationName]: Awaited<ReturnType<Ledger[Name]>> }
