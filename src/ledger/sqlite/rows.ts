import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AnalystSpending } from '../contract/budgets.ts'
import type { Member } from '../contract/chain.ts'
import { type Rows, spendingOf } from '../protocol/rows.ts'
import {
  accountFromRow,
  accountingFromRow,
  analystFromRow,
  answerFromRow,
  chargeFromRow,
  type Row,
  sessionFromRow,
  sourceFromRow,
  text,
} from '../stores/stored-row.ts'

/** The columns of `charges` that {@link chargeFromRow} reads. */
export const CHARGE_COLUMNS = `charges.id, charges.dataset, dataset_version, charges.principal, idempotency_key, request_hash,
  loss_epsilon_nano, loss_delta_atto, loss_rho_pico, state, attempt, created_at_ms, leased_at_ms,
  lease_expires_at_ms, sharing, shared_from`

/** Prepares statements from their texts by name. */
export function prepared<Name extends string>(
  database: DatabaseSync,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, StatementSync>> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, database.prepare(text)])
  return Object.fromEntries(statements)
}

/** Prepares the reading of single rows, for the protocol, and of the spending on a dataset. */
export function sqliteRows(database: DatabaseSync): Rows & {
  readonly spending: (dataset: string) => AnalystSpending[]
  readonly members: (population: string) => readonly Member[]
} {
  const findAccount = database.prepare('SELECT * FROM budgets WHERE dataset = :dataset')
  const findAnalyst = database.prepare(`
    SELECT analysts.*, budgets.accounting FROM analysts JOIN budgets USING (dataset)
    WHERE dataset = :dataset AND principal = :principal
  `)
  const findSpending = database.prepare(`
    SELECT analysts.*, budgets.accounting FROM analysts JOIN budgets USING (dataset)
    WHERE dataset = :dataset ORDER BY principal
  `)
  const findMembers = database.prepare(
    'SELECT * FROM budgets WHERE population = :population ORDER BY dataset',
  )
  const findCharge = database.prepare(`
    SELECT ${CHARGE_COLUMNS}, budgets.accounting FROM charges JOIN budgets USING (dataset) WHERE id = ?
  `)
  const findAnswer = database.prepare(`
    SELECT answer, deflated FROM releases WHERE charge = (SELECT number FROM charges WHERE id = :id)
  `)
  const findShared = database.prepare(`
    SELECT charges.id FROM shared_releases JOIN charges ON charges.number = shared_releases.charge
    WHERE shared_releases.dataset = :dataset AND shared_releases.request_hash = :requestHash
  `)
  const findSession = database.prepare(`
    SELECT charges.id, charges.dataset, charges.dataset_version, charges.principal,
      sessions.positives, sessions.terms, sessions.threshold_noise,
      (SELECT coalesce(max(question), 0) FROM sparse_vector_answers WHERE session = charges.number) AS answered,
      (SELECT count(*) FROM sparse_vector_answers WHERE session = charges.number AND above = 1) AS positives_found,
      (SELECT stored_bytes FROM analysts
        WHERE dataset = charges.dataset AND principal = charges.principal) AS stored_bytes
    FROM charges JOIN sparse_vector_sessions AS sessions ON sessions.charge = charges.number
    WHERE charges.id = :id
  `)
  const findSessionAnswer = database.prepare(`
    SELECT request_hash, answer FROM sparse_vector_answers
    WHERE session = (SELECT number FROM charges WHERE id = :session) AND idempotency_key = :idempotencyKey
  `)
  const findSources = database.prepare(`
    SELECT digest, sources.dataset, synthetic, population FROM sources JOIN budgets USING (dataset)
    WHERE digest = :digest OR sources.dataset = :dataset
  `)
  const analysts = (dataset: string) =>
    findSpending.all({ dataset }).map((row) => analystFromRow(row, accountingFromRow(row)))
  const spending = (dataset: string) => analysts(dataset).map(spendingOf)
  return {
    account: (dataset) => ifThere(findAccount.get({ dataset }), accountFromRow),
    analyst: (dataset, principal) =>
      ifThere(findAnalyst.get({ dataset, principal }), (row) => analystFromRow(row, accountingFromRow(row))),
    analysts,
    spending,
    members: (population) =>
      findMembers
        .all({ population })
        .map(accountFromRow)
        .map(({ dataset, budget: { spent } }) => ({ dataset, spent, spending: spending(dataset) })),
    charge: (id) => ifThere(findCharge.get(id), chargeFromRow),
    answer: (id) => ifThere(findAnswer.get({ id }), answerFromRow),
    sharedRelease: (dataset, requestHash) =>
      ifThere(findShared.get({ dataset, requestHash }), (row) => text(row, 'id')),
    session: (id) => ifThere(findSession.get({ id }), sessionFromRow),
    sessionAnswer: (session, idempotencyKey) =>
      ifThere(findSessionAnswer.get({ session, idempotencyKey }), (row) => ({
        requestHash: text(row, 'request_hash'),
        answer: text(row, 'answer'),
      })),
    sources: (digest, dataset) => findSources.all({ digest, dataset }).map(sourceFromRow),
  }
}

function ifThere<Value>(row: Row | undefined, from: (row: Row) => Value): Value | undefined {
  return row === undefined ? undefined : from(row)
}
