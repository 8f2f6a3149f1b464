import { noAmount } from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import type { ActKind } from '../../privacy/event-kinds.ts'
import { NO_LOSS } from '../../privacy/loss.ts'
import { reasonAgainstAct } from '../act.ts'
import type { NewAct } from '../contract/acts.ts'
import { ADMINISTRATION } from '../contract/acts.ts'
import type { EventReference } from '../contract/chain.ts'
import { expectStorable, expectText } from '../range.ts'
import { appendEvent, type Batch, BEFORE_FIRST_EVENT, type EventFacts } from './batch.ts'

/** Decides {@link Ledger.recordAct}. */
export function recordAct(batch: Batch, act: NewAct): EventReference {
  const { kind, principal, subject, facts = {} } = act
  expectText({ principal, subject })
  const reason = reasonAgainstAct({ kind, subject, facts })
  if (reason !== undefined) throw new RangeError(reason)
  expectStorable('facts', Object.values(facts).flat().join(' '))
  return appendAct(batch, act)
}

/**
 * Appends an event to the chain of a dataset, and an act that refers to it.
 * @param principal who acts
 */
export function appendWithAct(
  batch: Batch,
  dataset: string,
  event: EventFacts,
  kind: ActKind,
  principal = event.principal,
): void {
  const { sequence, hash } = appendEvent(batch, dataset, event)
  appendAct(batch, { kind, principal, subject: dataset, facts: { sequence, hash } })
}

function appendAct(batch: Batch, { kind, principal, subject, facts }: NewAct): EventReference {
  if (batch.accounts.get(ADMINISTRATION) === undefined) {
    // The chain has a budget of 0, so that nothing could ever be charged to it.
    const nothing = noAmount('basic')
    const budget = { granted: NO_LOSS, cap: nothing, spent: nothing }
    batch.accounts.set(ADMINISTRATION, { dataset: ADMINISTRATION, budget, ...BEFORE_FIRST_EVENT })
  }
  return appendEvent(batch, ADMINISTRATION, { kind, principal, subject, ...defined({ facts }) })
}
