import { type Amount, noAmount, subtractAmounts } from '../../privacy/accounting.ts'
import type { PrivacyLoss } from '../../privacy/loss.ts'
import { FIRST_PREVIOUS_HASH } from '../event.ts'
import type { Account, AnalystAccount, Changes, StoredCharge } from '../protocol/rows.ts'
import { columnsOf, type Row } from '../stored-row.ts'

/*
 * Conversion of rows from and to PostgreSQL. Amounts are sent as decimal texts, because JSON numbers do not hold all of
 * them.
 */

/**
 * The columns that {@link accountFromRow} reads. They are listed, because a prepared statement must not change its
 * result.
 */
export const BUDGET_COLUMNS = `dataset, accounting, cap_epsilon_nano, cap_delta_atto, cap_rho_pico, spent_epsilon_nano,
  spent_delta_atto, spent_rho_pico, head_sequence, head_hash, failures, suspended`

/** The columns that {@link analystFromRow} reads, as a JSON object. */
export const ANALYST_JSON = `json_build_object('dataset', dataset, 'principal', principal,
  'granted_epsilon_nano', granted_epsilon_nano::text, 'granted_delta_atto', granted_delta_atto::text,
  'limit_rho_pico', limit_rho_pico::text, 'spent_epsilon_nano', spent_epsilon_nano::text,
  'spent_delta_atto', spent_delta_atto::text, 'spent_rho_pico', spent_rho_pico::text,
  'shared_epsilon_nano', shared_epsilon_nano::text, 'shared_delta_atto', shared_delta_atto::text,
  'shared_rho_pico', shared_rho_pico::text,
  'stored_bytes', stored_bytes, 'denials', denials)`

/** The columns of `charges` and its budget that {@link chargeFromRow} reads, as a JSON object. */
export const CHARGE_JSON = `json_build_object('id', id, 'dataset', charges.dataset, 'dataset_version', dataset_version,
  'principal', charges.principal, 'idempotency_key', idempotency_key, 'request_hash', request_hash, 'accounting', accounting,
  'loss_epsilon_nano', loss_epsilon_nano::text, 'loss_delta_atto', loss_delta_atto::text,
  'loss_rho_pico', loss_rho_pico::text, 'state', state, 'attempt', attempt, 'created_at_ms', created_at_ms,
  'leased_at_ms', leased_at_ms, 'lease_expires_at_ms', lease_expires_at_ms, 'sharing', sharing,
  'shared_from', shared_from)`

/** The columns that {@link sessionFromRow} reads from `sessions` joined to `charges`, as a JSON object. */
export const SESSION_JSON = `json_build_object('id', charges.id, 'dataset', charges.dataset,
  'dataset_version', charges.dataset_version, 'principal', charges.principal, 'positives', sessions.positives,
  'terms', sessions.terms, 'threshold_noise', sessions.threshold_noise::text,
  'answered',
    (SELECT coalesce(max(question), 0) FROM sotto.sparse_vector_answers WHERE session = sessions.charge),
  'positives_found',
    (SELECT count(*) FROM sotto.sparse_vector_answers WHERE session = sessions.charge AND above),
  'stored_bytes',
    (SELECT stored_bytes FROM sotto.analysts
      WHERE analysts.dataset = charges.dataset AND analysts.principal = charges.principal))`

/** Builds the arguments of `sotto.write_changes`: JSON arrays of rows, or `null` for none. */
export function writeArguments(changes: Changes): readonly (string | null)[] {
  const newAccounts = changes.accounts.filter(({ before }) => before === undefined)
  return [
    rowsJson(newAccounts, ({ after }) => newBudget(after)),
    rowsJson(changes.events, ({ dataset, sequence, principal, canonical, hash, counted }) => ({
      dataset,
      sequence,
      principal,
      canonical,
      hash,
      counted,
    })),
    rowsJson(changes.accounts, movedBudget),
    rowsJson(
      changes.analysts.filter(({ before }) => before === undefined),
      ({ after }) => analyst(after),
    ),
    rowsJson(
      changes.analysts.filter(({ before }) => before !== undefined),
      ({ after }) => analyst(after),
    ),
    rowsJson(changes.newCharges, newCharge),
    rowsJson(changes.changedCharges, movedCharge),
    rowsJson(changes.releases, ({ charge, dataset, principal, kind, answeredAtMs, answer }) => ({
      ...{ charge, dataset, principal, kind },
      answered_at_ms: answeredAtMs,
      ...('text' in answer
        ? { answer: answer.text }
        : { deflated: `\\x${Buffer.from(answer.deflated).toString('hex')}` }),
    })),
    rowsJson(changes.sharedReleases, ({ dataset, requestHash, charge }) => ({
      dataset,
      request_hash: requestHash,
      charge,
    })),
    rowsJson(changes.sessions, ({ charge, positives, terms, thresholdNoise }) => ({
      charge,
      positives,
      terms,
      threshold_noise: thresholdNoise.toString(),
    })),
    rowsJson(changes.sessionAnswers, (recorded) => {
      const { session, question, idempotencyKey, requestHash, request, above, answer } = recorded
      return {
        session,
        question,
        idempotency_key: idempotencyKey,
        request_hash: requestHash,
        request,
        above,
        answer,
      }
    }),
  ]
}

function rowsJson<Change>(changes: readonly Change[], row: (change: Change) => object): string | null {
  return changes.length === 0 ? null : JSON.stringify(changes.map(row))
}

function newBudget({ dataset, budget: { granted, cap } }: Account) {
  return {
    dataset,
    accounting: cap.accounting,
    ...capColumns(granted, cap),
    ...amountColumns('spent', noAmount(cap.accounting)),
    head_sequence: 0,
    head_hash: FIRST_PREVIOUS_HASH,
    failures: 0,
    suspended: false,
  }
}

/** The budget after the changes, with the debit since `before`. */
function movedBudget({ before, after }: Changes['accounts'][number]) {
  const { granted, cap, spent } = after.budget
  return {
    dataset: after.dataset,
    ...capColumns(granted, cap),
    ...amountColumns('debit', subtractAmounts(spent, before?.budget.spent ?? noAmount(cap.accounting))),
    head_sequence: after.headSequence,
    head_hash: after.headHash,
    head_hash_before: before?.headHash ?? FIRST_PREVIOUS_HASH,
    failures: after.failures,
    suspended: after.suspended,
  }
}

function capColumns(granted: PrivacyLoss, cap: Amount) {
  return {
    cap_epsilon_nano: granted.epsilonNano.toString(),
    cap_delta_atto: granted.deltaAtto.toString(),
    cap_rho_pico: columnsOf(cap).rhoPico.toString(),
  }
}

function analyst(account: AnalystAccount) {
  const { dataset, principal, allotment, spent, spentOnShared, storedBytes, denials } = account
  return {
    dataset,
    principal,
    granted_epsilon_nano: allotment?.granted.epsilonNano.toString() ?? null,
    granted_delta_atto: allotment?.granted.deltaAtto.toString() ?? null,
    limit_rho_pico: allotment === undefined ? null : columnsOf(allotment.limit).rhoPico.toString(),
    ...amountColumns('spent', spent),
    ...amountColumns('shared', spentOnShared),
    stored_bytes: storedBytes,
    denials,
  }
}

function newCharge(charge: Changes['newCharges'][number]) {
  return {
    ...chargeColumns(charge),
    principal: charge.principal,
    idempotency_key: charge.idempotencyKey,
    dataset: charge.dataset,
    request_hash: charge.requestHash,
    request: charge.request,
    created_at_ms: charge.createdAtMs,
  }
}

function movedCharge({ before, after, request }: Changes['changedCharges'][number]) {
  const earlier = { state_before: before.state, attempt_before: before.attempt }
  return { ...chargeColumns(after), ...earlier, request: request ?? null }
}

function chargeColumns(charge: StoredCharge) {
  return {
    id: charge.id,
    dataset_version: charge.datasetVersion,
    ...amountColumns('loss', charge.price),
    state: charge.state,
    attempt: charge.attempt,
    leased_at_ms: charge.leasedAtMs,
    lease_expires_at_ms: charge.leaseExpiresAtMs,
    sharing: charge.sharing,
    shared_from: charge.sharedFrom ?? null,
  }
}

function amountColumns(name: string, amount: Amount): Record<string, string> {
  const columns = columnsOf(amount)
  return {
    [`${name}_epsilon_nano`]: columns.epsilonNano.toString(),
    [`${name}_delta_atto`]: columns.deltaAtto.toString(),
    [`${name}_rho_pico`]: columns.rhoPico.toString(),
  }
}

/** Reads an array of rows from a JSON column of a result. */
export function rowsOf(row: Row, column: string): readonly Row[] {
  const rows = row[column]
  if (!Array.isArray(rows)) throw new TypeError(`the ledger's column ${column} is not an array of rows`)
  return rows
}
