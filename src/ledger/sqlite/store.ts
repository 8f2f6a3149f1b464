import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { noAmount, subtractAmounts } from '../../privacy/accounting.ts'
import { sha256 } from '../canonical.ts'
import { entryFromEvent, FIRST_PREVIOUS_HASH } from '../event.ts'
import { type AnalystSpending, type ChargeRecord, LedgerFault } from '../ledger.ts'
import {
  applyCommand,
  applyRead,
  type Call,
  isCommand,
  type ReadName,
  type Reads,
  type Settled,
} from '../operation.ts'
import { beginBatch, changesOf } from '../protocol/batch.ts'
import {
  type Account,
  type AnalystAccount,
  type Changes,
  expectRow,
  newAnalyst,
  type Rows,
  recordOf,
  type StoredCharge,
  spendingOf,
} from '../protocol/rows.ts'
import { sessionQuestion } from '../protocol/sessions.ts'
import { expectCount, expectPage, MAX_COUNT, MAX_PAGE } from '../range.ts'
import {
  accountFromRow,
  accountingFromRow,
  analystFromRow,
  chargeFromRow,
  columnsOf,
  count,
  type Row,
  sessionFromRow,
  text,
} from '../stored-row.ts'
import { isDiskFull, isStoreError, openSqliteDatabase } from './schema.ts'

/** A synchronous ledger over one SQLite file. It blocks its thread during I/O. */
export interface SqliteStore {
  /**
   * Carries out calls in order, in one transaction. A call that fails has no effect and does not affect the others.
   * Once this returns, every result is durable.
   * @throws LedgerFault `unknown` if the commit failed and the store can continue, `stopped` if it must not; Error if
   *    the tables refuse what one of the calls writes. The transaction is rolled back.
   */
  batch(calls: readonly Call[]): readonly Settled[]
  /**
   * Writes the log into the database file and closes it.
   * @throws LedgerFault `stopped` if that fails. The log remains durable and is read when the file is opened next.
   */
  close(): void
}

/**
 * Opens or creates the ledger in a SQLite file. Leases of attempts that an earlier process left unfinished are void.
 * @param now returns the time in milliseconds since 1970
 * @throws LedgerFault `in-use` or `unusable`.
 */
export function openSqliteStore(path: string, now: () => number): SqliteStore {
  return sqliteStore(openSqliteDatabase(path), now)
}

/**
 * Creates the store over a database from {@link openSqliteDatabase}.
 * @param now returns the time in milliseconds since 1970
 */
export function sqliteStore(database: DatabaseSync, now: () => number): SqliteStore {
  const rows = sqliteRows(database)
  const write = sqliteWriter(database)
  const reads = sqliteReads(database, rows, now)
  let stopped: LedgerFault | undefined

  function settleAll(calls: readonly Call[]): readonly Settled[] {
    let batch = beginBatch(rows, now())
    const settled = calls.map(settle)
    write(changesOf(batch))
    return settled

    function settle(call: Call): Settled {
      if (!isCommand(call)) {
        // A read must see the changes of the calls before it.
        write(changesOf(batch))
        batch = beginBatch(rows, now())
      }
      try {
        const result = isCommand(call) ? applyCommand(batch, call) : applyRead(reads, call as Call<ReadName>)
        return { kind: 'done', result }
      } catch (error) {
        // An error of SQLite concerns the whole batch.
        if (error instanceof Error && 'errcode' in error) throw error
        return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
      }
    }
  }

  function batch(calls: readonly Call[]): readonly Settled[] {
    if (stopped !== undefined) throw stopped
    try {
      database.exec('BEGIN IMMEDIATE')
      const settled = settleAll(calls)
      database.exec('COMMIT')
      return settled
    } catch (error) {
      const undone = rollBack()
      if (undone && isDiskFull(error)) throw new LedgerFault('unknown', 'the disk is full', error)
      if (undone && !isStoreError(error)) throw error
      // After a failed flush the operating system may report success for pages that it has lost. No later commit of
      // this process can be trusted.
      const reason = error instanceof Error ? error.message : String(error)
      stopped = new LedgerFault('stopped', `the ledger could not commit and has stopped: ${reason}`, error)
      throw stopped
    }
  }

  function rollBack(): boolean {
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
      return true
    } catch {
      return false
    }
  }

  return {
    batch,
    close() {
      try {
        if (stopped === undefined) database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new LedgerFault(
          'stopped',
          `the ledger was closed, but its log could not be written into the file: ${reason}`,
          error,
        )
      } finally {
        database.close()
      }
    },
  }
}

/** The columns of `charges` that {@link chargeFromRow} reads. */
const CHARGE_COLUMNS = `charges.id, charges.dataset, dataset_version, principal, idempotency_key, request_hash,
  loss_epsilon_nano, loss_delta_atto, loss_rho_pico, state, attempt, created_at_ms, leased_at_ms,
  lease_expires_at_ms, sharing, shared_from`

function sqliteRows(
  database: DatabaseSync,
): Rows & { readonly spending: (dataset: string) => AnalystSpending[] } {
  const findAccount = database.prepare('SELECT * FROM budgets WHERE dataset = :dataset')
  const findAnalyst = database.prepare(`
    SELECT analysts.*, budgets.accounting FROM analysts JOIN budgets USING (dataset)
    WHERE dataset = :dataset AND principal = :principal
  `)
  const findSpending = database.prepare(`
    SELECT analysts.*, budgets.accounting FROM analysts JOIN budgets USING (dataset)
    WHERE dataset = :dataset ORDER BY principal
  `)
  const findCharge = database.prepare(`
    SELECT ${CHARGE_COLUMNS}, budgets.accounting FROM charges JOIN budgets USING (dataset) WHERE id = ?
  `)
  const findAnswer = database.prepare(`
    SELECT answer FROM releases WHERE charge = (SELECT number FROM charges WHERE id = :id)
  `)
  const findShared = database.prepare(`
    SELECT charges.id FROM shared_releases JOIN charges ON charges.number = shared_releases.charge
    WHERE shared_releases.dataset = :dataset AND shared_releases.request_hash = :requestHash
  `)
  const findSession = database.prepare(`
    SELECT charges.id, charges.dataset, charges.dataset_version, charges.principal,
      sessions.positives, sessions.terms, sessions.threshold_noise,
      (SELECT coalesce(max(question), 0) FROM sparse_vector_answers WHERE session = charges.number) AS answered,
      (SELECT count(*) FROM sparse_vector_answers WHERE session = charges.number AND above = 1) AS positives_found
    FROM charges JOIN sparse_vector_sessions AS sessions ON sessions.charge = charges.number
    WHERE charges.id = :id
  `)
  const findSessionAnswer = database.prepare(`
    SELECT request_hash, answer FROM sparse_vector_answers
    WHERE session = (SELECT number FROM charges WHERE id = :session) AND idempotency_key = :idempotencyKey
  `)
  return {
    account: (dataset) => ifThere(findAccount.get({ dataset }), accountFromRow),
    analyst: (dataset, principal) =>
      ifThere(findAnalyst.get({ dataset, principal }), (row) => analystFromRow(row, accountingFromRow(row))),
    spending: (dataset) =>
      findSpending.all({ dataset }).map((row) => spendingOf(analystFromRow(row, accountingFromRow(row)))),
    charge: (id) => ifThere(findCharge.get(id), chargeFromRow),
    answer: (id) => ifThere(findAnswer.get({ id }), (row) => text(row, 'answer')),
    sharedRelease: (dataset, requestHash) =>
      ifThere(findShared.get({ dataset, requestHash }), (row) => text(row, 'id')),
    session: (id) => ifThere(findSession.get({ id }), sessionFromRow),
    sessionAnswer: (session, idempotencyKey) =>
      ifThere(findSessionAnswer.get({ session, idempotencyKey }), (row) => ({
        requestHash: text(row, 'request_hash'),
        answer: text(row, 'answer'),
      })),
  }
}

/**
 * Prepares the writes of a batch. Each requires the row as it was read, so that a row changed since then stops the
 * batch.
 */
function sqliteWriter(database: DatabaseSync): (changes: Changes) => void {
  const insertAccount = database.prepare(`
    INSERT INTO budgets (dataset, accounting, cap_epsilon_nano, cap_delta_atto, cap_rho_pico,
      spent_epsilon_nano, spent_delta_atto, spent_rho_pico, head_sequence, head_hash)
    VALUES (:dataset, :accounting, :grantedEpsilonNano, :grantedDeltaAtto, :capRhoPico, 0, 0, 0, 0, :headHash)
  `)
  const updateAccount = database.prepare(`
    UPDATE budgets
    SET cap_epsilon_nano = :grantedEpsilonNano, cap_delta_atto = :grantedDeltaAtto, cap_rho_pico = :capRhoPico,
      spent_epsilon_nano = spent_epsilon_nano + :epsilonNano, spent_delta_atto = spent_delta_atto + :deltaAtto,
      spent_rho_pico = spent_rho_pico + :rhoPico, head_sequence = :headSequence, head_hash = :headHash
    WHERE dataset = :dataset AND head_hash = :headHashBefore
      AND CASE accounting
        WHEN 'basic' THEN :grantedEpsilonNano - spent_epsilon_nano >= :epsilonNano
          AND :grantedDeltaAtto - spent_delta_atto >= :deltaAtto
        ELSE :capRhoPico - spent_rho_pico >= :rhoPico END
  `)
  const insertAnalyst = database.prepare(`
    INSERT INTO analysts (dataset, principal, granted_epsilon_nano, granted_delta_atto, limit_rho_pico,
      spent_epsilon_nano, spent_delta_atto, spent_rho_pico, shared_epsilon_nano, shared_delta_atto, shared_rho_pico)
    VALUES (:dataset, :principal, :grantedEpsilonNano, :grantedDeltaAtto, :limitRhoPico,
      :epsilonNano, :deltaAtto, :rhoPico, :sharedEpsilonNano, :sharedDeltaAtto, :sharedRhoPico)
  `)
  const updateAnalyst = database.prepare(`
    UPDATE analysts
    SET granted_epsilon_nano = :grantedEpsilonNano, granted_delta_atto = :grantedDeltaAtto,
      limit_rho_pico = :limitRhoPico, spent_epsilon_nano = :epsilonNano, spent_delta_atto = :deltaAtto,
      spent_rho_pico = :rhoPico, shared_epsilon_nano = :sharedEpsilonNano, shared_delta_atto = :sharedDeltaAtto,
      shared_rho_pico = :sharedRhoPico
    WHERE dataset = :dataset AND principal = :principal
  `)
  const insertEvents = rowInserter(database, 'events', [
    'dataset',
    'sequence',
    'principal',
    'canonical',
    'hash',
  ])
  const insertCharges = rowInserter(database, 'charges', [
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
  const updateCharge = database.prepare(`
    UPDATE charges
    SET state = :state, attempt = :attempt, dataset_version = :datasetVersion, loss_epsilon_nano = :epsilonNano,
      loss_delta_atto = :deltaAtto, loss_rho_pico = :rhoPico, leased_at_ms = :leasedAtMs,
      lease_expires_at_ms = :leaseExpiresAtMs, sharing = :sharing, shared_from = :sharedFrom
    WHERE id = :id AND state = :stateBefore AND attempt = :attemptBefore
  `)
  const insertRelease = database.prepare(`
    INSERT INTO releases (charge, answer) SELECT number, :answer FROM charges WHERE id = :charge
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
    for (const { before, after } of changes.accounts) {
      if (before === undefined) insertAccount.run(newAccountValues(after))
    }
    insertEvents(changes.events, eventValues)
    for (const { before, after } of changes.accounts) {
      expectOneChange(updateAccount.run(accountValues(before, after)))
    }
    for (const { before, after } of changes.analysts) {
      expectOneChange((before === undefined ? insertAnalyst : updateAnalyst).run(analystValues(after)))
    }
    insertCharges(changes.newCharges, newChargeValues)
    for (const { before, after } of changes.changedCharges) {
      expectOneChange(
        updateCharge.run({
          ...chargeValues(after),
          stateBefore: before.state,
          attemptBefore: before.attempt,
        }),
      )
    }
    for (const release of changes.releases) expectOneChange(insertRelease.run({ ...release }))
    for (const shared of changes.sharedReleases) expectOneChange(insertShared.run({ ...shared }))
    for (const session of changes.sessions) expectOneChange(insertSession.run({ ...session }))
    for (const answer of changes.sessionAnswers) {
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

function sqliteReads(database: DatabaseSync, rows: ReturnType<typeof sqliteRows>, now: () => number): Reads {
  const findOpening = database.prepare(`
    SELECT answer FROM releases WHERE charge = (SELECT number FROM charges WHERE id = :id)
  `)
  const findSessionAnswers = database.prepare(`
    SELECT question, request, answer FROM sparse_vector_answers
    WHERE session = (SELECT number FROM charges WHERE id = :id) AND question < :before
    ORDER BY question DESC LIMIT :limit
  `)
  const findEvents = database.prepare(`
    SELECT canonical, hash FROM events
    WHERE dataset = :dataset AND sequence < :before
    ORDER BY sequence DESC LIMIT :limit
  `)
  const findEventsAfter = database.prepare(`
    SELECT canonical, hash FROM events
    WHERE dataset = :dataset AND sequence > :after
    ORDER BY sequence LIMIT :limit
  `)
  const findEventsOfPrincipal = database.prepare(`
    SELECT canonical, hash FROM events INDEXED BY events_of_principal
    WHERE dataset = :dataset AND principal = :principal AND sequence < :before
    ORDER BY sequence DESC LIMIT :limit
  `)
  const findLastVersion = database.prepare(`
    SELECT coalesce(max(CAST(dataset_version AS INTEGER)), 0) AS version FROM charges WHERE dataset = :dataset
  `)
  const findDatasets = database.prepare('SELECT dataset FROM budgets ORDER BY dataset')
  const findRelease = database.prepare(`
    SELECT charges.dataset, charges.principal, releases.answer
    FROM charges JOIN releases ON releases.charge = charges.number
    WHERE charges.id = :id
  `)
  const findRecords = database.prepare(`
    SELECT ${CHARGE_COLUMNS}, budgets.accounting, releases.answer
    FROM json_each(:ids) AS asked CROSS JOIN charges ON charges.id = asked.value JOIN budgets USING (dataset)
      LEFT JOIN releases ON releases.charge = charges.number
  `)
  const countCharges = database.prepare('SELECT dataset, count(*) AS charges FROM charges GROUP BY dataset')
  const probe = database.prepare('SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1)')

  return {
    budget: (dataset) => rows.account(dataset)?.budget,
    analystSpending(dataset, principal) {
      const account = rows.account(dataset)
      if (account === undefined) return undefined
      return spendingOf(rows.analyst(dataset, principal) ?? newAnalyst(account, principal))
    },
    head(dataset) {
      const account = rows.account(dataset)
      if (account === undefined) return undefined
      const { budget, headSequence, headHash } = account
      return { sequence: headSequence, hash: headHash, budget, spending: rows.spending(dataset) }
    },
    datasets: () => findDatasets.all().map((row) => text(row, 'dataset')),
    session(id) {
      const found = rows.session(id)
      if (found === undefined) return undefined
      const { dataset, datasetVersion, principal, answered, positives, positivesFound } = found
      const opening = text(expectRow(findOpening.get({ id })), 'answer')
      const positivesLeft = positives - positivesFound
      return { id, dataset, datasetVersion, principal, opening, answered, positivesLeft }
    },
    sessionQuestion: (question) => sessionQuestion(beginBatch(rows, now()), question),
    sessionAnswers(id, { limit, beforeQuestion = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeQuestion', beforeQuestion, MAX_COUNT)
      return findSessionAnswers.all({ id, before: beforeQuestion, limit }).map((row) => ({
        question: count(row, 'question'),
        request: text(row, 'request'),
        answer: text(row, 'answer'),
      }))
    },
    entries(dataset, { limit, principal, beforeSequence: before = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeSequence', before, MAX_COUNT)
      const found =
        principal === undefined
          ? findEvents.all({ dataset, before, limit })
          : findEventsOfPrincipal.all({ dataset, before, limit, principal })
      return found.map((row) => entryFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    events(dataset, { limit, afterSequence }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('afterSequence', afterSequence + 1, MAX_COUNT)
      const found = findEventsAfter.all({ dataset, after: afterSequence, limit })
      return found.map((row) => ({ canonical: text(row, 'canonical'), hash: text(row, 'hash') }))
    },
    release(id) {
      const row = findRelease.get({ id })
      if (row === undefined) return undefined
      return {
        id,
        dataset: text(row, 'dataset'),
        principal: text(row, 'principal'),
        answer: text(row, 'answer'),
      }
    },
    chargeRecords(ids) {
      expectPage(ids)
      const records: ChargeRecord[] = []
      // One row at a time, because all answers together may not fit into memory.
      for (const row of findRecords.iterate({ ids: JSON.stringify(ids) }))
        records.push(
          recordOf(chargeFromRow(row), row.answer === null ? undefined : sha256(text(row, 'answer'))),
        )
      return records
    },
    chargeCounts: () =>
      new Map(countCharges.all().map((row) => [text(row, 'dataset'), count(row, 'charges')])),
    lastDatasetVersion: (dataset) => count(expectRow(findLastVersion.get({ dataset })), 'version'),
    healthy: () => probe.get() !== undefined,
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
function accountValues(before: Account | undefined, { dataset, budget, headSequence, headHash }: Account) {
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
  }
}

function analystValues({ dataset, principal, allotment, spent, spentOnShared }: AnalystAccount) {
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
  }
}

/** Values in the order of the columns. */
function eventValues({ dataset, sequence, principal, canonical, hash }: Changes['events'][number]) {
  return [dataset, sequence, principal, canonical, hash]
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

function ifThere<Value>(row: Row | undefined, from: (row: Row) => Value): Value | undefined {
  return row === undefined ? undefined : from(row)
}

function expectOneChange(result: { readonly changes: number | bigint }): void {
  if (BigInt(result.changes) !== 1n) throw new Error('a row of the ledger has changed since it was read')
}
