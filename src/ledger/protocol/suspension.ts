import type { Failure, ResumeOutcome } from '../contract/suspension.ts'
import type { LedgerEvent } from '../event.ts'
import { expectCount, expectDataset, expectText, MAX_COUNT } from '../range.ts'
import { appendWithAct } from './acts.ts'
import { appendEvent, type Batch } from './batch.ts'
import { expectRow } from './rows.ts'

/** Decides {@link Ledger.recordQuestionFailure}. */
export function recordQuestionFailure(batch: Batch, session: string, failure: Failure): void {
  expectText({ session })
  expectCount('limit', failure.limit, MAX_COUNT)
  const found = batch.sessions.get(session)
  if (found === undefined || !failure.counts) return
  const { dataset, principal } = found
  appendEvent(batch, dataset, {
    kind: 'session-failed',
    principal,
    chargeId: session,
    ...errorClassField(failure),
  })
  countFailure(batch, dataset, { principal, chargeId: session, limit: failure.limit })
}

/** Counts a failure whose event was just appended, and suspends the dataset if the limit is reached. */
export function countFailure(
  batch: Batch,
  dataset: string,
  {
    principal,
    chargeId,
    limit,
  }: { readonly principal: string; readonly chargeId: string; readonly limit: number },
): void {
  const account = expectRow(batch.accounts.get(dataset))
  const failures = account.failures + 1
  // Attempts that were under way when the dataset was suspended are counted too.
  const suspends = !account.suspended && failures >= limit
  batch.accounts.set(dataset, { ...account, failures, suspended: account.suspended || suspends })
  if (!suspends) return
  const event = { kind: 'suspended', principal, chargeId, failures } as const
  appendWithAct(batch, dataset, event, 'dataset-suspended', 'sotto')
}

/** Decides {@link Ledger.resume}. */
export function resume(batch: Batch, dataset: string, principal: string, reason: string): ResumeOutcome {
  expectDataset(dataset)
  expectText({ principal, reason })
  const account = batch.accounts.get(dataset)
  if (account === undefined) return { kind: 'no-budget' }
  if (!account.suspended) return { kind: 'not-suspended' }
  batch.accounts.set(dataset, { ...account, failures: 0, suspended: false })
  appendWithAct(batch, dataset, { kind: 'resumed', principal, reason }, 'dataset-resumed')
  return { kind: 'resumed' }
}

/** Class names of errors. A longer or different text could contain data. */
const ERROR_CLASS = /^[A-Za-z]\w{0,63}$/

/** The `errorClass` field of an event, if the failure has a class name. */
export function errorClassField({ errorClass }: Failure): Pick<LedgerEvent, 'errorClass'> {
  return errorClass !== undefined && ERROR_CLASS.test(errorClass) ? { errorClass } : {}
}
