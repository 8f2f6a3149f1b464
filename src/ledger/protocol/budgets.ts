import {
  type Amount,
  amountBoughtBy,
  coversAmount,
  isSameAmount,
  noAmount,
} from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { addLoss, isSameLoss, NO_LOSS, type PrivacyLoss } from '../../privacy/loss.ts'
import {
  type AllotOutcome,
  type Budget,
  isPopulationAccount,
  type NewAllotment,
  type NewBudget,
  type NewSource,
  type OpenOutcome,
  type ReplaceOutcome,
  type SourceRefusal,
} from '../contract/budgets.ts'
import { eventAmount, eventLoss, type LedgerEvent, type PersonUnit } from '../event.ts'
import { expectAccount, expectCap, expectDataset, expectText } from '../range.ts'
import { appendWithAct } from './acts.ts'
import { analystOf, appendEvent, type Batch, BEFORE_FIRST_EVENT, setAnalyst } from './batch.ts'
import { join, joinRefusal } from './populations.ts'
import { type Account, expectRow, type SourceRow, spendingOf } from './rows.ts'

/** Decides {@link Ledger.openBudget}. See decision 23. */
export function openBudget(
  batch: Batch,
  dataset: string,
  { accounting, granted, neighbours, privacyUnit, synthetic = false, source, population }: NewBudget,
  principal: string,
): OpenOutcome {
  expectAccount(dataset)
  expectText({ principal })
  expectCap(granted)
  if (isPopulationAccount(dataset)) expectPopulation({ neighbours, ...defined({ source, population }) })
  if (source !== undefined) {
    expectSource(source)
    const refused = sourceRefusal(batch, dataset, source, population)
    if (refused !== undefined) return refused
  }
  const existing = batch.accounts.get(dataset)
  const cap = amountBoughtBy(accounting, granted)
  const budget = { granted, cap, spent: noAmount(accounting) }
  const account = existing ?? { dataset, budget, ...BEFORE_FIRST_EVENT }
  const refusal = population === undefined ? undefined : joinRefusal(batch, account, population)
  if (refusal !== undefined) return refusal
  if (existing === undefined)
    open(batch, account, { neighbours, synthetic, principal, ...defined({ privacyUnit }) })
  if (source !== undefined) recordSource(batch, dataset, source, principal)
  if (population !== undefined) join(batch, expectRow(batch.accounts.get(dataset)), population, principal)
  return existing === undefined ? { kind: 'opened' } : { kind: 'exists', budget: existing.budget }
}

/** Creates an account with its first event; that of a population is an administrative act. */
function open(
  batch: Batch,
  account: Account,
  facts: Pick<NewBudget, 'neighbours' | 'privacyUnit'> & {
    readonly synthetic: boolean
    readonly principal: string
  },
): void {
  const { dataset, budget } = account
  const { neighbours, privacyUnit, synthetic, principal } = facts
  const { accounting } = budget.cap
  batch.accounts.set(dataset, account)
  const event = {
    kind: 'opened',
    principal,
    ...(accounting === 'zcdp' && { accounting }),
    loss: eventLoss(budget.granted),
    neighbours,
    ...(privacyUnit?.kind === 'person' && { privacyUnit: personUnit(privacyUnit) }),
    synthetic,
    ...limitField(budget.cap),
  } as const
  if (isPopulationAccount(dataset)) appendWithAct(batch, dataset, event, 'population-created')
  else appendEvent(batch, dataset, event)
}

function personUnit({ column }: NonNullable<NewBudget['privacyUnit']>): PersonUnit {
  return defined({ kind: 'person', column })
}

/** @throws RangeError for a population of another kind of neighbours, or with what only a dataset has. */
function expectPopulation({
  neighbours,
  source,
  population,
}: Pick<NewBudget, 'neighbours' | 'source' | 'population'>): void {
  if (neighbours !== 'add-remove') throw new RangeError('the neighbours of a population are add-remove')
  if (source !== undefined || population !== undefined)
    throw new RangeError('a population has no source and joins none')
}

/**
 * The delta at which a cap in rho converts back is the same for a population and its datasets.
 * @throws RangeError for a change of a delta that is fixed
 */
function expectFixedDelta({ dataset, budget }: Account, granted: PrivacyLoss): void {
  const isFixed = isPopulationAccount(dataset) || budget.population !== undefined
  if (isFixed && granted.deltaAtto !== budget.granted.deltaAtto)
    throw new RangeError('the delta of a population and of its datasets is fixed')
}

/** Decides {@link Ledger.registerSource}. */
export function registerSource(
  batch: Batch,
  dataset: string,
  source: NewSource,
  principal: string,
): SourceRefusal | { readonly kind: 'no-budget' } | undefined {
  expectDataset(dataset)
  expectText({ principal })
  expectSource(source)
  if (batch.accounts.get(dataset) === undefined) return { kind: 'no-budget' }
  const refusal = sourceRefusal(batch, dataset, source)
  if (refusal === undefined) recordSource(batch, dataset, source, principal)
  return refusal
}

function expectSource({ digests, separateBudget }: NewSource): void {
  if (digests.length === 0 || !digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)))
    throw new RangeError('the digest of a source is a SHA-256 in hexadecimal')
  if (separateBudget !== undefined) expectText({ separateBudget })
}

function sourceRefusal(
  batch: Batch,
  dataset: string,
  source: NewSource,
  joined?: string,
): SourceRefusal | undefined {
  const population = batch.accounts.get(dataset)?.budget.population ?? joined
  return reasonAgainstSource(sourcesOf(batch, source.digests, dataset), dataset, { ...source, population })
}

/**
 * The rule against registering a source under an id. The datasets of one population have one budget for the same people.
 * @param known the recorded sources with one of its digests, and those of the id
 */
export function reasonAgainstSource(
  known: readonly SourceRow[],
  dataset: string,
  { population, ...source }: NewSource & { readonly population?: string | undefined },
): SourceRefusal | undefined {
  if (source.synthetic && known.some((each) => !each.synthetic))
    return { kind: 'source-refused', because: 'registered-as-real' }
  if (source.separateBudget !== undefined) return undefined
  const apart = known.filter((each) => population === undefined || each.population !== population)
  const others = source.digests.flatMap((digest) =>
    isRecorded(known, dataset, digest, source) ? [] : othersWith(apart, dataset, [digest], source),
  )
  return others.length === 0 ? undefined : { kind: 'source-refused', because: 'registered-elsewhere' }
}

/** Records a source, and the reason for its budget if another id has one for the same people. */
function recordSource(batch: Batch, dataset: string, source: NewSource, principal: string): void {
  const { digests, synthetic, separateBudget: reason } = source
  const known = sourcesOf(batch, digests, dataset)
  const added = [...new Set(digests)].filter((digest) => !isRecorded(known, dataset, digest, source))
  if (added.length === 0) return
  batch.newSources.push(...added.map((digest) => ({ digest, dataset, synthetic })))
  const otherDatasets = othersWith(known, dataset, added, source)
  if (reason === undefined || otherDatasets.length === 0) return
  appendEvent(batch, dataset, { kind: 'source-reused', principal, otherDatasets, reason })
}

/** All recorded sources with one of these digests, and all of this dataset. */
function sourcesOf(
  { rows, newSources, accounts }: Batch,
  digests: readonly string[],
  dataset: string,
): readonly SourceRow[] {
  const added = newSources
    .filter((each) => digests.includes(each.digest) || each.dataset === dataset)
    .map((each) => ({ ...each, ...defined({ population: accounts.get(each.dataset)?.budget.population }) }))
  return [...digests.flatMap((digest) => rows.sources(digest, dataset)), ...added]
}

function isRecorded(
  known: readonly SourceRow[],
  dataset: string,
  digest: string,
  { synthetic }: NewSource,
): boolean {
  return known.some(
    (each) => each.digest === digest && each.dataset === dataset && each.synthetic === synthetic,
  )
}

/** The other ids with a source of one of these digests, in order. Where all rows are made up, there are no people to protect together. */
function othersWith(
  known: readonly SourceRow[],
  dataset: string,
  digests: readonly string[],
  { synthetic }: NewSource,
): readonly string[] {
  const others = known.filter(
    (each) => digests.includes(each.digest) && each.dataset !== dataset && !(synthetic && each.synthetic),
  )
  return [...new Set(others.map((each) => each.dataset))].sort()
}

/** Decides {@link Ledger.grant}. */
export function grant(
  batch: Batch,
  dataset: string,
  amount: PrivacyLoss,
  principal: string,
  reason: string,
): Budget | undefined {
  expectAccount(dataset)
  expectText({ principal, reason })
  expectCap(amount)
  const before = batch.accounts.get(dataset)
  if (before === undefined) return undefined
  const granted = addLoss(before.budget.granted, amount)
  expectCap(granted)
  expectFixedDelta(before, granted)
  const bought = amountBoughtBy(before.budget.cap.accounting, granted)
  // Another release of Sotto may convert to a smaller amount. That must not reduce a cap granted earlier.
  const cap = coversAmount(bought, before.budget.cap) ? bought : before.budget.cap
  const budget = { ...before.budget, granted, cap }
  batch.accounts.set(dataset, { ...before, budget })
  const event = { kind: 'granted', principal, loss: eventLoss(amount), ...limitField(cap), reason } as const
  appendWithAct(batch, dataset, event, 'budget-granted')
  return budget
}

/** Decides {@link Ledger.replaceCap}. */
export function replaceCap(
  batch: Batch,
  dataset: string,
  granted: PrivacyLoss,
  principal: string,
  reason: string,
): ReplaceOutcome {
  expectAccount(dataset)
  expectText({ principal, reason })
  expectCap(granted)
  const before = batch.accounts.get(dataset)
  if (before === undefined) return { kind: 'no-budget' }
  expectFixedDelta(before, granted)
  const { accounting } = before.budget.cap
  if (isSameLoss(before.budget.granted, granted)) return { kind: 'replaced', budget: before.budget }
  // Analysts who were debited for shared releases share one that the dataset was debited for.
  if (!isSameAmount(before.budget.spent, noAmount(accounting)))
    return { kind: 'spent', budget: before.budget }
  const cap = amountBoughtBy(accounting, granted)
  const budget = { ...before.budget, granted, cap }
  batch.accounts.set(dataset, { ...before, budget })
  const event = {
    kind: 'cap-replaced',
    principal,
    loss: eventLoss(granted),
    ...limitField(cap),
    reason,
  } as const
  appendWithAct(batch, dataset, event, 'budget-replaced')
  return { kind: 'replaced', budget }
}

/** Decides {@link Ledger.allot}. */
export function allot(
  batch: Batch,
  { dataset, analyst, granted, principal, reason }: NewAllotment,
): AllotOutcome {
  expectAccount(dataset)
  expectText({ analyst, principal, reason })
  if (granted !== undefined) expectCap(granted)
  const account = batch.accounts.get(dataset)
  if (account === undefined) return { kind: 'no-budget' }
  const before = analystOf(batch, account, analyst)
  const { allotment: _, ...unlimited } = before
  if (granted === undefined) {
    setAnalyst(batch, unlimited)
    appendWithAct(batch, dataset, { kind: 'allotted', principal, analyst, reason }, 'allotment-set')
    return { kind: 'allotted', analyst: spendingOf(unlimited) }
  }
  const limit = isSameLoss(granted, NO_LOSS)
    ? before.spent
    : amountBoughtBy(account.budget.cap.accounting, granted)
  if (!coversAmount(limit, before.spent)) return { kind: 'below-spent', analyst: spendingOf(before) }
  // Under basic accounting the limit is itself an (epsilon, delta), which also covers an allotment of nothing.
  const recorded = limit.accounting === 'basic' ? lossOf(limit) : granted
  const after = { ...unlimited, allotment: { granted: recorded, limit } }
  setAnalyst(batch, after)
  const facts = { principal, analyst, loss: eventLoss(recorded), ...limitField(limit), reason }
  appendWithAct(batch, dataset, { kind: 'allotted', ...facts }, 'allotment-set')
  return { kind: 'allotted', analyst: spendingOf(after) }
}

function lossOf({ epsilonNano, deltaAtto }: PrivacyLoss): PrivacyLoss {
  return { epsilonNano, deltaAtto }
}

/** The `limit` field of an event: the amount that a grant buys, unless it equals the grant. */
function limitField(amount: Amount): Pick<LedgerEvent, 'limit'> {
  return amount.accounting === 'basic' ? {} : { limit: eventAmount(amount) }
}
