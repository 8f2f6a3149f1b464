import type { ClientBase } from 'pg'
import { ADMINISTRATION } from '../act.ts'
import { chargeId } from '../canonical.ts'
import { LedgerFault } from '../ledger.ts'
import { applyCommand, type Call, type Settled } from '../operation.ts'
import { beginBatch, changesOf } from '../protocol/batch.ts'
import type { CommandName } from '../protocol/commands.ts'
import type { Account, AnalystAccount, Rows, SourceRow } from '../protocol/rows.ts'
import { expectText } from '../range.ts'
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
} from '../stored-row.ts'
import { ask, StatementError } from './connection.ts'
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
    settled = calls.map((call) => settle(() => applyCommand(batch, call)))
    expectComplete()
    const changes = changesOf(batch)
    const { accounts: moved, sources } = changes
    changed = moved.length > 0 || sources.length > 0
    if (moved.length > 0) await ask(client, WRITE, writeArguments(changes))
    if (sources.length > 0) await ask(client, WRITE_SOURCES, [JSON.stringify(sources)])
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

function settle(carryOut: () => Extract<Settled, { kind: 'done' }>['result']): Settled {
  try {
    return { kind: 'done', result: carryOut() }
  } catch (error) {
    return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
  }
}

async function commit(client: ClientBase): Promise<void> {
  let warning: string | undefined
  const note = (notice: { readonly message?: string | undefined }) => {
    warning = notice.message
  }
  client.on('notice', note)
  try {
    const { command } = await ask(client, COMMIT)
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
const COMMIT = { name: 'commit', text: 'COMMIT' }

const LOCK = {
  name: 'lock',
  text: `
    SELECT ${BUDGET_COLUMNS} FROM sotto.budgets
    WHERE dataset = ANY ($1::text[] || ARRAY(SELECT dataset FROM sotto.charges WHERE id = ANY ($2::text[])))
    ORDER BY dataset FOR UPDATE
  `,
}

/**
 * Reads every row that the calls of a batch may need. $1: charges; $2: those of them whose answers may be returned; $3
 * and $4: requests that may have a shared release; $5 and $6: analysts; $7: sessions; $8 and $9: questions of sessions.
 */
const READ = {
  name: 'read',
  text: `
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
        ) AS wanted JOIN sotto.analysts USING (dataset, principal)) AS analysts,
      (SELECT coalesce(json_agg(${SESSION_JSON}), '[]')
        FROM sotto.sparse_vector_sessions AS sessions JOIN sotto.charges ON charges.id = sessions.charge
        WHERE sessions.charge = ANY ($7::text[])) AS sessions,
      (SELECT coalesce(json_agg(json_build_object('session', session, 'key', idempotency_key,
          'request_hash', request_hash, 'answer', answer)), '[]')
        FROM unnest($8::text[], $9::text[]) AS wanted (session, idempotency_key)
          JOIN sotto.sparse_vector_answers USING (session, idempotency_key)) AS session_answers
  `,
}

const WRITE = {
  name: 'write',
  text: `SELECT sotto.write_changes(
    $1::json, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json, $8::json, $9::json, $10::json, $11::json)`,
}

/**
 * Reads the sources with a digest ($1) or of a dataset ($2). Registrations exclude each other, so no other transaction
 * adds one meanwhile.
 */
const READ_SOURCES = {
  name: 'read sources',
  text: `
    SELECT digest, dataset, synthetic FROM sotto.sources WHERE digest = ANY ($1::text[])
    UNION
    SELECT digest, dataset, synthetic FROM sotto.sources WHERE dataset = ANY ($2::text[])
  `,
}

const WRITE_SOURCES = {
  name: 'write sources',
  text: `INSERT INTO sotto.sources SELECT * FROM json_populate_recordset(NULL::sotto.sources, $1::json)`,
}

/** The keys of the rows that the calls of a batch may need. */
interface Keys {
  readonly datasets: ReadonlySet<string>
  /** Includes the ids of sessions, which are the ids of their charges. */
  readonly charges: ReadonlySet<string>
  /** Charges whose answers may be returned. */
  readonly answers: ReadonlySet<string>
  readonly questions: Pairs
  readonly analysts: Pairs
  readonly sessions: ReadonlySet<string>
  readonly sessionQuestions: Pairs
  /** Digests and datasets of sources. */
  readonly sources: Pairs
}

function keysOf(calls: readonly Command[]): Keys {
  const keys = {
    datasets: new Set<string>(),
    charges: new Set<string>(),
    answers: new Set<string>(),
    questions: pairs(),
    analysts: pairs(),
    sessions: new Set<string>(),
    sessionQuestions: pairs(),
    sources: pairs(),
  }
  for (const call of calls) {
    if (actsOnChain(call)) keys.datasets.add(ADMINISTRATION)
    switch (call.operation) {
      case 'recordAct':
        break
      case 'openBudget':
      case 'registerSource': {
        const [dataset, { source }] =
          call.operation === 'openBudget' ? call.args : [call.args[0], { source: call.args[1] }]
        ifStorable([dataset], () => keys.datasets.add(dataset))
        if (source !== undefined)
          ifStorable([dataset, source.digest], () => keys.sources.add(source.digest, dataset))
        break
      }
      case 'grant':
      case 'replaceCap':
      case 'resume':
        ifStorable([call.args[0]], () => keys.datasets.add(call.args[0]))
        break
      case 'allot': {
        const { dataset, analyst } = call.args[0]
        ifStorable([dataset, analyst], () => {
          keys.datasets.add(dataset)
          keys.analysts.add(dataset, analyst)
        })
        break
      }
      case 'charge': {
        const { dataset, principal, idempotencyKey, requestHash } = call.args[0]
        ifStorable([dataset, principal, idempotencyKey, requestHash], () => {
          const id = chargeId(principal, idempotencyKey)
          keys.datasets.add(dataset)
          keys.charges.add(id)
          keys.answers.add(id)
          keys.analysts.add(dataset, principal)
          if (call.args[0].sharing && !call.args[0].keyChosen) keys.questions.add(dataset, requestHash)
        })
        break
      }
      case 'recordAnswer':
      case 'recordFailure':
        ifStorable([call.args[0]], () => keys.charges.add(call.args[0]))
        break
      case 'openSession':
      case 'recordQuestionFailure':
        ifStorable([call.args[0]], () => {
          keys.charges.add(call.args[0])
          keys.sessions.add(call.args[0])
        })
        break
      case 'recordSessionAnswer': {
        const { session, idempotencyKey } = call.args[0]
        ifStorable([session, idempotencyKey], () => {
          keys.charges.add(session)
          keys.sessions.add(session)
          keys.sessionQuestions.add(session, idempotencyKey)
        })
        break
      }
      default:
        call satisfies never
    }
  }
  return keys
}

/** True if a call may append an administrative act. */
function actsOnChain(call: Command): boolean {
  switch (call.operation) {
    case 'recordAct':
    case 'grant':
    case 'replaceCap':
    case 'allot':
    case 'resume':
      return true
    case 'recordFailure':
      return call.args[2]?.counts === true
    case 'recordQuestionFailure':
      return call.args[1].counts
    default:
      return false
  }
}

/** Skips texts that cannot be stored. The protocol refuses them; PostgreSQL would refuse the whole batch. */
function ifStorable(texts: readonly string[], then: () => void): void {
  try {
    for (const each of texts) expectText({ each })
  } catch {
    return
  }
  then()
}

/** Distinct pairs of texts, as two columns. */
interface Pairs {
  readonly firsts: readonly string[]
  readonly seconds: readonly string[]
  has(first: string, second: string): boolean
}

function pairs(): Pairs & { add(first: string, second: string): void } {
  const seen = new Set<string>()
  const firsts: string[] = []
  const seconds: string[] = []
  return {
    firsts,
    seconds,
    has: (first, second) => seen.has(joined(first, second)),
    add(first, second) {
      if (seen.has(joined(first, second))) return
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
  const { rows } = await ask(client, LOCK, [[...keys.datasets], [...keys.charges]])
  return new Map(rows.map((row) => [text(row, 'dataset'), accountFromRow(row)]))
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
  const { rows: results } = await ask(client, READ, [
    [...keys.charges],
    [...keys.answers],
    keys.questions.firsts,
    keys.questions.seconds,
    keys.analysts.firsts,
    keys.analysts.seconds,
    [...keys.sessions],
    keys.sessionQuestions.firsts,
    keys.sessionQuestions.seconds,
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
    missed = true
    throw unread()
  }
  return {
    nowMs: count(found, 'now_ms'),
    rows: {
      account: (dataset) => known(accounts.get(dataset), keys.datasets.has(dataset)),
      analyst: (dataset, principal) =>
        known(analysts.get(joined(dataset, principal)), keys.analysts.has(dataset, principal)),
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
        const matching = sources.filter((each) => each.digest === digest || each.dataset === dataset)
        return known(keys.sources.has(digest, dataset) ? matching : undefined, false) ?? []
      },
    },
    expectComplete() {
      if (missed) throw unread()
    },
  }
}

async function readSources(client: ClientBase, { firsts, seconds }: Pairs): Promise<readonly SourceRow[]> {
  if (firsts.length === 0) return []
  const { rows } = await ask(client, READ_SOURCES, [firsts, seconds])
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
