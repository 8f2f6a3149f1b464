import { type Amount, amountBoughtBy, coversAmount, noAmount } from '../../privacy/accounting.ts'
import { addLoss, type PrivacyLoss } from '../../privacy/loss.ts'
import { eventAmount, eventLoss, type LedgerEvent } from '../event.ts'
import type { AllotOutcome, Budget, NewAllotment, NewBudget, OpenOutcome } from '../ledger.ts'
import { expectCap, expectText } from '../range.ts'
import { analystOf, appendEvent, type Batch, BEFORE_FIRST_EVENT, setAnalyst } from './batch.ts'
import { spendingOf } from './rows.ts'

/** Decides {@link Ledger.openBudget}. */
export function openBudget(
  batch: Batch,
  dataset: string,
  { accounting, granted, neighbours, privacyUnit }: NewBudget,
  principal: string,
): OpenOutcome {
  expectText({ dataset, principal })
  expectCap(granted)
  const existing = batch.accounts.get(dataset)
  if (existing !== undefined) return { kind: 'exists', budget: existing.budget }
  const cap = amountBoughtBy(accounting, granted)
  const budget = { granted, cap, spent: noAmount(accounting) }
  batch.accounts.set(dataset, { dataset, budget, ...BEFORE_FIRST_EVENT })
  appendEvent(batch, dataset, {
    kind: 'opened',
    principal,
    ...(accounting === 'zcdp' && { accounting }),
    loss: eventLoss(granted),
    neighbours,
    ...(privacyUnit?.kind === 'person' && { privacyUnit: { kind: 'person', column: privacyUnit.column } }),
    ...limitField(cap),
  })
  return { kind: 'opened' }
}

/** Decides {@link Ledger.grant}. */
export function grant(
  batch: Batch,
  dataset: string,
  amount: PrivacyLoss,
  principal: string,
  reason: string,
): Budget | undefined {
  expectText({ dataset, principal, reason })
  expectCap(amount)
  const before = batch.accounts.get(dataset)
  if (before === undefined) return undefined
  const granted = addLoss(before.budget.granted, amount)
  expectCap(granted)
  const bought = amountBoughtBy(before.budget.cap.accounting, granted)
  // Another release of Sotto may convert to a smaller amount. That must not reduce a cap granted earlier.
  const cap = coversAmount(bought, before.budget.cap) ? bought : before.budget.cap
  const budget = { ...before.budget, granted, cap }
  batch.accounts.set(dataset, { ...before, budget })
  appendEvent(batch, dataset, {
    kind: 'granted',
    principal,
    loss: eventLoss(amount),
    ...limitField(cap),
    reason,
  })
  return budget
}

/** Decides {@link Ledger.allot}. */
export function allot(
  batch: Batch,
  { dataset, analyst, granted, principal, reason }: NewAllotment,
): AllotOutcome {
  expectText({ dataset, analyst, principal, reason })
  if (granted !== undefined) expectCap(granted)
  const account = batch.accounts.get(dataset)
  if (account === undefined) return { kind: 'no-budget' }
  const before = analystOf(batch, account, analyst)
  const { allotment: _, ...unlimited } = before
  if (granted === undefined) {
    setAnalyst(batch, unlimited)
    appendEvent(batch, dataset, { kind: 'allotted', principal, analyst, reason })
    return { kind: 'allotted', analyst: spendingOf(unlimited) }
  }
  const limit = isNothing(granted) ? before.spent : amountBoughtBy(account.budget.cap.accounting, granted)
  if (!coversAmount(limit, before.spent)) return { kind: 'below-spent', analyst: spendingOf(before) }
  // Under basic accounting the limit is itself an (epsilon, delta), which also covers an allotment of nothing.
  const recorded = limit.accounting === 'basic' ? lossOf(limit) : granted
  const after = { ...unlimited, allotment: { granted: recorded, limit } }
  setAnalyst(batch, after)
  appendEvent(batch, dataset, {
    kind: 'allotted',
    principal,
    analyst,
    loss: eventLoss(recorded),
    ...limitField(limit),
    reason,
  })
  return { kind: 'allotted', analyst: spendingOf(after) }
}

function isNothing({ epsilonNano, deltaAtto }: PrivacyLoss): boolean {
  return epsilonNano === 0n && deltaAtto === 0n
}

function lossOf({ epsilonNano, deltaAtto }: PrivacyLoss): PrivacyLoss {
  return { epsilonNano, deltaAtto }
}

/** The `limit` field of an event: the amount that a grant buys, unless it equals the grant. */
function limitField(amount: Amount): Pick<LedgerEvent, 'limit'> {
  return amount.accounting === 'basic' ? {} : { limit: eventAmount(amount) }
}
