import type { DatabaseSync } from 'node:sqlite'
import type { ClientBase } from 'pg'
import type { ChainHead } from './contract/chain.ts'
import { verifyDataset } from './exported.ts'
import { LedgerFault } from './fault.ts'
import { ask, StatementError, useOnce } from './postgres/connection.ts'
import { postgresReads } from './postgres/reads.ts'
import { rowJson } from './postgres/rows.ts'
import { LEDGER_SCHEMA, prepareSchema } from './postgres/schema.ts'
import { isMarkedAsCopied, markAsCopied, openSqliteDatabase } from './sqlite/database.ts'
import { headFromRow } from './stores/stored-row.ts'
import { countCharges } from './verification.ts'

/** The result of a copy. */
export interface LedgerCopy {
  /** True if an earlier copy had been completed, and nothing was copied now. */
  readonly earlier: boolean
  /** The last event of each chain, equal in both ledgers. */
  readonly heads: readonly ChainHead[]
}

/** Rows, or bytes of their texts, that are sent at once. */
const PAGE = { rows: 1_000, bytes: 4_000_000 }

/**
 * Every table of the SQLite schema, and a query for its rows with the names of PostgreSQL's columns. PostgreSQL
 * identifies charges by `id`, SQLite by `number`. The order satisfies the foreign keys and the triggers.
 */
export const COPIED_TABLES: readonly (readonly [table: string, rows: string])[] = [
  ['budgets', 'SELECT * FROM budgets ORDER BY dataset'],
  ['events', 'SELECT * FROM events ORDER BY dataset, sequence'],
  ['analysts', 'SELECT * FROM analysts ORDER BY dataset, principal'],
  // A synthetic source may become a real one, not the reverse.
  ['sources', 'SELECT * FROM sources ORDER BY synthetic DESC, dataset, digest'],
  [
    'charges',
    `SELECT id, principal, idempotency_key, dataset, dataset_version, request_hash, request, loss_epsilon_nano,
       loss_delta_atto, loss_rho_pico, state, attempt, created_at_ms, leased_at_ms, lease_expires_at_ms, sharing,
       shared_from
     FROM charges ORDER BY shared_from IS NOT NULL, number`,
  ],
  [
    'releases',
    `SELECT charges.id AS charge, answer,
       CASE WHEN deflated IS NOT NULL THEN '\\x' || hex(deflated) END AS deflated,
       releases.dataset, releases.principal, kind, answered_at_ms
     FROM releases JOIN charges ON charges.number = releases.charge ORDER BY charges.number`,
  ],
  [
    'shared_releases',
    `SELECT shared_releases.dataset, shared_releases.request_hash, charges.id AS charge
     FROM shared_releases JOIN charges ON charges.number = shared_releases.charge`,
  ],
  [
    'sparse_vector_sessions',
    `SELECT charges.id AS charge, positives, terms, threshold_noise
     FROM sparse_vector_sessions AS sessions JOIN charges ON charges.number = sessions.charge`,
  ],
  [
    'sparse_vector_answers',
    `SELECT charges.id AS session, question, answers.idempotency_key, answers.request_hash, answers.request, above, answer
     FROM sparse_vector_answers AS answers JOIN charges ON charges.number = answers.session ORDER BY session, question`,
  ],
]

/**
 * Copies the ledger of a SQLite file into an empty PostgreSQL database, verifies the copy, and marks the file, which no
 * service opens from then on. At no time can both be used: the file is marked before the copy is committed. If the
 * process ends in between, a repeated call completes the copy. See decision 56.
 * @throws LedgerFault `in-use` or `unusable`; `unknown` if it is not known whether the copy was committed.
 */
export async function copyLedger({
  path,
  url,
}: {
  readonly path: string
  readonly url: string
}): Promise<LedgerCopy> {
  const source = openSqliteDatabase(path, { copied: true })
  try {
    let copy: LedgerCopy | undefined
    await useOnce(url, async (target) => {
      await prepareSchema(target, LEDGER_SCHEMA)
      copy = await copyInto(target, source)
    })
    if (copy === undefined) throw new Error('the copy was not started')
    return copy
  } catch (error) {
    if (!(error instanceof StatementError)) throw error
    throw new LedgerFault('unusable', `the database cannot take the ledger: ${error.message}`)
  } finally {
    source.close()
  }
}

async function copyInto(target: ClientBase, source: DatabaseSync): Promise<LedgerCopy> {
  await ask(target, 'BEGIN')
  try {
    // A service that opens the database now waits until the copy has ended.
    await ask(target, 'LOCK TABLE sotto.budgets, sotto.sources IN ACCESS EXCLUSIVE MODE')
    const heads = headsOf(source)
    if (await isFilled(target)) {
      await requireEarlierCopy(target, source, heads)
      await ask(target, 'ROLLBACK')
      return { earlier: true, heads }
    }
    await requireUnused(target)
    for (const [table, rows] of COPIED_TABLES) await copyTable(target, source, table, rows)
    await verifyCopy(target, heads)
    await commitMarked(target, source)
    return { earlier: false, heads }
  } catch (error) {
    // If the connection is lost, the transaction has ended.
    await ask(target, 'ROLLBACK').catch(() => {})
    throw error
  }
}

function headsOf(source: DatabaseSync): readonly ChainHead[] {
  const rows = source.prepare('SELECT dataset, head_sequence, head_hash FROM budgets ORDER BY dataset').all()
  return rows.map(headFromRow)
}

async function isFilled(target: ClientBase): Promise<boolean> {
  const { rows } = await ask(
    target,
    'SELECT EXISTS (SELECT 1 FROM sotto.budgets) OR EXISTS (SELECT 1 FROM sotto.sources) AS filled',
  )
  return rows[0]?.filled === true
}

/** @throws LedgerFault unless this file was copied into the database, where the ledger may have grown since. */
async function requireEarlierCopy(
  target: ClientBase,
  source: DatabaseSync,
  heads: readonly ChainHead[],
): Promise<void> {
  const { rows } = await ask(
    target,
    {
      name: 'find copied heads',
      text: 'SELECT count(*)::integer AS found FROM sotto.events WHERE hash = ANY ($1)',
    },
    [heads.map(({ hash }) => hash)],
  )
  const events = heads.filter((head) => head.sequence > 0)
  if (isMarkedAsCopied(source) && events.length > 0 && rows[0]?.found === events.length) return
  throw new LedgerFault('unusable', 'the database already holds a ledger; a copy needs an empty one')
}

/** @throws LedgerFault `in-use` if a service is connected to the database. */
export async function requireUnused(target: ClientBase): Promise<void> {
  const { rows } = await ask(
    target,
    `SELECT count(*)::integer AS others FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'sotto'`,
  )
  if (rows[0]?.others !== 0) throw new LedgerFault('in-use', 'another process uses the database')
}

async function copyTable(
  target: ClientBase,
  source: DatabaseSync,
  table: string,
  rows: string,
): Promise<void> {
  const insert = {
    name: `copy ${table}`,
    text: `INSERT INTO sotto.${table} SELECT * FROM json_populate_recordset(NULL::sotto.${table}, $1)`,
  }
  let copied = 0
  let page: string[] = []
  let bytes = 0
  const send = async () => {
    const { rowCount } = await ask(target, insert, [`[${page.join()}]`])
    if (rowCount !== page.length) throw new LedgerFault('unusable', `rows of ${table} were not copied`)
    copied += page.length
    page = []
    bytes = 0
  }
  for (const row of source.prepare(rows).iterate()) {
    const text = rowJson(row)
    page.push(text)
    bytes += text.length
    if (page.length === PAGE.rows || bytes >= PAGE.bytes) await send()
  }
  if (page.length > 0) await send()
  const total = source.prepare(`SELECT count(*) AS total FROM ${table}`).get()?.total
  if (BigInt(copied) !== total) throw new LedgerFault('unusable', `rows of ${table} were not copied`)
}

/**
 * Verifies the copy as `npx sotto ledger verify` does, before it is committed, and compares its heads.
 * @throws LedgerFault if anything differs.
 */
async function verifyCopy(target: ClientBase, heads: readonly ChainHead[]): Promise<void> {
  const ledger = postgresReads((statement, values) => ask(target, statement, values))
  const counts = await countCharges(ledger)
  for (const { dataset, hash } of heads) {
    const verification = (await verifyDataset(ledger, dataset, counts))?.verification
    if (verification?.kind === 'sound' && verification.headHash === hash) continue
    const reason = verification?.kind === 'broken' ? verification.reason : 'the heads differ'
    throw new LedgerFault('unusable', `the ledger of ${dataset} is not sound: ${reason}; nothing was copied`)
  }
}

/** Marks the source, then commits. After an uncertain commit the mark stays, because the copy may be in use soon. */
async function commitMarked(target: ClientBase, source: DatabaseSync): Promise<void> {
  markAsCopied(source, true)
  try {
    await ask(target, 'COMMIT')
  } catch (error) {
    if (error instanceof StatementError && error.kind === 'lost')
      throw new LedgerFault(
        'unknown',
        'the connection was lost during the commit: repeat the command to complete the copy',
      )
    markAsCopied(source, false)
    throw error
  }
}
