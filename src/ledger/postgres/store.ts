import type { ClientBase } from 'pg'
import { must } from '../../privacy/must.ts'
import { chargeId } from '../canonical.ts'
import { ADMINISTRATION } from '../contract/acts.ts'
import { isPopulationAccount, type NewSource } from '../contract/budgets.ts'
import type { ChargeRequest } from '../contract/charges.ts'
import { LedgerFault } from '../fault.ts'
import type { OperationArguments } from '../ledger.ts'
import { type Batch, beginBatch, changesOf } from '../protocol/batch.ts'
import type { CommandName } from '../protocol/commands.ts'
import type { Account, AnalystAccount, Rows, SourceRow } from '../protocol/rows.ts'
import { isStorable } from '../range.ts'
import { applyCommand, type Call, failedWith, type Settled } from '../stores/operation.ts'
import {
  accountFromRow,
  analystFromRow,
  answerFromRow,
  chargeFromRow,
  count,
  type Row,
  sessionFromRow,
  sourceFromRow,
  text,
} from '../stores/stored-row.ts'
import { ask, named, StatementError } from './connection.ts'
import { ANALYST_JSON, BUDGET_COLUMNS, CHARGE_JSON, rowsOf, SESSION_JSON, writeArguments } from './rows.ts'

/** A call that may change rows. */
export type Command = Call<CommandName>

/** The last step that a batch has completed. */
export type Step = 'begun' | 'locked' | 'read' | 'written' | 'committed'

/** Options of a batch. */
export interface BatchOptions {
  /**
   * Returns the time in milliseconds since 1970, for tests. The default is the server's clock, which all replicas
   * share.
   */
  readonly now?: (() => number) | undefined
  /** Called after each step, for tests. The batch continues when the promise resolves. */
  readonly onStep?: ((step: Step) => Promise<void>) | undefined
}

/**
 * Carries out calls in order, in one transaction. A call that fails has no effect and does not affect the others. Every
 * returned result is durable.
 *
 * READ COMMITTED suffices. The rows of the budgets are locked first, ordered by dataset, and all other rows that a call
 * reads or changes belong to one of these datasets. The statement that reads them starts when all locks are held, and
 * therefore sees what the previous holders have committed.
 * @throws StatementError if nothing was changed; LedgerFault `unknown` if it is unknown whether the commit took effect.
 */
export async function commitBatch(
  client: ClientBase,
  calls: readonly Command[],
  { now, onStep = async () => {} }: BatchOptions,
): Promise<readonly Settled[]> {
  await ask(client, BEGIN)
  let changed: boolean
  let settled: readonly Settled[]
  try {
    await onStep('begun')
    const keys = keysOf(calls)
    const accounts = await lock(client, keys)
    await onStep('locked')
    const { rows, nowMs, expectComplete } = await readRows(client, keys, accounts)
    await onStep('read')
    const batch = beginBatch(rows, now === undefined ? nowMs : now())
    settled = calls.map((call) => settle(batch, call))
    expectComplete()
    const changes = changesOf(batch)
    const { accounts: moved, sources } = changes
    changed = moved.length > 0 || sources.length > 0
    if (moved.length > 0) await ask(client, STATEMENTS.write, writeArguments(changes))
    if (sources.length > 0) await ask(client, STATEMENTS.writeSources, [JSON.stringify(sources)])
    await onStep('written')
  } catch (error) {
    // If the connection is lost, the transaction has ended.
    const isLost = error instanceof StatementError && error.kind === 'lost'
    if (!isLost) await ask(client, 'ROLLBACK').catch(() => {})
    throw error
  }
  // Nothing was changed, and a rollback does not wait for the disk.
  if (!changed) await ask(client, 'ROLLBACK')
  else await commit(client)
  await onStep('committed')
  return settled
}

function settle(batch: Batch, call: Command): Settled {
  try {
    return { kind: 'done', result: applyCommand(batch, call) }
  } catch (error) {
    return failedWith(error)
  }
}

async function commit(client: ClientBase): Promise<void> {
  let warning: string | undefined
  const note = (notice: { readonly message?: string | undefined }) => {
    warning = notice.message
  }
  client.on('notice', note)
  try {
    const { command } = await ask(client, STATEMENTS.commit)
    // COMMIT of a failed transaction returns ROLLBACK. If the wait for a synchronous standby is cancelled, COMMIT
    // succeeds with a warning.
    if (command === 'COMMIT' && warning === undefined) return
    throw new Error(warning ?? `COMMIT returned ${command}`)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new LedgerFault('unknown', `it is unknown whether the ledger has committed: ${reason}`)
  } finally {
    client.off('notice', note)
  }
}

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on'

const STATEMENTS = named({
  commit: 'COMMIT',
  lock: `
    SELECT ${BUDGET_COLUMNS} FROM sotto.budgets
    WHERE dataset = ANY ($1::text[] || ARRAY(SELECT dataset FROM sotto.charges WHERE id = ANY ($2::text[]))
      || ARRAY(SELECT population FROM sotto.budgets WHERE dataset = ANY ($3::text[]) AND population IS NOT NULL))
    ORDER BY dataset FOR UPDATE
  `,
  /**
   * Reads every row that the calls of a batch may need. $1: charges; $2: those of them whose answers may be returned; $3
   * and $4: requests that may have a shared release; $5 and $6: analysts; $7: sessions; $8 and $9: questions of sessions;
   * $10: datasets all of whose analysts are read.
   */
  read: `
    WITH named AS MATERIALIZED (
      SELECT * FROM sotto.charges WHERE id = ANY ($1::text[])
    ), questions AS MATERIALIZED (
      SELECT dataset, request_hash FROM unnest($3::text[], $4::text[]) AS asked (dataset, request_hash)
      UNION
      SELECT dataset, request_hash FROM named WHERE sharing
    ), shared AS MATERIALIZED (
      SELECT dataset, request_hash, charge FROM questions JOIN sotto.shared_releases USING (dataset, request_hash)
    ), lenders AS MATERIALIZED (
      SELECT charge AS id FROM shared UNION SELECT shared_from FROM named WHERE shared_from IS NOT NULL
    )
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
      (SELECT coalesce(json_agg(${CHARGE_JSON}), '[]') FROM (
        SELECT * FROM named UNION SELECT charges.* FROM lenders JOIN sotto.charges USING (id)
      ) AS charges JOIN sotto.budgets USING (dataset)) AS charges,
      (SELECT coalesce(json_agg(json_build_object('id', charge, 'answer', answer,
          'deflated', encode(deflated, 'base64'))), '[]') FROM (
        SELECT unnest($2::text[]) AS charge UNION SELECT id FROM lenders
      ) AS wanted JOIN sotto.releases USING (charge)) AS answers,
      (SELECT coalesce(json_agg(shared), '[]') FROM shared) AS shared,
      (SELECT coalesce(json_agg(questions), '[]') FROM questions) AS questions,
      (SELECT coalesce(json_agg(${ANALYST_JSON}), '[]')
        FROM (
          SELECT * FROM unnest($5::text[], $6::text[]) AS asked (dataset, principal)
          UNION SELECT dataset, principal FROM named
          UNION SELECT dataset, principal FROM sotto.analysts WHERE dataset = ANY ($10::text[])
        ) AS wanted JOIN sotto.analysts USING (dataset, principal)) AS analysts,
      (SELECT coalesce(json_agg(${SESSION_JSON}), '[]')
        FROM sotto.sparse_vector_sessions AS sessions JOIN sotto.charges ON charges.id = sessions.charge
        WHERE sessions.charge = ANY ($7::text[])) AS sessions,
      (SELECT coalesce(json_agg(json_build_object('session', session, 'key', idempotency_key,
          'request_hash', request_hash, 'answer', answer)), '[]')
        FROM unnest($8::text[], $9::text[]) AS wanted (session, idempotency_key)
          JOIN sotto.sparse_vector_answers USING (session, idempotency_key)) AS session_answers
  `,
  write: `SELECT sotto.write_changes(
    $1::json, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json, $8::json, $9::json, $10::json, $11::json)`,
  /**
   * Reads the sources with a digest ($1) or of a dataset ($2). Registrations exclude each other, so no other transaction
   * adds one meanwhile.
   */
  readSources: `
    SELECT digest, dataset, synthetic, population FROM sotto.sources JOIN sotto.budgets USING (dataset)
    WHERE digest = ANY ($1::text[])
    UNION
    SELECT digest, dataset, synthetic, population FROM sotto.sources JOIN sotto.budgets USING (dataset)
    WHERE dataset = ANY ($2::text[])
  `,
  writeSources: `INSERT INTO sotto.sources SELECT * FROM json_populate_recordset(NULL::sotto.sources, $1::json)`,
})

/** The keys of the rows that the calls of a batch may need. */
type Keys = ReturnType<typeof noKeys>

function noKeys() {
  return {
    datasets: texts(),
    /** Includes the ids of sessions, which are the ids of their charges. */
    charges: texts(),
    /** Charges whose answers may be returned. */
    answers: texts(),
    questions: pairs(),
    analysts: pairs(),
    /** Datasets whose population is debited with them. */
    debited: texts(),
    /** Datasets and populations all of whose analysts are read. */
    allAnalysts: texts(),
    sessions: texts(),
    sessionQuestions: pairs(),
    /** Digests and datasets of sources. */
    sources: pairs(),
  }
}

/** Finds the rows that calls may need, as far as their arguments show it. */
export function keysOf(calls: readonly Command[]): Keys {
  const keys = noKeys()
  for (const call of calls) addKeys(keys, call)
  return keys
}

function addKeys<Name extends CommandName>(keys: Keys, { operation, args }: Call<Name>): void {
  KEYS[operation](keys, ...args)
}

const KEYS: {
  readonly [Name in CommandName]: (keys: Keys, ...args: OperationArguments[Name]) => void
} = {
  recordAct: addAct,
  openBudget(keys, dataset, { source, population }) {
    addSource(keys, dataset, source)
    if (population !== undefined) addJoin(keys, dataset, population)
    if (isPopulationAccount(dataset)) addAct(keys)
  },
  joinPopulation: addJoin,
  registerSource: addSource,
  grant: addActOn,
  replaceCap: addActOn,
  resume: addActOn,
  allot(keys, { dataset, analyst }) {
    addActOn(keys, dataset)
    keys.analysts.add(dataset, analyst)
  },
  charge: addCharge,
  chargeAll(keys, requests) {
    for (const request of requests) addCharge(keys, request)
  },
  recordAnswer: (keys, id) => keys.charges.add(id),
  recordFailure(keys, id, _attempt, failure) {
    keys.charges.add(id)
    if (failure?.counts) addAct(keys)
  },
  openSession: addSession,
  recordSessionAnswer(keys, { session, idempotencyKey }) {
    addSession(keys, session)
    keys.sessionQuestions.add(session, idempotencyKey)
  },
  recordQuestionFailure(keys, session, { counts }) {
    addSession(keys, session)
    if (counts) addAct(keys)
  },
}

function addCharge(
  keys: Keys,
  { dataset, principal, idempotencyKey, requestHash, sharing, keyChosen, parents = [] }: ChargeRequest,
): void {
  keys.datasets.add(dataset)
  keys.debited.add(dataset)
  keys.analysts.add(dataset, principal)
  if (sharing && !keyChosen) keys.questions.add(dataset, requestHash)
  for (const parent of parents) keys.charges.add(parent)
  // Other texts have no id.
  if (![principal, idempotencyKey].every(isStorable)) return
  const id = chargeId(principal, idempotencyKey)
  keys.charges.add(id)
  keys.answers.add(id)
}

/** Adds the chain of administrative acts, to which a call may append. */
function addAct({ datasets }: Keys): void {
  datasets.add(ADMINISTRATION)
}

function addActOn(keys: Keys, dataset: string): void {
  addAct(keys)
  keys.datasets.add(dataset)
}

/** What all analysts have spent on the dataset is counted on the population. */
function addJoin(keys: Keys, dataset: string, population: string): void {
  addActOn(keys, dataset)
  keys.datasets.add(population)
  for (const each of [dataset, population]) keys.allAnalysts.add(each)
}

function addSource({ datasets, sources }: Keys, dataset: string, source: NewSource | undefined): void {
  datasets.add(dataset)
  for (const digest of source?.digests ?? []) sources.add(digest, dataset)
}

function addSession({ charges, sessions }: Keys, id: string): void {
  charges.add(id)
  sessions.add(id)
}

/** Distinct texts. Skips those that cannot be stored: the protocol refuses them; PostgreSQL would refuse the whole batch. */
function texts() {
  const found = new Set<string>()
  return {
    all: () => [...found],
    has: (text: string) => found.has(text),
    add(text: string): void {
      if (isStorable(text)) found.add(text)
    },
  }
}

/** Distinct pairs of {@link texts}, as two columns. */
function pairs() {
  const seen = new Set<string>()
  const firsts: string[] = []
  const seconds: string[] = []
  return {
    firsts,
    seconds,
    has: (first: string, second: string) => seen.has(joined(first, second)),
    add(first: string, second: string): void {
      if (seen.has(joined(first, second)) || ![first, second].every(isStorable)) return
      seen.add(joined(first, second))
      firsts.push(first)
      seconds.push(second)
    },
  }
}

/** Joins two texts to one key. Neither contains NUL. */
function joined(first: string, second: string): string {
  return `${first}\0${second}`
}

async function lock(client: ClientBase, keys: Keys): Promise<ReadonlyMap<string, Account>> {
  const named = [keys.datasets.all(), keys.charges.all(), keys.debited.all()]
  const { rows } = await ask(client, STATEMENTS.lock, named)
  const accounts = new Map(rows.map((row) => [text(row, 'dataset'), accountFromRow(row)]))
  addPopulations(keys, accounts)
  return accounts
}

/** Adds the analysts of charges on their populations. A population that was joined since the locks were taken is not locked. */
function addPopulations(keys: Keys, accounts: ReadonlyMap<string, Account>): void {
  const { firsts, seconds } = keys.analysts
  const asked = firsts.map((dataset, place) => [dataset, must(seconds[place], 'an analyst')] as const)
  for (const [dataset, principal] of asked) {
    const population = accounts.get(dataset)?.budget.population
    if (population !== undefined && keys.debited.has(dataset)) keys.analysts.add(population, principal)
  }
}

/**
 * Reads the rows of the keys.
 * @returns the rows; `expectComplete` throws if a row was requested that had not been read
 */
async function readRows(
  client: ClientBase,
  keys: Keys,
  accounts: ReadonlyMap<string, Account>,
): Promise<{ rows: Rows; nowMs: number; expectComplete: () => void }> {
  const { rows: results } = await ask(client, STATEMENTS.read, [
    keys.charges.all(),
    keys.answers.all(),
    keys.questions.firsts,
    keys.questions.seconds,
    keys.analysts.firsts,
    keys.analysts.seconds,
    keys.sessions.all(),
    keys.sessionQuestions.firsts,
    keys.sessionQuestions.seconds,
    keys.allAnalysts.all(),
  ])
  const found: Row = results[0]
  const sources = await readSources(client, keys.sources)
  const id = (row: Row) => text(row, 'id')
  const answer = (row: Row) => text(row, 'answer')
  const question = (row: Row) => joined(text(row, 'dataset'), text(row, 'request_hash'))
  const charges = byKey(found, 'charges', id, chargeFromRow)
  const answers = byKey(found, 'answers', id, answerFromRow)
  const questions = new Set(rowsOf(found, 'questions').map(question))
  const shared = byKey(found, 'shared', question, (row) => text(row, 'charge'))
  const sessions = byKey(found, 'sessions', id, sessionFromRow)
  const analysts = new Map(
    rowsOf(found, 'analysts').flatMap((row): [string, AnalystAccount][] => {
      const dataset = text(row, 'dataset')
      const account = accounts.get(dataset)
      // The budget was opened after the locks were taken. For this batch it does not exist.
      if (account === undefined) return []
      return [[joined(dataset, text(row, 'principal')), analystFromRow(row, account.budget.cap.accounting)]]
    }),
  )
  const sessionAnswers = byKey(
    found,
    'session_answers',
    (row) => joined(text(row, 'session'), text(row, 'key')),
    (row) => ({ requestHash: text(row, 'request_hash'), answer: answer(row) }),
  )

  let missed = false
  /** Returns `undefined` only for a row that was looked for while its dataset was locked. */
  function known<Value>(value: Value | undefined, lookedFor: boolean): Value | undefined {
    if (value !== undefined || lookedFor) return value
    throw missedRow()
  }
  function missedRow(): StatementError {
    missed = true
    return unread()
  }
  return {
    nowMs: count(found, 'now_ms'),
    rows: {
      account: (dataset) => known(accounts.get(dataset), keys.datasets.has(dataset)),
      analyst: (dataset, principal) =>
        known(
          analysts.get(joined(dataset, principal)),
          keys.analysts.has(dataset, principal) || keys.allAnalysts.has(dataset),
        ),
      analysts(dataset) {
        if (!keys.allAnalysts.has(dataset)) throw missedRow()
        return [...analysts.values()].filter((each) => each.dataset === dataset)
      },
      charge: (name) => known(charges.get(name), keys.charges.has(name)),
      answer: (name) => known(answers.get(name), keys.answers.has(name)),
      sharedRelease: (dataset, requestHash) => {
        const key = joined(dataset, requestHash)
        return known(shared.get(key), questions.has(key))
      },
      session: (name) => known(sessions.get(name), keys.sessions.has(name)),
      sessionAnswer: (session, idempotencyKey) =>
        known(
          sessionAnswers.get(joined(session, idempotencyKey)),
          keys.sessionQuestions.has(session, idempotencyKey),
        ),
      sources: (digest, dataset) => {
        if (!keys.sources.has(digest, dataset)) throw missedRow()
        return sources.filter((each) => each.digest === digest || each.dataset === dataset)
      },
    },
    expectComplete() {
      if (missed) throw unread()
    },
  }
}

async function readSources(
  client: ClientBase,
  { firsts, seconds }: Keys['sources'],
): Promise<readonly SourceRow[]> {
  if (firsts.length === 0) return []
  const { rows } = await ask(client, STATEMENTS.readSources, [firsts, seconds])
  return rows.map(sourceFromRow)
}

/** For example, the charge of a call was created between the statements that lock and read. */
function unread(): StatementError {
  return new StatementError('conflict', 'a call requires a row that was not read')
}

function byKey<Value>(
  result: Row,
  column: string,
  key: (row: Row) => string,
  value: (row: Row) => Value,
): ReadonlyMap<string, Value> {
  return new Map(rowsOf(result, column).map((row): [string, Value] => [key(row), value(row)]))
}
