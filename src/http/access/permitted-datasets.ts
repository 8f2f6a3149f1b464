import { type Balances, type Budgets, populationAccount } from '../../ledger/contract/budgets.ts'
import type { Chain, LedgerHead } from '../../ledger/contract/chain.ts'
import type { Sessions } from '../../ledger/contract/sessions.ts'
import { must } from '../../privacy/must.ts'
import { Refusal, unknownDataset } from '../../privacy/refusal.ts'
import { mayUse, type Principal } from './principal.ts'

/**
 * Returns the id of a dataset that a principal may use. It is called for every dataset in the path of a request before its
 * handler, and through the functions below for every other one, so that a dataset that the principal may not use is answered
 * exactly as one that does not exist.
 * @throws Refusal `unknown-dataset`
 */
export function permittedDataset(principal: Principal, id: string): string {
  if (!mayUse(principal, id)) throw unknownDataset(id)
  return id
}

/**
 * Returns the catalog's entry for an id.
 * @throws Refusal `unknown-dataset` if there is none, or the principal may not use the dataset
 */
export function requireDataset<Entry>(
  catalog: { get(id: string): Entry | undefined },
  principal: Principal,
  id: string,
): Entry {
  const entry = catalog.get(permittedDataset(principal, id))
  if (entry === undefined) throw unknownDataset(id)
  return entry
}

/**
 * Returns a result of the ledger, unless it is absent because the dataset never had a budget.
 * @throws Refusal `unknown-dataset`
 */
export function requireOpened<Found>(found: Found | undefined, id: string): Found {
  if (found === undefined) throw unknownDataset(id)
  return found
}

/**
 * Returns the budget of a dataset and the spending of a principal, also those of its population.
 * @throws Refusal `unknown-dataset` if there is no budget, or the principal may not use the dataset
 */
export async function requireBalances(
  ledger: Budgets,
  principal: Principal,
  id: string,
): Promise<BalancesOfLevels> {
  const found = await balancesOf(ledger, principal, permittedDataset(principal, id))
  if (found === undefined) throw unknownDataset(id)
  const account = found.budget.population
  if (account === undefined) return found
  const population = must(await balancesOf(ledger, principal, account), 'the balances of the population')
  return { ...found, population: { account, ...population } }
}

/**
 * Reads a population that a principal may use: all of them, or, for a key limited to datasets, those with one of these.
 * @throws Refusal `unknown-population`
 */
export async function requirePopulation(
  ledger: Pick<Chain, 'head'>,
  principal: Principal,
  id: string,
): Promise<LedgerHead> {
  const head = await ledger.head(populationAccount(id))
  if (head === undefined || !mayUsePopulation(head, principal))
    throw new Refusal(
      'unknown-population',
      `There is no population ${id}. GET /v1/populations lists those that you may use.`,
    )
  return head
}

/** A dataset or a population in the path of a request. */
export type NamedAccount = { readonly dataset: string } | { readonly population: string }

/**
 * Returns the account of a dataset that the principal may use, or of a population, with the end of its chain.
 * @param use `see-all` shows who spent on all datasets of the population and when, and `change` limits what they may spend
 * @throws Refusal `unknown-dataset`, `unknown-population` or `forbidden`
 */
export async function requireAccount(
  ledger: Pick<Chain, 'head'>,
  principal: Principal,
  named: NamedAccount,
  use: 'see' | 'see-all' | 'change',
): Promise<{ readonly account: string; readonly head: LedgerHead }> {
  if ('dataset' in named) {
    const account = permittedDataset(principal, named.dataset)
    return { account, head: requireOpened(await ledger.head(account), account) }
  }
  if (use === 'change') requireAllowedToJoin(principal, named)
  const head = await requirePopulation(ledger, principal, named.population)
  const { members = [] } = head
  if (use === 'see-all' && !members.every(({ dataset }) => mayUse(principal, dataset)))
    throw new Refusal('forbidden', 'The population has datasets that the key is not permitted to use.')
  return { account: populationAccount(named.population), head }
}

/** True if a principal may use a population, and see its budget. */
export function mayUsePopulation({ members = [] }: LedgerHead, principal: Principal): boolean {
  return principal.datasets === undefined || members.some(({ dataset }) => mayUse(principal, dataset))
}

interface BalancesOfLevels extends Balances {
  readonly population?: Balances & { readonly account: string }
}

/** Reads the balances of a dataset or a population; `undefined` if it does not exist. */
export async function balancesOf(
  ledger: Budgets,
  { name }: Principal,
  account: string,
): Promise<Balances | undefined> {
  const [budget, analyst] = await Promise.all([ledger.budget(account), ledger.analystSpending(account, name)])
  return budget === undefined || analyst === undefined ? undefined : { budget, analyst }
}

/**
 * Refuses a session over a dataset that the principal may not use, as if the session did not exist. The flow of sessions
 * checks that the session belongs to the principal.
 * @throws Refusal `unknown-session`
 */
export async function requirePermittedSession(
  ledger: Sessions,
  principal: Principal,
  session: string,
): Promise<void> {
  if (principal.datasets === undefined) return
  const found = await ledger.session(session)
  if (found !== undefined && mayUse(principal, found.dataset)) return
  throw new Refusal('unknown-session', 'You have no session with this id.')
}

/** Kinds of sources that contain no data of other principals. */
const OWN_SOURCES: readonly string[] = ['upload', 'population', 'visits']

/**
 * Requires that a limited principal examines only its own uploads where the examination leaves no record. Other sources
 * may belong to datasets that it must not see.
 * @throws Refusal `forbidden`
 */
export function requireOwnSource({ datasets }: Principal, { kind }: { readonly kind: string }): void {
  if (datasets === undefined || OWN_SOURCES.includes(kind)) return
  throw new Refusal(
    'forbidden',
    'The key is limited to datasets. It can draft and check declarations of its own uploads only.',
    [{ field: 'source.kind', rule: 'must be "upload"' }],
  )
}

/**
 * Refuses a limited custodian who would let a dataset spend the budget of other datasets.
 * @throws Refusal `forbidden`
 */
export function requireAllowedToJoin(
  { datasets }: Principal,
  { population }: { readonly population?: string | undefined },
): void {
  if (datasets === undefined || population === undefined) return
  throw onlyForAllDatasets('population', 'create a population or add a dataset to it')
}

/**
 * Refuses a reason for a separate budget from a limited custodian, who must not open a second budget over the data of other
 * datasets.
 * @throws Refusal `forbidden`
 */
export function requireAllowedToSeparate(
  { datasets }: Principal,
  { separateBudget }: { readonly separateBudget?: string | undefined },
): void {
  if (datasets === undefined || separateBudget === undefined) return
  throw onlyForAllDatasets('separateBudget', 'open a separate budget over a source')
}

function onlyForAllDatasets(field: string, act: string): Refusal {
  const detail = `The key is limited to datasets. Only a custodian for all datasets can ${act}.`
  return new Refusal('forbidden', detail, [{ field, rule: 'needs the key of a custodian for all datasets' }])
}
