import { noAmount } from '../../privacy/accounting.ts'
import { NO_LOSS } from '../../privacy/loss.ts'
import { ADMINISTRATION, reasonAgainstAct } from '../act.ts'
import type { EventReference, NewAct } from '../ledger.ts'
import { expectStorable, expectText } from '../range.ts'
import { appendEvent, type Batch, BEFORE_FIRST_EVENT } from './batch.ts'

/** Decides {@link Ledger.recordAct}. */
export function recordAct(batch: Batch, act: NewAct): EventReference {
  const { kind, principal, subject, facts = {} } = act
  expectText({ principal, subject })
  const reason = reasonAgainstAct({ kind, subject, facts })
  if (reason !== undefined) throw new RangeError(reason)
  expectStorable('facts', Object.values(facts).flat().join(' '))
  return appendAct(batch, act)
}

/** Appends an act that refers to an event of a dataset's chain. */
export function appendReference(
  batch: Batch,
  act: Pick<NewAct, 'kind' | 'principal'> & { readonly dataset: string },
  { sequence, hash }: EventReference,
): void {
  const { kind, principal, dataset } = act
  appendAct(batch, { kind, principal, subject: dataset, facts: { sequence, hash } })
}

function appendAct(batch: Batch, { kind, principal, subject, facts }: NewAct): EventReference {
  if (batch.accounts.get(ADMINISTRATION) === undefined) {
    // The chain has a budget of 0, so that nothing could ever be charged to it.
    const nothing = noAmount('basic')
    const budget = { granted: NO_LOSS, cap: nothing, spent: nothing }
    batch.accounts.set(ADMINISTRATION, { dataset: ADMINISTRATION, budget, ...BEFORE_FIRST_EVENT })
  }
  return appendEvent(batch, ADMINISTRATION, {
    kind,
    principal,
    subject,
    ...(facts !== undefined && { facts }),
  })
}
