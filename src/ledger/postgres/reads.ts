import type { QueryResult } from 'pg'
import { defined } from '../../privacy/defined.ts'
import { actFromEvent } from '../act.ts'
import { sha256 } from '../canonical.ts'
import { ADMINISTRATION } from '../contract/acts.ts'
import { isPopulationAccount } from '../contract/budgets.ts'
import type { ChargeRecord, Member } from '../contract/chain.ts'
import { entryFromEvent, failureFromEvent } from '../event.ts'
import type { OperationArguments, OperationResults } from '../ledger.ts'
import { beginBatch } from '../protocol/batch.ts'
import { type Account, newAnalyst, recordOf, spendingOf } from '../protocol/rows.ts'
import { sessionQuestion } from '../protocol/sessions.ts'
import { COUNTED_PAGE, expectCount, expectPage, MAX_COUNT, MAX_PAGE, MAX_RELEASES_BYTES } from '../range.ts'
import type { ReadName } from '../stores/operation.ts'
import { boundsOf, pageOf } from '../stores/selection.ts'
import {
  accountFromRow,
  accountingFromRow,
  amountFromRow,
  analystFromRow,
  answerFromRow,
  chargeCountsFromRows,
  chargeFromRow,
  count,
  headFromRow,
  listedFromRow,
  type Row,
  sessionFromRow,
  text,
} from '../stores/stored-row.ts'
import { named, type Statement } from './connection.ts'
import { ANALYST_JSON, BUDGET_COLUMNS, CHARGE_JSON, rowsOf, SESSION_JSON } from './rows.ts'

/** Executes a statement that changes nothing. */
export type Look = (statement: Statement, values: readonly unknown[]) => Promise<QueryResult>

type Reads = {
  readonly [Name in ReadName]: (...args: OperationArguments[Name]) => Promise<OperationResults[Name]>
}

/**
 * Creates the reading methods of the ledger. Each is one statement, so its result is consistent; none waits for a lock.
 */
export function postgresReads(look: Look): Reads {
  async function rows(
    statement: Statement,
    ...values: readonly (string | number | readonly string[])[]
  ): Promise<readonly Row[]> {
    const sent = values.map((value) => (typeof value === 'object' ? value.map(findable) : findable(value)))
    const { rows: found } = await look(statement, sent)
    return found
  }

  /** @throws RangeError for too many ids. */
  async function requests(
    statement: Statement,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    expectPage(ids)
    const found = await rows(statement, ids)
    return new Map(found.map((row) => [text(row, 'id'), text(row, 'request')]))
  }

  async function account(dataset: string): Promise<Account | undefined> {
    const [row] = await rows(FIND.account, dataset)
    return row === undefined ? undefined : accountFromRow(row)
  }

  return {
    budget: async (dataset) => (await account(dataset))?.budget,
    async analystSpending(dataset, principal) {
      const [row] = await rows(FIND.analyst, dataset, principal)
      if (row === undefined) return undefined
      const [analyst] = rowsOf(row, 'analysts')
      return spendingOf(
        analyst === undefined
          ? newAnalyst(accountFromRow(row), principal)
          : analystFromRow(analyst, accountingFromRow(row)),
      )
    },
    async head(dataset) {
      const [row] = await rows(FIND.head, dataset)
      if (row === undefined) return undefined
      const { budget, headSequence, headHash, failures, suspended } = accountFromRow(row)
      const accounting = accountingFromRow(row)
      const spending = rowsOf(row, 'analysts').map((analyst) =>
        spendingOf(analystFromRow(analyst, accounting)),
      )
      const members = isPopulationAccount(dataset) ? rowsOf(row, 'members').map(memberFromRow) : undefined
      const head = { sequence: headSequence, hash: headHash, budget, spending, failures, suspended }
      return { ...head, ...defined({ members }) }
    },
    async suspension(dataset) {
      const [row] = await rows(FIND.suspension, dataset, MAX_PAGE)
      if (row === undefined) return undefined
      const { failures, suspended } = accountFromRow(row)
      const counted = rowsOf(row, 'counted').map((event) => failureFromEvent(text(event, 'canonical')))
      return { failures, suspended, counted: counted.reverse() }
    },
    heads: async () => (await rows(FIND.heads)).map(headFromRow),
    datasets: async () => (await rows(FIND.datasets)).map((row) => text(row, 'dataset')),
    async session(id) {
      const [row] = await rows(FIND.session, id)
      if (row === undefined) return undefined
      const [found] = rowsOf(row, 'sessions')
      if (found === undefined) return undefined
      const { dataset, datasetVersion, principal, answered, positives, positivesFound } =
        sessionFromRow(found)
      const positivesLeft = positives - positivesFound
      return { id, dataset, datasetVersion, principal, opening: answerFromRow(row), answered, positivesLeft }
    },
    async sessionQuestion(question) {
      const [row] = await rows(FIND.question, question.session, question.idempotencyKey)
      const [found] = row === undefined ? [] : rowsOf(row, 'sessions')
      const [answer] = row === undefined ? [] : rowsOf(row, 'answers')
      const nothing = () => undefined
      const batch = beginBatch(
        {
          account: () => (row === undefined ? undefined : accountFromRow(row)),
          session: () => (found === undefined ? undefined : sessionFromRow(found)),
          sessionAnswer: () =>
            answer === undefined
              ? undefined
              : { requestHash: text(answer, 'request_hash'), answer: text(answer, 'answer') },
          analyst: nothing,
          analysts: () => [],
          charge: nothing,
          answer: nothing,
          sharedRelease: nothing,
          sources: () => [],
        },
        0,
      )
      return sessionQuestion(batch, question)
    },
    async sessionAnswers(id, { limit, beforeQuestion = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeQuestion', beforeQuestion, MAX_COUNT)
      return (await rows(FIND.sessionAnswers, id, beforeQuestion, limit)).map((row) => ({
        question: count(row, 'question'),
        request: text(row, 'request'),
        answer: text(row, 'answer'),
      }))
    },
    async entries(dataset, { limit, principal, beforeSequence: before = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeSequence', before, MAX_COUNT)
      const found =
        principal === undefined
          ? await rows(FIND.events, dataset, before, limit)
          : await rows(FIND.eventsOfPrincipal, dataset, before, limit, principal)
      return found.map((row) => entryFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    async acts({ limit, beforeSequence: before = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeSequence', before, MAX_COUNT)
      const found = await rows(FIND.events, ADMINISTRATION, before, limit)
      return found.map((row) => actFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    async events(dataset, { limit, afterSequence }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('afterSequence', afterSequence + 1, MAX_COUNT)
      const found = await rows(FIND.eventsAfter, dataset, afterSequence, limit)
      return found.map((row) => ({ canonical: text(row, 'canonical'), hash: text(row, 'hash') }))
    },
    async releases(selection) {
      const { datasets, fromMs, toMs, after, kind } = boundsOf(selection)
      const { principal, limit } = selection
      const bounds = [
        datasets,
        fromMs,
        toMs,
        after.answeredAtMs,
        after.id,
        kind,
        limit + 1,
        MAX_RELEASES_BYTES,
      ]
      const found =
        principal === undefined
          ? await rows(FIND.releases, ...bounds)
          : await rows(FIND.releasesOfPrincipal, ...bounds, principal)
      const releases = found.slice(0, limit).map(listedFromRow)
      const [first] = found
      return pageOf(releases, first !== undefined && count(first, 'positions') > releases.length)
    },
    async release(id) {
      const [row] = await rows(FIND.release, id)
      if (row === undefined) return undefined
      return {
        id,
        dataset: text(row, 'dataset'),
        principal: text(row, 'principal'),
        answer: answerFromRow(row),
      }
    },
    async chargeRecords(ids) {
      expectPage(ids)
      return (await rows(FIND.records, ids)).flatMap((row) => {
        const hash = answerHashOf(row)
        return rowsOf(row, 'charges').map((charge) => recordOf(chargeFromRow(charge), hash))
      })
    },
    requests: (ids) => requests(FIND.requests, ids),
    unansweredRequests: (ids) => requests(FIND.unansweredRequests, ids),
    chargeCounts: async (after = '') =>
      chargeCountsFromRows(await rows(FIND.chargeCounts, after, COUNTED_PAGE)),
    async lastDatasetVersion(dataset) {
      const [row] = await rows(FIND.lastVersion, dataset)
      return row === undefined ? 0 : count(row, 'version')
    },
    healthy: async () => (await rows(FIND.probe)).length === 1,
  }
}

/** Reads a dataset of a population. */
function memberFromRow(row: Row): Member {
  const accounting = accountingFromRow(row)
  const spending = rowsOf(row, 'analysts').map((each) => spendingOf(analystFromRow(each, accounting)))
  return { dataset: text(row, 'dataset'), spent: amountFromRow(row, accounting, 'spent'), spending }
}

/** The hash of a stored answer, which the database computes unless the answer is compressed. */
function answerHashOf(row: Row): string | undefined {
  if (row.deflated !== null) return sha256(answerFromRow(row))
  return row.answer_hash === null ? undefined : text(row, 'answer_hash')
}

/** Replaces a text with NUL, which PostgreSQL refuses, by the empty text. Neither occurs in the tables. */
function findable(value: string | number): string | number {
  return typeof value === 'string' && value.includes('\0') ? '' : value
}

const WITHIN_BOUNDS = `
  answered_at_ms >= $2 AND answered_at_ms < $3 AND (answered_at_ms, charge) < ($4, $5)
    AND ($6 = '' OR releases.kind = $6)
  ORDER BY answered_at_ms DESC, charge DESC LIMIT $7
`

/** Reads the releases at positions, up to a size of their answers, with the number of positions. */
function releasesAt(positions: string): string {
  return `
    SELECT * FROM (
      SELECT charges.id, charges.dataset, dataset_version, charges.principal, request, loss_epsilon_nano,
        loss_delta_atto, loss_rho_pico, shared_from, accounting, releases.kind, releases.answered_at_ms, answer,
        deflated, count(*) OVER () AS positions,
        coalesce(sum(coalesce(octet_length(answer), octet_length(deflated))) OVER (
          ORDER BY releases.answered_at_ms DESC, releases.charge DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS bytes_before
      FROM (${positions}) AS position JOIN sotto.releases USING (charge)
        JOIN sotto.charges ON charges.id = releases.charge JOIN sotto.budgets ON budgets.dataset = charges.dataset
    ) AS listed WHERE bytes_before < $8 ORDER BY answered_at_ms DESC, id DESC
  `
}

const requestsIn = (...states: readonly ChargeRecord['state'][]) => `
  SELECT id, request FROM sotto.charges WHERE id = ANY ($1::text[]) AND state IN ('${states.join("', '")}')
`

/** The statements, each prepared under its name. */
const FIND = named({
  account: `SELECT ${BUDGET_COLUMNS} FROM sotto.budgets WHERE dataset = $1`,
  analyst: `
    SELECT ${BUDGET_COLUMNS}, (
      SELECT coalesce(json_agg(${ANALYST_JSON}), '[]') FROM sotto.analysts
      WHERE analysts.dataset = budgets.dataset AND principal = $2
    ) AS analysts
    FROM sotto.budgets WHERE dataset = $1
  `,
  head: `
    SELECT ${BUDGET_COLUMNS}, (
      SELECT coalesce(json_agg(${ANALYST_JSON} ORDER BY principal), '[]') FROM sotto.analysts
      WHERE analysts.dataset = budgets.dataset
    ) AS analysts, (
      SELECT coalesce(json_agg(json_build_object('dataset', member.dataset, 'accounting', member.accounting,
        'spent_epsilon_nano', member.spent_epsilon_nano::text, 'spent_delta_atto', member.spent_delta_atto::text,
        'spent_rho_pico', member.spent_rho_pico::text, 'analysts', (
          SELECT coalesce(json_agg(${ANALYST_JSON} ORDER BY principal), '[]') FROM sotto.analysts
          WHERE analysts.dataset = member.dataset
        )) ORDER BY member.dataset), '[]') FROM sotto.budgets AS member
      WHERE member.population = budgets.dataset
    ) AS members
    FROM sotto.budgets WHERE dataset = $1
  `,
  suspension: `
    SELECT ${BUDGET_COLUMNS}, (
      SELECT coalesce(json_agg(json_build_object('canonical', canonical) ORDER BY sequence DESC), '[]') FROM (
        SELECT sequence, canonical FROM sotto.events WHERE events.dataset = budgets.dataset AND counted
        ORDER BY sequence DESC LIMIT least(budgets.failures, $2::bigint)
      ) AS latest
    ) AS counted
    FROM sotto.budgets WHERE dataset = $1
  `,
  heads: 'SELECT dataset, head_sequence, head_hash FROM sotto.budgets ORDER BY dataset',
  datasets: `SELECT dataset FROM sotto.budgets WHERE dataset NOT LIKE '@%' ORDER BY dataset`,
  session: `
    SELECT answer, deflated, (
      SELECT coalesce(json_agg(${SESSION_JSON}), '[]')
      FROM sotto.sparse_vector_sessions AS sessions JOIN sotto.charges ON charges.id = sessions.charge
      WHERE sessions.charge = releases.charge
    ) AS sessions
    FROM sotto.releases WHERE charge = $1
  `,
  question: `
    SELECT ${BUDGET_COLUMNS}, (
      SELECT coalesce(json_agg(${SESSION_JSON}), '[]')
      FROM sotto.sparse_vector_sessions AS sessions JOIN sotto.charges ON charges.id = sessions.charge
      WHERE sessions.charge = $1
    ) AS sessions, (
      SELECT coalesce(json_agg(json_build_object('request_hash', request_hash, 'answer', answer)), '[]')
      FROM sotto.sparse_vector_answers WHERE session = $1 AND idempotency_key = $2
    ) AS answers
    FROM sotto.budgets WHERE dataset = (SELECT dataset FROM sotto.charges WHERE id = $1)
  `,
  sessionAnswers: `
    SELECT question, request, answer FROM sotto.sparse_vector_answers
    WHERE session = $1 AND question < $2 ORDER BY question DESC LIMIT $3
  `,
  events: `
    SELECT canonical, hash FROM sotto.events
    WHERE dataset = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3
  `,
  eventsOfPrincipal: `
    SELECT canonical, hash FROM sotto.events
    WHERE dataset = $1 AND principal = $4 AND sequence < $2 ORDER BY sequence DESC LIMIT $3
  `,
  eventsAfter: `
    SELECT canonical, hash FROM sotto.events
    WHERE dataset = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
  `,
  release: `
    SELECT charges.dataset, charges.principal, answer, deflated FROM sotto.releases JOIN sotto.charges ON charges.id = releases.charge
    WHERE releases.charge = $1
  `,
  releases: releasesAt(`
    SELECT charge FROM unnest($1::text[]) AS selected (dataset) CROSS JOIN LATERAL (
      SELECT charge, answered_at_ms FROM sotto.releases
      WHERE releases.dataset = selected.dataset AND ${WITHIN_BOUNDS}
    ) AS found ORDER BY answered_at_ms DESC, charge DESC LIMIT $7
  `),
  releasesOfPrincipal: releasesAt(`
    SELECT charge FROM sotto.releases
    WHERE releases.principal = $9 AND releases.dataset = ANY ($1::text[]) AND ${WITHIN_BOUNDS}
  `),
  requests: requestsIn('charged', 'failed', 'answered'),
  unansweredRequests: requestsIn('charged', 'failed'),
  records: `
    SELECT json_build_array(${CHARGE_JSON}) AS charges,
      encode(sha256(convert_to(answer, 'UTF8')), 'hex') AS answer_hash, deflated
    FROM sotto.charges JOIN sotto.budgets USING (dataset) LEFT JOIN sotto.releases ON releases.charge = charges.id
    WHERE id = ANY ($1::text[])
  `,
  chargeCounts: `
    SELECT dataset, count(*) AS charges, max(id) AS last
    FROM (SELECT dataset, id FROM sotto.charges WHERE id > $1 ORDER BY id LIMIT $2) AS page GROUP BY dataset
  `,
  lastVersion: String.raw`
    SELECT coalesce(max(dataset_version::bigint), 0) AS version FROM sotto.charges
    WHERE dataset = $1 AND dataset_version ~ '^\d{1,15}$'
  `,
  probe: 'SELECT count(*) FROM (SELECT FROM sotto.budgets LIMIT 1) AS any_budget',
})
