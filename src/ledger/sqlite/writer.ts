import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { noAmount, subtractAmounts } from '../../privacy/accounting.ts'
import { FIRST_PREVIOUS_HASH } from '../event.ts'
import type { Account, AnalystAccount, Changes, StoredCharge } from '../protocol/rows.ts'
import { columnsOf } from '../stored-row.ts'

/**
 * Prepares the writes of a batch. Each write requires that the row still has the values that were read; a row changed
 * since then stops the batch.
 */
export function sqliteWriter(database: DatabaseSync): (changes: Changes) => void {
  const accounts = accountWriter(database)
  const insertEvents = rowInserter(database, 'events', [
    'dataset',
    'sequence',
    'principal',
    'canonical',
    'hash',
    'counted',
  ])
  const writeAnalyst = analystWriter(database)
  const charges = chargeWriter(database)
  const writeAnswers = answerWriter(database)
  const insertSource = database.prepare(
    'INSERT INTO sources (digest, dataset, synthetic) VALUES (:digest, :dataset, :synthetic)',
  )
  return (changes) => {
    for (const { before, after } of changes.accounts) if (before === undefined) accounts.insert(after)
    insertEvents(changes.events, eventValues)
    for (const { before, after } of changes.accounts) accounts.update(before, after)
    for (const { before, after } of changes.analysts) writeAnalyst(before, after)
    charges.insert(changes.newCharges, newChargeValues)
    for (const change of changes.changedCharges) charges.update(change)
    writeAnswers(changes)
    for (const { digest, dataset, synthetic } of changes.sources)
      insertSource.run({ digest, dataset, synthetic: synthetic ? 1 : 0 })
  }
}

/** Prepares the writes of budgets. A budget is inserted before its events and updated after them. */
function accountWriter(database: DatabaseSync) {
  const insert = database.prepare(`
    INSERT INTO budgets (dataset, accounting, cap_epsilon_nano, cap_delta_atto, cap_rho_pico,
      spent_epsilon_nano, spent_delta_atto, spent_rho_pico, head_sequence, head_hash)
    VALUES (:dataset, :accounting, :grantedEpsilonNano, :grantedDeltaAtto, :capRhoPico, 0, 0, 0, 0, :headHash)
  `)
  const update = database.prepare(`
    UPDATE budgets
    SET cap_epsilon_nano = :grantedEpsilonNano, cap_delta_atto = :grantedDeltaAtto, cap_rho_pico = :capRhoPico,
      spent_epsilon_nano = spent_epsilon_nano + :epsilonNano, spent_delta_atto = spent_delta_atto + :deltaAtto,
      spent_rho_pico = spent_rho_pico + :rhoPico, head_sequence = :headSequence, head_hash = :headHash,
      failures = :failures, suspended = :suspended
    WHERE dataset = :dataset AND head_hash = :headHashBefore
      AND CASE accounting
        WHEN 'basic' THEN :grantedEpsilonNano - spent_epsilon_nano >= :epsilonNano
          AND :grantedDeltaAtto - spent_delta_atto >= :deltaAtto
        ELSE :capRhoPico - spent_rho_pico >= :rhoPico END
  `)
  return {
    insert(account: Account): void {
      insert.run(newAccountValues(account))
    },
    update(before: Account | undefined, after: Account): void {
      expectOneChange(update.run(accountValues(before, after)))
    },
  }
}

function analystWriter(
  database: DatabaseSync,
): (before: AnalystAccount | undefined, after: AnalystAccount) => void {
  const insert = database.prepare(`
    INSERT INTO analysts (dataset, principal, granted_epsilon_nano, granted_delta_atto, limit_rho_pico,
      spent_epsilon_nano, spent_delta_atto, spent_rho_pico, shared_epsilon_nano, shared_delta_atto, shared_rho_pico,
      stored_bytes, denials)
    VALUES (:dataset, :principal, :grantedEpsilonNano, :grantedDeltaAtto, :limitRhoPico,
      :epsilonNano, :deltaAtto, :rhoPico, :sharedEpsilonNano, :sharedDeltaAtto, :sharedRhoPico,
      :storedBytes, :denials)
  `)
  const update = database.prepare(`
    UPDATE analysts
    SET granted_epsilon_nano = :grantedEpsilonNano, granted_delta_atto = :grantedDeltaAtto,
      limit_rho_pico = :limitRhoPico, spent_epsilon_nano = :epsilonNano, spent_delta_atto = :deltaAtto,
      spent_rho_pico = :rhoPico, shared_epsilon_nano = :sharedEpsilonNano, shared_delta_atto = :sharedDeltaAtto,
      shared_rho_pico = :sharedRhoPico, stored_bytes = :storedBytes, denials = :denials
    WHERE dataset = :dataset AND principal = :principal
  `)
  return (before, after) =>
    expectOneChange((before === undefined ? insert : update).run(analystValues(after)))
}

function chargeWriter(database: DatabaseSync) {
  const insert = rowInserter(database, 'charges', [
    'id',
    'principal',
    'idempotency_key',
    'dataset',
    'dataset_version',
    'request_hash',
    'request',
    'loss_epsilon_nano',
    'loss_delta_atto',
    'loss_rho_pico',
    'state',
    'attempt',
    'created_at_ms',
    'leased_at_ms',
    'lease_expires_at_ms',
    'sharing',
    'shared_from',
  ])
  const update = database.prepare(`
    UPDATE charges
    SET state = :state, attempt = :attempt, dataset_version = :datasetVersion, loss_epsilon_nano = :epsilonNano,
      loss_delta_atto = :deltaAtto, loss_rho_pico = :rhoPico, leased_at_ms = :leasedAtMs,
      lease_expires_at_ms = :leaseExpiresAtMs, sharing = :sharing, shared_from = :sharedFrom,
      request = coalesce(:request, request)
    WHERE id = :id AND state = :stateBefore AND attempt = :attemptBefore
  `)
  return {
    insert,
    update({ before, after, request }: Changes['changedCharges'][number]): void {
      const earlier = { stateBefore: before.state, attemptBefore: before.attempt }
      const values = { ...chargeValues(after), ...earlier, request: request ?? null }
      expectOneChange(update.run(values))
    },
  }
}

/** Prepares the writes of answers and sessions, all of which are new rows. */
function answerWriter(database: DatabaseSync): (changes: Changes) => void {
  const insertRelease = database.prepare(`
    INSERT INTO releases (charge, answer, deflated, dataset, principal, kind, answered_at_ms)
    SELECT number, :answer, :deflated, dataset, principal, :kind, :answeredAtMs FROM charges WHERE id = :charge
  `)
  const insertShared = database.prepare(`
    INSERT INTO shared_releases (dataset, request_hash, charge)
    SELECT :dataset, :requestHash, number FROM charges WHERE id = :charge
  `)
  const insertSession = database.prepare(`
    INSERT INTO sparse_vector_sessions (charge, positives, terms, threshold_noise)
    SELECT number, :positives, :terms, :thresholdNoise FROM charges WHERE id = :charge
  `)
  const insertSessionAnswer = database.prepare(`
    INSERT INTO sparse_vector_answers (session, question, idempotency_key, request_hash, request, above, answer)
    SELECT number, :question, :idempotencyKey, :requestHash, :request, :above, :answer
    FROM charges WHERE id = :session
  `)
  return (changes) => {
    for (const { charge, kind, answeredAtMs, answer } of changes.releases) {
      const columns =
        'text' in answer ? { answer: answer.text, deflated: null } : { answer: '', deflated: answer.deflated }
      expectOneChange(insertRelease.run({ charge, kind, answeredAtMs, ...columns }))
    }
    for (const shared of changes.sharedReleases) expectOneChange(insertShared.run({ ...shared }))
    for (const session of changes.sessions) expectOneChange(insertSession.run({ ...session }))
    for (const { maxStoredBytes: _, ...answer } of changes.sessionAnswers) {
      expectOneChange(insertSessionAnswer.run({ ...answer, above: answer.above ? 1 : 0 }))
    }
  }
}

/** Rows per INSERT. One statement with 16 rows takes two thirds of the time of 16 statements. */
const ROWS_TOGETHER = 16

/** Prepares the insertion of rows. `valuesOf` returns the values in the order of the columns. */
function rowInserter(
  database: DatabaseSync,
  table: string,
  columns: readonly string[],
): <Row>(rows: readonly Row[], valuesOf: (row: Row) => readonly SQLInputValue[]) => void {
  const row = `(${columns.map(() => '?').join(', ')})`
  const statement = (rows: number) =>
    database.prepare(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array.from({ length: rows }, () => row).join(', ')}`,
    )
  const [single, several] = [statement(1), statement(ROWS_TOGETHER)]
  return (rows, valuesOf) => {
    const together = rows.length - (rows.length % ROWS_TOGETHER)
    for (let start = 0; start < together; start += ROWS_TOGETHER)
      several.run(...rows.slice(start, start + ROWS_TOGETHER).flatMap(valuesOf))
    for (const row of rows.slice(together)) single.run(...valuesOf(row))
  }
}

function newAccountValues({ dataset, budget: { granted, cap } }: Account) {
  return {
    dataset,
    accounting: cap.accounting,
    grantedEpsilonNano: granted.epsilonNano,
    grantedDeltaAtto: granted.deltaAtto,
    capRhoPico: columnsOf(cap).rhoPico,
    headHash: FIRST_PREVIOUS_HASH,
  }
}

/** The account after the changes, with the debit since `before`. */
function accountValues(before: Account | undefined, after: Account) {
  const { dataset, budget, headSequence, headHash, failures, suspended } = after
  const { granted, cap, spent } = budget
  return {
    dataset,
    grantedEpsilonNano: granted.epsilonNano,
    grantedDeltaAtto: granted.deltaAtto,
    capRhoPico: columnsOf(cap).rhoPico,
    ...columnsOf(subtractAmounts(spent, before?.budget.spent ?? noAmount(cap.accounting))),
    headSequence,
    headHash,
    headHashBefore: before?.headHash ?? FIRST_PREVIOUS_HASH,
    failures,
    suspended: suspended ? 1 : 0,
  }
}

function analystValues(analyst: AnalystAccount) {
  const { dataset, principal, allotment, spent, spentOnShared, storedBytes, denials } = analyst
  const shared = columnsOf(spentOnShared)
  return {
    dataset,
    principal,
    grantedEpsilonNano: allotment?.granted.epsilonNano ?? null,
    grantedDeltaAtto: allotment?.granted.deltaAtto ?? null,
    limitRhoPico: allotment === undefined ? null : columnsOf(allotment.limit).rhoPico,
    ...columnsOf(spent),
    sharedEpsilonNano: shared.epsilonNano,
    sharedDeltaAtto: shared.deltaAtto,
    sharedRhoPico: shared.rhoPico,
    storedBytes,
    denials,
  }
}

/** Values in the order of the columns. */
function eventValues({ dataset, sequence, principal, canonical, hash, counted }: Changes['events'][number]) {
  return [dataset, sequence, principal, canonical, hash, counted ? 1 : 0]
}

/** Values in the order of the columns. */
function newChargeValues(charge: Changes['newCharges'][number]): readonly SQLInputValue[] {
  const { epsilonNano, deltaAtto, rhoPico } = columnsOf(charge.price)
  return [
    charge.id,
    charge.principal,
    charge.idempotencyKey,
    charge.dataset,
    charge.datasetVersion,
    charge.requestHash,
    charge.request,
    epsilonNano,
    deltaAtto,
    rhoPico,
    charge.state,
    charge.attempt,
    charge.createdAtMs,
    charge.leasedAtMs,
    charge.leaseExpiresAtMs,
    charge.sharing ? 1 : 0,
    charge.sharedFrom ?? null,
  ]
}

function chargeValues(charge: StoredCharge) {
  const { id, datasetVersion, price, state, attempt, leasedAtMs, leaseExpiresAtMs, sharing, sharedFrom } =
    charge
  return {
    id,
    datasetVersion,
    ...columnsOf(price),
    state,
    attempt,
    leasedAtMs,
    leaseExpiresAtMs,
    sharing: sharing ? 1 : 0,
    sharedFrom: sharedFrom ?? null,
  }
}

function expectOneChange(result: { readonly changes: number | bigint }): void {
  if (BigInt(result.changes) !== 1n) throw new Error('a row of the ledger has changed since it was read')
}
