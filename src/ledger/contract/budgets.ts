import type { Accounting, Amount } from '../../privacy/accounting.ts'
import type { PrivacyLoss } from '../../privacy/loss.ts'
import type { Neighbours, PrivacyUnit } from '../../privacy/neighbours.ts'

const POPULATION_PREFIX = '@population:'

/**
 * Name of the account of a population, in the place of a dataset id. It has a budget, allotments and a chain as a dataset
 * has; no question can be asked of it. See decision 67.
 */
export function populationAccount(population: string): string {
  return `${POPULATION_PREFIX}${population}`
}

/** True for the name of the account of a population. */
export function isPopulationAccount(account: string): boolean {
  return account.startsWith(POPULATION_PREFIX)
}

/** Id of the population that an account belongs to. */
export function populationId(account: string): string {
  return account.slice(POPULATION_PREFIX.length)
}

/** The budget of a dataset or a population. It is exact and is kept even if the dataset is deleted. */
export interface Budget {
  /** Sum of all grants, since the cap was last replaced. */
  readonly granted: PrivacyLoss
  /** The amount that the grants buy under the dataset's accounting. */
  readonly cap: Amount
  readonly spent: Amount
  /** Account of the population that a dataset belongs to for ever. Whatever the dataset spends, the population spends too. */
  readonly population?: string
}

/** A budget beside the spending of one analyst. */
export interface Balances {
  readonly budget: Budget
  readonly analyst: AnalystSpending
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

/** A budget to open. */
export interface NewBudget {
  readonly accounting: Accounting
  readonly granted: PrivacyLoss
  /** The neighbours that its charges are priced for. They are only recorded. */
  readonly neighbours: Neighbours
  /**
   * The privacy unit that its charges are priced for, recorded as well. Default: a row. The column of a person's identifier
   * differs among the datasets of a population, which has none.
   */
  readonly privacyUnit?: { readonly kind: PrivacyUnit['kind']; readonly column?: string }
  /** True if the data describe no real person, recorded as well. Default: false. */
  readonly synthetic?: boolean
  /** The source of the rows, if it can be identified. It is recorded even if the budget exists. */
  readonly source?: NewSource
  /** Account of the population that the dataset joins, also if its budget exists. */
  readonly population?: string
}

/** A source of a dataset's rows. */
export interface NewSource {
  /**
   * SHA-256 of each of its tables about people, hexadecimal. They would confirm a guess of a whole file, so they are in no
   * event.
   */
  readonly digests: readonly string[]
  /** True if the rows describe no real person. */
  readonly synthetic: boolean
  /** Reason for a budget of its own if the source is registered under another id as well. */
  readonly separateBudget?: string
}

/** A source that must not be registered. Nothing was changed. */
export interface SourceRefusal {
  readonly kind: 'source-refused'
  /**
   * - `registered-as-real`: the source is to be registered as synthetic, and it or the id was registered as real;
   * - `registered-elsewhere`: the source has a budget under another id, and no reason for a second one is given.
   */
  readonly because: 'registered-as-real' | 'registered-elsewhere'
}

/** A dataset that must not join a population. Nothing was changed. */
export interface JoinRefusal {
  readonly kind: 'join-refused'
  /**
   * - `unknown-population`: no population has this account;
   * - `other-population`: the dataset belongs to another one;
   * - `accounting`, `delta`: the dataset's budget differs from that of the population;
   * - `budget`: what the dataset has spent is more than the population has left;
   * - `allotment`: what `analyst` has spent is more than they have left on the population.
   */
  readonly because:
    | 'unknown-population'
    | 'other-population'
    | 'accounting'
    | 'delta'
    | 'budget'
    | 'allotment'
  /** The population's budget; that of the dataset for `other-population`. */
  readonly budget?: Budget
  readonly analyst?: string
}

/** The outcome of {@link Budgets.joinPopulation}. */
export type JoinOutcome = { readonly kind: 'joined' } | { readonly kind: 'no-budget' } | JoinRefusal

/** The outcome of {@link Budgets.openBudget}. */
export type OpenOutcome =
  | { readonly kind: 'opened' }
  /** A budget already exists for this id, possibly of a deleted dataset. It is unchanged. */
  | { readonly kind: 'exists'; readonly budget: Budget }
  | SourceRefusal
  | JoinRefusal

/** The outcome of {@link Budgets.replaceCap}. */
export type ReplaceOutcome =
  | { readonly kind: 'replaced'; readonly budget: Budget }
  /** Something was spent. Nothing was changed. */
  | { readonly kind: 'spent'; readonly budget: Budget }
  | { readonly kind: 'no-budget' }

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

/** The outcome of {@link Budgets.allot}. */
export type AllotOutcome =
  | { readonly kind: 'allotted'; readonly analyst: AnalystSpending }
  /** The analyst has already spent more. Nothing was changed. */
  | { readonly kind: 'below-spent'; readonly analyst: AnalystSpending }
  | { readonly kind: 'no-budget' }

/**
 * The budgets of datasets and populations, and the allotments of analysts on each. A method that takes a dataset takes the
 * account of a population too, unless it says otherwise. The effect of every method is durable when its promise resolves.
 */
export interface Budgets {
  /**
   * Opens the budget of a dataset id. An existing budget is never changed, but may join a population.
   *
   * The digest of a source is kept forever. A source or an id that was registered as real is never registered as
   * synthetic, and a source of real data is registered under a second id only for a reason, which becomes an event.
   * @throws RangeError if the grant is out of range.
   */
  openBudget(dataset: string, budget: NewBudget, principal: string): Promise<OpenOutcome>
  /**
   * Lets a dataset join a population for ever. All that it and its analysts ever spent counts on the population from then
   * on, and every later charge debits both. A repeated call changes nothing.
   * @param population account of a population
   */
  joinPopulation(dataset: string, population: string, principal: string): Promise<JoinOutcome>
  /**
   * Records the source of a dataset that has a budget, as {@link Budgets.openBudget} does.
   * @returns `undefined` if the source is recorded
   */
  registerSource(
    dataset: string,
    source: NewSource,
    principal: string,
  ): Promise<SourceRefusal | { readonly kind: 'no-budget' } | undefined>
  /**
   * Raises a cap. The delta of a population and of its datasets is fixed.
   * @returns the new budget; `undefined` if the dataset has none
   * @throws RangeError if the cap would exceed its largest value, or a fixed delta would change.
   */
  grant(dataset: string, amount: PrivacyLoss, principal: string, reason: string): Promise<Budget | undefined>
  /**
   * Replaces the cap of a budget from which nothing was spent, by a larger or smaller one. The same cap again changes
   * nothing.
   * @throws RangeError if the cap is out of range, or a fixed delta would change.
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
  /** Finds the largest dataset version of a charge; 0 if there is none. Reads every charge. */
  lastDatasetVersion(dataset: string): Promise<number>
}
