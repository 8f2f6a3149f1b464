import type { Changes } from '../protocol/rows.ts'
import type { Row } from '../stores/stored-row.ts'
import { writtenRows } from '../stores/written-rows.ts'

/* Conversion of rows from and to PostgreSQL. */

/**
 * The columns that {@link accountFromRow} reads. They are listed, because a prepared statement must not change its
 * result.
 */
export const BUDGET_COLUMNS = `dataset, accounting, cap_epsilon_nano, cap_delta_atto, cap_rho_pico, spent_epsilon_nano,
  spent_delta_atto, spent_rho_pico, head_sequence, head_hash, failures, suspended, population`

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
  const rows = writtenRows(changes)
  const releases = rows.releases.map(({ deflated, ...release }) => ({
    ...release,
    deflated: deflated && `\\x${Buffer.from(deflated).toString('hex')}`,
  }))
  return [
    ...[rows.newBudgets, rows.events, rows.movedBudgets, rows.newAnalysts, rows.movedAnalysts],
    ...[rows.newCharges, rows.movedCharges],
    ...[releases, rows.sharedReleases, rows.sessions, rows.sessionAnswers],
  ].map((written) => (written.length === 0 ? null : rowJson(written)))
}

/** Spells rows as JSON. Amounts are decimal texts, because JSON numbers do not hold all of them. */
export function rowJson(rows: object): string {
  return JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
}

/** Reads an array of rows from a JSON column of a result. */
export function rowsOf(row: Row, column: string): readonly Row[] {
  const rows = row[column]
  if (!Array.isArray(rows)) throw new TypeError(`the ledger's column ${column} is not an array of rows`)
  return rows
}
