import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import {
  type DeltaAtto,
  deltaAtto,
  type EpsilonNano,
  epsilonNano,
  NO_LOSS,
  ONE_DELTA_ATTO,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { sha256 } from './canonical.ts'
import { chargeId } from './charge-id.ts'
import { canonicalEvent, entryFromEvent, eventLoss, FIRST_PREVIOUS_HASH, type LedgerEvent } from './event.ts'
import { LedgerFault } from './fault.ts'
import type {
  Budget,
  Charge,
  ChargeOutcome,
  ChargeRequest,
  LedgerEntry,
  NewSession,
  OpenOutcome,
  SessionAnswer,
  SessionQuestion,
  SessionQuestionOutcome,
  StoredEvent,
  StoredRelease,
  StoredSession,
  StoredSessionAnswer,
} from './ledger.ts'
import { type Call, type Operations, perform, type Settled } from './operation.ts'
import {
  isDiskFull,
  isStoreError,
  MAX_CAP_DELTA_ATTO,
  MAX_EPSILON_NANO,
  MAX_THRESHOLD_NOISE,
  openSqliteDatabase,
} from './sqlite-schema.ts'

/** The longest lease of an attempt: one day. */
const MAX_LEASE_MS = 86_400_000
const MAX_PAGE = 1_000

/** A ledger over one SQLite file, synchronous: it blocks its thread while the disk works. */
export interface SqliteStore {
  /**
   * Carry out calls in their order and make them durable together. One that fails leaves no trace and does not touch
   * the others. All that is returned is durable.
   * @throws LedgerFault `unknown` where the commit failed and the store can continue, `stopped` where it must not.
   */
  batch(calls: readonly Call[]): readonly Settled[]
  /**
   * Write everything into the one file, then let go of it.
   * @throws LedgerFault `stopped` where it stays in the log beside the file: still durable, and read when next opened.
   */
  close(): void
}

/**
 * Open, or create, the ledger in a SQLite file. Leases of attempts that an earlier process left under way are void.
 * @param now the time in milliseconds since 1970
 * @throws LedgerFault `in-use` or `unusable`.
 */
export function openSqliteStore(path: string, now: () => number): SqliteStore {
  return sqliteStore(openSqliteDatabase(path), now)
}

/**
 * The store over a database from {@link openSqliteDatabase}.
 * @param now the time in milliseconds since 1970
 */
export function sqliteStore(database: DatabaseSync, now: () => number): SqliteStore {
  const operations = sqliteOperations(database, now)
  const savepoint = database.prepare('SAVEPOINT call')
  const release = database.prepare('RELEASE call')
  let stopped: LedgerFault | undefined

  function settle(call: Call): Settled {
    savepoint.run()
    try {
      const result = perform(operations, call)
      release.run()
      return { kind: 'done', result }
    } catch (error) {
      // What fails below the tables (the disk, a corrupt page) is no matter of one call: nothing may be committed.
      if (isStoreError(error) || !database.isTransaction) throw error
      database.exec('ROLLBACK TO call; RELEASE call')
      return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
    }
  }

  function batch(calls: readonly Call[]): readonly Settled[] {
    if (stopped !== undefined) throw stopped
    try {
      database.exec('BEGIN IMMEDIATE')
      const settled = calls.map(settle)
      database.exec('COMMIT')
      return settled
    } catch (error) {
      const undone = rollBack()
      if (undone && isDiskFull(error)) throw new LedgerFault('unknown', 'the disk is full', error)
      // After a failed flush the operating system may report success for pages it has lost, so no later commit of
      // this process could be trusted.
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
        throw new LedgerFault('stopped', `the ledger was closed with its log beside it: ${reason}`, error)
      } finally {
        database.close()
      }
    },
  }
}

type Row = Readonly<Record<string, SQLOutputValue>>

interface Account {
  readonly dataset: string
  readonly budget: Budget
  readonly headSequence: number
  readonly headHash: string
}

interface ChargeRow {
  readonly number: bigint
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly idempotencyKey: string
  readonly requestHash: string
  readonly loss: PrivacyLoss
  readonly state: string
  readonly attempt: number
  readonly leasedAtMs: number
  readonly leaseExpiresAtMs: number
}

interface SessionRow extends NewSession {
  /** Of the charge that opened it. */
  readonly number: bigint
  readonly dataset: string
  readonly datasetVersion: string
  readonly principal: string
  readonly opening: string
  readonly answered: number
  readonly positivesFound: number
}

/** What an event says beyond its place in the chain. */
type EventFacts = Omit<LedgerEvent, 'version' | 'dataset' | 'sequence' | 'previousHash' | 'at'>

function sqliteOperations(database: DatabaseSync, now: () => number): Operations {
  const findAccount = database.prepare('SELECT * FROM budgets WHERE dataset = :dataset')
  const insertAccount = database.prepare(`
    INSERT INTO budgets (dataset, cap_epsilon_nano, cap_delta_atto, spent_epsilon_nano, spent_delta_atto,
      head_sequence, head_hash)
    VALUES (:dataset, :epsilonNano, :deltaAtto, 0, 0, 0, :headHash)
  `)
  const raiseCap = database.prepare(`
    UPDATE budgets
    SET cap_epsilon_nano = cap_epsilon_nano + :epsilonNano, cap_delta_atto = cap_delta_atto + :deltaAtto
    WHERE dataset = :dataset
    RETURNING *
  `)
  const debitAccount = database.prepare(`
    UPDATE budgets
    SET spent_epsilon_nano = spent_epsilon_nano + :epsilonNano, spent_delta_atto = spent_delta_atto + :deltaAtto
    WHERE dataset = :dataset
      AND cap_epsilon_nano - spent_epsilon_nano >= :epsilonNano
      AND cap_delta_atto - spent_delta_atto >= :deltaAtto
    RETURNING *
  `)
  const moveHead = database.prepare(`
    UPDATE budgets SET head_sequence = :sequence, head_hash = :hash WHERE dataset = :dataset
  `)
  const insertEvent = database.prepare(`
    INSERT INTO events (dataset, sequence, principal, canonical, hash)
    VALUES (:dataset, :sequence, :principal, :canonical, :hash)
  `)
  const findCharge = database.prepare('SELECT * FROM charges WHERE id = :id')
  const insertCharge = database.prepare(`
    INSERT INTO charges (id, principal, idempotency_key, dataset, dataset_version, request_hash, request,
      loss_epsilon_nano, loss_delta_atto, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms)
    VALUES (:id, :principal, :idempotencyKey, :dataset, :datasetVersion, :requestHash, :request,
      :epsilonNano, :deltaAtto, :state, :attempt, :nowMs, :nowMs, :leaseExpiresAtMs)
  `)
  const payDenied = database.prepare(`
    UPDATE charges
    SET state = 'charged', attempt = 1, dataset_version = :datasetVersion, loss_epsilon_nano = :epsilonNano,
      loss_delta_atto = :deltaAtto, leased_at_ms = :nowMs, lease_expires_at_ms = :leaseExpiresAtMs
    WHERE number = :number AND state = 'denied'
  `)
  const retryCharge = database.prepare(`
    UPDATE charges
    SET state = 'charged', attempt = :attempt, dataset_version = :datasetVersion, leased_at_ms = :nowMs,
      lease_expires_at_ms = :leaseExpiresAtMs
    WHERE number = :number AND state IN ('charged', 'failed')
  `)
  const endAttempt = database.prepare(`
    UPDATE charges SET state = :state
    WHERE id = :id AND attempt = :attempt AND state = 'charged'
    RETURNING *
  `)
  const insertRelease = database.prepare('INSERT INTO releases (charge, answer) VALUES (:charge, :answer)')
  const findAnswer = database.prepare('SELECT answer FROM releases WHERE charge = :charge')
  const findRelease = database.prepare(`
    SELECT charges.dataset, charges.principal, releases.answer
    FROM charges JOIN releases ON releases.charge = charges.number
    WHERE charges.id = :id
  `)
  const insertSession = database.prepare(`
    INSERT INTO sparse_vector_sessions (charge, positives, terms, threshold_noise)
    VALUES (:charge, :positives, :terms, :thresholdNoise)
  `)
  const findSession = database.prepare(`
    SELECT charges.number, charges.dataset, charges.dataset_version, charges.principal, releases.answer,
      sessions.positives, sessions.terms, sessions.threshold_noise,
      (SELECT coalesce(max(question), 0) FROM sparse_vector_answers WHERE session = charges.number) AS answered,
      (SELECT count(*) FROM sparse_vector_answers WHERE session = charges.number AND above = 1) AS positives_found
    FROM charges
      JOIN sparse_vector_sessions AS sessions ON sessions.charge = charges.number
      JOIN releases ON releases.charge = charges.number
    WHERE charges.id = :id
  `)
  const findSessionAnswer = database.prepare(`
    SELECT request_hash, answer FROM sparse_vector_answers
    WHERE session = :session AND idempotency_key = :idempotencyKey
  `)
  const insertSessionAnswer = database.prepare(`
    INSERT INTO sparse_vector_answers (session, question, idempotency_key, request_hash, request, above, answer)
    VALUES (:session, :question, :idempotencyKey, :requestHash, :request, :above, :answer)
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
  const probe = database.prepare('SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1)')

  function account(dataset: string): Account | undefined {
    const row = findAccount.get({ dataset })
    return row === undefined ? undefined : accountFromRow(row)
  }

  function append(account: Account, facts: EventFacts): void {
    const { dataset } = account
    const sequence = account.headSequence + 1
    const at = new Date(now()).toISOString()
    const event: LedgerEvent = {
      version: 1,
      dataset,
      sequence,
      previousHash: account.headHash,
      at,
      ...facts,
    }
    const canonical = canonicalEvent(event)
    const hash = sha256(canonical)
    insertEvent.run({ dataset, sequence, principal: facts.principal, canonical, hash })
    moveHead.run({ dataset, sequence, hash })
  }

  function openBudget(dataset: string, cap: PrivacyLoss, principal: string): OpenOutcome {
    expectText({ dataset, principal })
    expectCap(cap)
    const existing = account(dataset)
    if (existing !== undefined) return { kind: 'exists', budget: existing.budget }
    insertAccount.run({ dataset, ...amounts(cap), headHash: FIRST_PREVIOUS_HASH })
    const opened = {
      dataset,
      budget: { cap, spent: NO_LOSS },
      headSequence: 0,
      headHash: FIRST_PREVIOUS_HASH,
    }
    append(opened, { kind: 'opened', principal, loss: eventLoss(cap) })
    return { kind: 'opened' }
  }

  function grant(
    dataset: string,
    amount: PrivacyLoss,
    principal: string,
    reason: string,
  ): Budget | undefined {
    expectText({ dataset, principal, reason })
    expectCap(amount)
    const before = account(dataset)
    if (before === undefined) return undefined
    expectCap({
      epsilonNano: epsilonNano(before.budget.cap.epsilonNano + amount.epsilonNano),
      deltaAtto: (before.budget.cap.deltaAtto + amount.deltaAtto) as DeltaAtto,
    })
    const after = accountFromRow(expectRow(raiseCap.get({ dataset, ...amounts(amount) })))
    append(after, { kind: 'granted', principal, loss: eventLoss(amount), reason })
    return after.budget
  }

  function charge(request: ChargeRequest): ChargeOutcome {
    expectChargeRequest(request)
    const id = chargeId(request.principal, request.idempotencyKey)
    const row = findCharge.get({ id })
    if (row === undefined) return debit(id, request, undefined)
    const earlier = chargeFromRow(row)
    if (earlier.principal !== request.principal || earlier.idempotencyKey !== request.idempotencyKey) {
      throw new Error('two idempotency keys have the same charge id')
    }
    if (!isSameQuestion(earlier, request)) return { kind: 'key-reused' }
    if (earlier.state === 'denied') return debit(id, request, earlier)
    if (earlier.state === 'answered') {
      return {
        kind: 'answered',
        id,
        answer: text(expectRow(findAnswer.get({ charge: earlier.number })), 'answer'),
      }
    }
    const nowMs = now()
    // A lease that begins in the future was given before the clock was set back; how much of it is left nobody knows.
    if (earlier.state === 'charged' && nowMs >= earlier.leasedAtMs && nowMs < earlier.leaseExpiresAtMs) {
      return { kind: 'in-flight', retryAfterMs: earlier.leaseExpiresAtMs - nowMs }
    }
    return { kind: 'charged', charge: retry(earlier, request) }
  }

  function debit(id: string, request: ChargeRequest, denied: ChargeRow | undefined): ChargeOutcome {
    const { dataset, principal, requestHash, datasetVersion, loss } = request
    const row = debitAccount.get({ dataset, ...amounts(loss) })
    const current = row === undefined ? account(dataset) : accountFromRow(row)
    if (current === undefined) return { kind: 'no-budget' }
    const paid = row !== undefined
    const nowMs = now()
    const lease = { nowMs, leaseExpiresAtMs: paid ? nowMs + request.leaseMs : nowMs }
    if (denied === undefined) {
      const { idempotencyKey } = request
      insertCharge.run({
        id,
        principal,
        idempotencyKey,
        dataset,
        datasetVersion,
        requestHash,
        request: request.request,
        ...amounts(loss),
        state: paid ? 'charged' : 'denied',
        attempt: paid ? 1 : 0,
        ...lease,
      })
    } else if (paid) {
      expectChange(payDenied.run({ number: denied.number, datasetVersion, ...amounts(loss), ...lease }))
    }
    const facts = { principal, chargeId: id, requestHash, datasetVersion, loss: eventLoss(loss) }
    if (!paid) {
      append(current, { kind: 'denied', ...facts })
      return { kind: 'denied', budget: current.budget }
    }
    append(current, { kind: 'charged', attempt: 1, ...facts })
    return { kind: 'charged', charge: { id, attempt: 1, budget: current.budget } }
  }

  function retry(earlier: ChargeRow, request: ChargeRequest): Charge {
    const { id, number } = earlier
    const { datasetVersion, principal } = request
    const nowMs = now()
    const attempt = earlier.attempt + 1
    expectChange(
      retryCharge.run({ number, attempt, datasetVersion, nowMs, leaseExpiresAtMs: nowMs + request.leaseMs }),
    )
    const current = expectAccount(account(earlier.dataset))
    append(current, { kind: 'retried', principal, chargeId: id, attempt, datasetVersion })
    return { id, attempt, budget: current.budget }
  }

  function recordAnswer(id: string, attempt: number, answer: string): boolean {
    return endWithAnswer(id, attempt, answer) !== undefined
  }

  function endWithAnswer(id: string, attempt: number, answer: string): ChargeRow | undefined {
    expectText({ id })
    expectWellFormed('answer', answer)
    expectCount('attempt', attempt, Number.MAX_SAFE_INTEGER)
    const row = endAttempt.get({ id, attempt, state: 'answered' })
    if (row === undefined) return undefined
    const answered = chargeFromRow(row)
    insertRelease.run({ charge: answered.number, answer })
    append(expectAccount(account(answered.dataset)), {
      kind: 'answered',
      principal: answered.principal,
      chargeId: id,
      attempt,
      answerHash: sha256(answer),
    })
    return answered
  }

  function openSession(id: string, attempt: number, answer: string, session: NewSession): boolean {
    const { positives, terms, thresholdNoise } = session
    expectText({ terms })
    expectCount('positives', positives, Number.MAX_SAFE_INTEGER)
    if (thresholdNoise < -MAX_THRESHOLD_NOISE || thresholdNoise > MAX_THRESHOLD_NOISE) {
      throw new RangeError("a threshold's noise is out of range")
    }
    const answered = endWithAnswer(id, attempt, answer)
    if (answered === undefined) return false
    insertSession.run({ charge: answered.number, positives, terms, thresholdNoise })
    return true
  }

  function sessionRow(id: string): SessionRow | undefined {
    const row = findSession.get({ id })
    return row === undefined ? undefined : sessionFromRow(row)
  }

  function session(id: string): StoredSession | undefined {
    const found = sessionRow(id)
    if (found === undefined) return undefined
    const { dataset, datasetVersion, principal, opening, answered, positives, positivesFound } = found
    return {
      id,
      dataset,
      datasetVersion,
      principal,
      opening,
      answered,
      positivesLeft: positives - positivesFound,
    }
  }

  function sessionQuestion(question: SessionQuestion): SessionQuestionOutcome {
    expectSessionQuestion(question)
    const found = sessionRow(question.session)
    if (found === undefined) return { kind: 'no-session' }
    const { number, answered, positives, positivesFound, terms, thresholdNoise } = found
    const stored = findSessionAnswer.get({ session: number, idempotencyKey: question.idempotencyKey })
    if (stored !== undefined) {
      return text(stored, 'request_hash') === question.requestHash
        ? { kind: 'answered', answer: text(stored, 'answer') }
        : { kind: 'key-reused' }
    }
    if (positivesFound >= positives) return { kind: 'used-up' }
    return { kind: 'open', question: answered + 1, positivesFound, positives, terms, thresholdNoise }
  }

  function recordSessionAnswer(recorded: SessionAnswer): boolean {
    const { question, idempotencyKey, requestHash, request, above, answer } = recorded
    expectText({ request })
    expectWellFormed('answer', answer)
    expectCount('question', question, Number.MAX_SAFE_INTEGER)
    const outcome = sessionQuestion(recorded)
    const found = sessionRow(recorded.session)
    if (found === undefined || outcome.kind !== 'open' || outcome.question !== question) return false
    insertSessionAnswer.run({
      session: found.number,
      question,
      idempotencyKey,
      requestHash,
      request,
      above: above ? 1n : 0n,
      answer,
    })
    append(expectAccount(account(found.dataset)), {
      kind: 'session-answered',
      principal: found.principal,
      chargeId: recorded.session,
      question,
      requestHash,
      answerHash: sha256(answer),
    })
    return true
  }

  function sessionAnswers(
    id: string,
    { limit, beforeQuestion = Number.MAX_SAFE_INTEGER }: { limit: number; beforeQuestion?: number },
  ): readonly StoredSessionAnswer[] {
    expectCount('limit', limit, MAX_PAGE)
    expectCount('beforeQuestion', beforeQuestion, Number.MAX_SAFE_INTEGER)
    return findSessionAnswers.all({ id, before: beforeQuestion, limit }).map((row) => ({
      question: Number(integer(row, 'question')),
      request: text(row, 'request'),
      answer: text(row, 'answer'),
    }))
  }

  function recordFailure(id: string, attempt: number): void {
    expectText({ id })
    expectCount('attempt', attempt, Number.MAX_SAFE_INTEGER)
    const row = endAttempt.get({ id, attempt, state: 'failed' })
    if (row === undefined) return
    const { dataset, principal } = chargeFromRow(row)
    append(expectAccount(account(dataset)), { kind: 'failed', principal, chargeId: id, attempt })
  }

  function entries(
    dataset: string,
    page: { readonly limit: number; readonly beforeSequence?: number; readonly principal?: string },
  ): readonly LedgerEntry[] {
    const { limit, principal } = page
    const before = page.beforeSequence ?? Number.MAX_SAFE_INTEGER
    expectCount('limit', limit, MAX_PAGE)
    expectCount('beforeSequence', before, Number.MAX_SAFE_INTEGER)
    const rows =
      principal === undefined
        ? findEvents.all({ dataset, before, limit })
        : findEventsOfPrincipal.all({ dataset, before, limit, principal })
    return rows.map((row) => entryFromEvent(text(row, 'canonical'), text(row, 'hash')))
  }

  function events(
    dataset: string,
    { limit, afterSequence }: { readonly limit: number; readonly afterSequence: number },
  ): readonly StoredEvent[] {
    expectCount('limit', limit, MAX_PAGE)
    expectCount('afterSequence', afterSequence + 1, Number.MAX_SAFE_INTEGER)
    const rows = findEventsAfter.all({ dataset, after: afterSequence, limit })
    return rows.map((row) => ({ canonical: text(row, 'canonical'), hash: text(row, 'hash') }))
  }

  function release(id: string): StoredRelease | undefined {
    const row = findRelease.get({ id })
    if (row === undefined) return undefined
    return {
      id,
      dataset: text(row, 'dataset'),
      principal: text(row, 'principal'),
      answer: text(row, 'answer'),
    }
  }

  return {
    openBudget,
    grant,
    budget: (dataset) => account(dataset)?.budget,
    charge,
    recordAnswer,
    openSession,
    session,
    sessionQuestion,
    recordSessionAnswer,
    sessionAnswers,
    recordFailure,
    entries,
    events,
    release,
    lastDatasetVersion: (dataset) => Number(integer(expectRow(findLastVersion.get({ dataset })), 'version')),
    healthy: () => probe.get() !== undefined,
  }
}

/**
 * A key stands for one question about one dataset. Before it is answered it also stands for one price: an answer that
 * would cost more, or less, than what was debited must not be computed under that debit.
 */
function isSameQuestion(earlier: ChargeRow, request: ChargeRequest): boolean {
  if (earlier.requestHash !== request.requestHash || earlier.dataset !== request.dataset) return false
  if (earlier.state === 'answered' || earlier.state === 'denied') return true
  return (
    earlier.loss.epsilonNano === request.loss.epsilonNano && earlier.loss.deltaAtto === request.loss.deltaAtto
  )
}

function accountFromRow(row: Row): Account {
  return {
    dataset: text(row, 'dataset'),
    budget: {
      cap: lossFromRow(row, 'cap_epsilon_nano', 'cap_delta_atto'),
      spent: lossFromRow(row, 'spent_epsilon_nano', 'spent_delta_atto'),
    },
    headSequence: Number(integer(row, 'head_sequence')),
    headHash: text(row, 'head_hash'),
  }
}

function chargeFromRow(row: Row): ChargeRow {
  return {
    number: integer(row, 'number'),
    id: text(row, 'id'),
    dataset: text(row, 'dataset'),
    principal: text(row, 'principal'),
    idempotencyKey: text(row, 'idempotency_key'),
    requestHash: text(row, 'request_hash'),
    loss: lossFromRow(row, 'loss_epsilon_nano', 'loss_delta_atto'),
    state: text(row, 'state'),
    attempt: Number(integer(row, 'attempt')),
    leasedAtMs: Number(integer(row, 'leased_at_ms')),
    leaseExpiresAtMs: Number(integer(row, 'lease_expires_at_ms')),
  }
}

function sessionFromRow(row: Row): SessionRow {
  return {
    number: integer(row, 'number'),
    dataset: text(row, 'dataset'),
    datasetVersion: text(row, 'dataset_version'),
    principal: text(row, 'principal'),
    opening: text(row, 'answer'),
    positives: Number(integer(row, 'positives')),
    terms: text(row, 'terms'),
    thresholdNoise: integer(row, 'threshold_noise'),
    answered: Number(integer(row, 'answered')),
    positivesFound: Number(integer(row, 'positives_found')),
  }
}

function lossFromRow(row: Row, epsilonColumn: string, deltaColumn: string): PrivacyLoss {
  return {
    epsilonNano: epsilonNano(integer(row, epsilonColumn)),
    deltaAtto: deltaAtto(integer(row, deltaColumn)),
  }
}

function integer(row: Row, column: string): bigint {
  const value = row[column]
  if (typeof value !== 'bigint') throw new TypeError(`the ledger's column ${column} holds no integer`)
  return value
}

function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`the ledger's column ${column} holds no text`)
  return value
}

function amounts(loss: PrivacyLoss): { epsilonNano: EpsilonNano; deltaAtto: DeltaAtto } {
  return { epsilonNano: loss.epsilonNano, deltaAtto: loss.deltaAtto }
}

function expectRow(row: Row | undefined): Row {
  if (row === undefined) throw new Error('the ledger misses a row that must be there')
  return row
}

function expectAccount(account: Account | undefined): Account {
  if (account === undefined) throw new Error('the ledger misses the budget of a charge')
  return account
}

function expectChange(result: { readonly changes: number | bigint }): void {
  if (BigInt(result.changes) !== 1n)
    throw new Error('the ledger did not change the row that it had just read')
}

function expectChargeRequest(request: ChargeRequest): void {
  const { dataset, datasetVersion, principal, idempotencyKey, requestHash, loss } = request
  expectText({ dataset, datasetVersion, principal, idempotencyKey, requestHash, request: request.request })
  if (loss.epsilonNano < 0n || loss.epsilonNano > MAX_EPSILON_NANO)
    throw new RangeError('epsilon out of range')
  if (loss.deltaAtto < 0n || loss.deltaAtto > ONE_DELTA_ATTO) throw new RangeError('delta out of range')
  expectCount('leaseMs', request.leaseMs, MAX_LEASE_MS)
}

function expectSessionQuestion({ session, idempotencyKey, requestHash }: SessionQuestion): void {
  expectText({ session, idempotencyKey, requestHash })
}

function expectCap(cap: PrivacyLoss): void {
  if (cap.epsilonNano < 0n || cap.epsilonNano > MAX_EPSILON_NANO) {
    throw new RangeError("a budget's epsilon lies within 0 and its largest value")
  }
  if (cap.deltaAtto < 0n || cap.deltaAtto > MAX_CAP_DELTA_ATTO) {
    throw new RangeError("a budget's delta is at least 0 and below 1")
  }
}

function expectText(fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === '') throw new RangeError(`${name} is empty`)
    expectWellFormed(name, value)
  }
}

function expectWellFormed(name: string, value: string): void {
  // SQLite would store a lone surrogate as another character: what is read back would not be what was hashed.
  if (!value.isWellFormed()) throw new RangeError(`${name} is not well-formed Unicode`)
}

function expectCount(name: string, value: number, largest: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > largest) {
    throw new RangeError(`${name} must be a whole number from 1 to ${largest}`)
  }
}
