import { type Amount, noAmount, subtractAmounts } from '../../privacy/accounting.ts'
import { NO_LOSS } from '../../privacy/loss.ts'
import type { SessionAnswer } from '../contract/sessions.ts'
import { FIRST_PREVIOUS_HASH } from '../event.ts'
import type { Account, AnalystAccount, Changes, NewRelease, StoredCharge } from '../protocol/rows.ts'

/** A row as a store writes it, keyed by column name. */
export type WrittenRow = Readonly<Record<string, string | number | bigint | boolean | Uint8Array | null>>

/**
 * Converts the changes of a batch to table rows, in the order in which they must be written. A row that is to be changed
 * also has values that it had when it was read, by names with `_before`: the store requires that it still has them.
 * Budgets are inserted before their events, and all of them are updated after these.
 */
export function writtenRows({ accounts, analysts, ...changes }: Changes) {
  return {
    newBudgets: accounts.filter(isNew).map(({ after }) => newBudget(after)),
    events: changes.events.map((event) => ({ ...event })),
    movedBudgets: accounts.map(movedBudget),
    newAnalysts: analysts.filter(isNew).map(analystRow),
    movedAnalysts: analysts.filter((change) => !isNew(change)).map(analystRow),
    newCharges: changes.newCharges.map(newCharge),
    movedCharges: changes.changedCharges.map(movedCharge),
    releases: changes.releases.map(releaseRow),
    sharedReleases: changes.sharedReleases.map(({ requestHash, ...shared }) => ({
      ...shared,
      request_hash: requestHash,
    })),
    sessions: changes.sessions.map(({ thresholdNoise, ...session }) => ({
      ...session,
      threshold_noise: thresholdNoise,
    })),
    sessionAnswers: changes.sessionAnswers.map(sessionAnswerRow),
    sources: changes.sources.map((source) => ({ ...source })),
  } satisfies Readonly<Record<string, readonly WrittenRow[]>>
}

function isNew({ before }: Partial<Changes['accounts' | 'analysts'][number]>): boolean {
  return before === undefined
}

function newBudget({ dataset, budget: { granted, cap } }: Account) {
  return {
    dataset,
    accounting: cap.accounting,
    ...capColumns({ granted, cap }),
    ...amountColumns('spent', noAmount(cap.accounting)),
    head_sequence: 0,
    head_hash: FIRST_PREVIOUS_HASH,
    failures: 0,
    suspended: false,
  }
}

/** The budget after the changes, with the debit since `before`. */
function movedBudget({ before, after }: Changes['accounts'][number]) {
  const { granted, cap, spent, population = null } = after.budget
  return {
    dataset: after.dataset,
    population,
    ...capColumns({ granted, cap }),
    ...amountColumns('debit', subtractAmounts(spent, before?.budget.spent ?? noAmount(cap.accounting))),
    head_sequence: after.headSequence,
    head_hash: after.headHash,
    head_hash_before: before?.headHash ?? FIRST_PREVIOUS_HASH,
    failures: after.failures,
    suspended: after.suspended,
  }
}

function capColumns({ granted, cap }: Pick<Account['budget'], 'granted' | 'cap'>) {
  return {
    cap_epsilon_nano: granted.epsilonNano,
    cap_delta_atto: granted.deltaAtto,
    cap_rho_pico: rhoOf(cap),
  }
}

function analystRow({ after }: { readonly after: AnalystAccount }) {
  const { dataset, principal, allotment, spent, spentOnShared, storedBytes, denials } = after
  return {
    dataset,
    principal,
    granted_epsilon_nano: allotment?.granted.epsilonNano ?? null,
    granted_delta_atto: allotment?.granted.deltaAtto ?? null,
    limit_rho_pico: allotment === undefined ? null : rhoOf(allotment.limit),
    ...amountColumns('spent', spent),
    ...amountColumns('shared', spentOnShared),
    stored_bytes: storedBytes,
    denials,
  }
}

function newCharge(charge: Changes['newCharges'][number]) {
  const { principal, dataset, request } = charge
  return {
    ...chargeColumns(charge),
    ...{ principal, dataset, request },
    idempotency_key: charge.idempotencyKey,
    request_hash: charge.requestHash,
  }
}

function movedCharge({ before, after, request }: Changes['changedCharges'][number]) {
  const earlier = { state_before: before.state, attempt_before: before.attempt }
  return { ...chargeColumns(after), ...earlier, request: request ?? null }
}

function chargeColumns({ id, price, state, attempt, sharing, ...charge }: StoredCharge) {
  return {
    ...{ id, state, attempt, sharing },
    ...amountColumns('loss', price),
    dataset_version: charge.datasetVersion,
    created_at_ms: charge.createdAtMs,
    leased_at_ms: charge.leasedAtMs,
    lease_expires_at_ms: charge.leaseExpiresAtMs,
    shared_from: charge.sharedFrom ?? null,
  }
}

function releaseRow({ answeredAtMs, answer: packed, ...release }: NewRelease) {
  return {
    ...release,
    answer: 'text' in packed ? packed.text : null,
    deflated: 'text' in packed ? null : packed.deflated,
    answered_at_ms: answeredAtMs,
  }
}

function sessionAnswerRow(answer: SessionAnswer) {
  const { idempotencyKey, requestHash, maxStoredBytes: _, ...recorded } = answer
  return { ...recorded, idempotency_key: idempotencyKey, request_hash: requestHash }
}

/** An amount as three columns. Units that its accounting does not use are 0. */
function amountColumns(name: string, amount: Amount): Readonly<Record<string, bigint>> {
  const { epsilonNano, deltaAtto } = amount.accounting === 'basic' ? amount : NO_LOSS
  return {
    [`${name}_epsilon_nano`]: epsilonNano,
    [`${name}_delta_atto`]: deltaAtto,
    [`${name}_rho_pico`]: rhoOf(amount),
  }
}

function rhoOf(amount: Amount): bigint {
  return amount.accounting === 'zcdp' ? amount.rhoPico : 0n
}
