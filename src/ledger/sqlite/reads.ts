import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { defined } from '../../privacy/defined.ts'
import { actFromEvent } from '../act.ts'
import { sha256 } from '../canonical.ts'
import { ADMINISTRATION } from '../contract/acts.ts'
import { isPopulationAccount } from '../contract/budgets.ts'
import type { ChargeRecord } from '../contract/chain.ts'
import type { ListedRelease, ReleaseSelection } from '../contract/releases.ts'
import { entryFromEvent, failureFromEvent } from '../event.ts'
import { beginBatch } from '../protocol/batch.ts'
import { expectRow, newAnalyst, recordOf, spendingOf } from '../protocol/rows.ts'
import { sessionQuestion } from '../protocol/sessions.ts'
import { COUNTED_PAGE, expectCount, expectPage, MAX_COUNT, MAX_PAGE, MAX_RELEASES_BYTES } from '../range.ts'
import type { Reads } from '../stores/operation.ts'
import { boundsOf, pageOf } from '../stores/selection.ts'
import {
  answerFromRow,
  chargeCountsFromRows,
  chargeFromRow,
  count,
  headFromRow,
  listedFromRow,
  type Row,
  text,
} from '../stores/stored-row.ts'
import { CHARGE_COLUMNS, prepared, type sqliteRows } from './rows.ts'

/** Prepares the reading methods of the ledger. */
export function sqliteReads(
  database: DatabaseSync,
  rows: ReturnType<typeof sqliteRows>,
  now: () => number,
): Reads {
  const find = prepared(database, FIND)
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
      const { budget, headSequence, headHash, failures, suspended } = account
      const spending = rows.spending(dataset)
      const members = isPopulationAccount(dataset) ? rows.members(dataset) : undefined
      const head = { sequence: headSequence, hash: headHash, budget, spending, failures, suspended }
      return { ...head, ...defined({ members }) }
    },
    suspension(dataset) {
      const account = rows.account(dataset)
      if (account === undefined) return undefined
      const { failures, suspended } = account
      const found = find.failures.all({ dataset, limit: Math.min(failures, MAX_PAGE) })
      const counted = found.map((row) => failureFromEvent(text(row, 'canonical'))).reverse()
      return { failures, suspended, counted }
    },
    heads: () => find.heads.all().map(headFromRow),
    datasets: () => find.datasets.all().map((row) => text(row, 'dataset')),
    session(id) {
      const found = rows.session(id)
      if (found === undefined) return undefined
      const { dataset, datasetVersion, principal, answered, positives, positivesFound } = found
      const opening = expectRow(rows.answer(id))
      const positivesLeft = positives - positivesFound
      return { id, dataset, datasetVersion, principal, opening, answered, positivesLeft }
    },
    sessionQuestion: (question) => sessionQuestion(beginBatch(rows, now()), question),
    sessionAnswers(id, { limit, beforeQuestion = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeQuestion', beforeQuestion, MAX_COUNT)
      return find.sessionAnswers.all({ id, before: beforeQuestion, limit }).map((row) => ({
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
          ? find.events.all({ dataset, before, limit })
          : find.eventsOfPrincipal.all({ dataset, before, limit, principal })
      return found.map((row) => entryFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    acts({ limit, beforeSequence: before = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeSequence', before, MAX_COUNT)
      const found = find.events.all({ dataset: ADMINISTRATION, before, limit })
      return found.map((row) => actFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    events(dataset, { limit, afterSequence }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('afterSequence', afterSequence + 1, MAX_COUNT)
      const found = find.eventsAfter.all({ dataset, after: afterSequence, limit })
      return found.map((row) => ({ canonical: text(row, 'canonical'), hash: text(row, 'hash') }))
    },
    releases: releaseLister(find),
    release(id) {
      const row = find.release.get({ id })
      if (row === undefined) return undefined
      return {
        id,
        dataset: text(row, 'dataset'),
        principal: text(row, 'principal'),
        answer: answerFromRow(row),
      }
    },
    chargeRecords(ids) {
      expectPage(ids)
      const records: ChargeRecord[] = []
      // One row at a time, because all answers together may not fit into memory.
      for (const row of find.records.iterate({ ids: JSON.stringify(ids) }))
        records.push(recordOf(chargeFromRow(row), isAnswered(row) ? sha256(answerFromRow(row)) : undefined))
      return records
    },
    requests: (ids) => requestsOf(find.requests, ids),
    unansweredRequests: (ids) => requestsOf(find.unansweredRequests, ids),
    chargeCounts: (after = '') => chargeCountsFromRows(find.chargeCounts.all({ after, limit: COUNTED_PAGE })),
    lastDatasetVersion: (dataset) => count(expectRow(find.lastVersion.get({ dataset })), 'version'),
    healthy: () => find.probe.get() !== undefined,
  }
}

/** @throws RangeError for too many ids. */
function requestsOf(statement: StatementSync, ids: readonly string[]): ReadonlyMap<string, string> {
  expectPage(ids)
  const rows = statement.all({ ids: JSON.stringify(ids) })
  return new Map(rows.map((row) => [text(row, 'id'), text(row, 'request')]))
}

function isAnswered(row: Row): boolean {
  return row.answer !== null || row.deflated !== null
}

/** Creates the reading of lists of releases. */
function releaseLister(find: ReturnType<typeof prepared<keyof typeof FIND>>): Reads['releases'] {
  /** Finds the first releases of a selection, one more than its limit, without their answers. */
  function positionsOf(selection: ReleaseSelection) {
    const { datasets, fromMs, toMs, after, kind } = boundsOf(selection)
    const { principal, limit } = selection
    const bounds = { fromMs, toMs, beforeMs: after.answeredAtMs, beforeId: after.id, kind, limit: limit + 1 }
    const rows =
      principal === undefined
        ? datasets.flatMap((dataset) => find.positions.all({ ...bounds, dataset }))
        : find.positionsOfPrincipal.all({ ...bounds, principal, datasets: JSON.stringify(datasets) })
    return rows
      .map((row) => ({
        charge: count(row, 'charge'),
        answeredAtMs: count(row, 'answered_at_ms'),
        id: text(row, 'id'),
      }))
      .sort((a, b) => b.answeredAtMs - a.answeredAtMs || (a.id < b.id ? 1 : -1))
      .slice(0, limit + 1)
  }

  return (selection) => {
    const positions = positionsOf(selection)
    const releases: ListedRelease[] = []
    let bytes = 0
    for (const { charge } of positions.slice(0, selection.limit)) {
      if (bytes >= MAX_RELEASES_BYTES) break
      const row = expectRow(find.listed.get({ charge }))
      bytes += count(row, 'bytes')
      releases.push(listedFromRow(row))
    }
    return pageOf(releases, positions.length > releases.length)
  }
}

const WITHIN_BOUNDS = `
  releases.answered_at_ms BETWEEN :fromMs AND :beforeMs AND releases.answered_at_ms < :toMs
    AND (releases.answered_at_ms < :beforeMs OR charges.id < :beforeId)
    AND (:kind = '' OR releases.kind = :kind)
  ORDER BY releases.answered_at_ms DESC, charges.id DESC LIMIT :limit
`

const requestsIn = (...states: readonly ChargeRecord['state'][]) => `
  SELECT charges.id, request FROM json_each(:ids) AS asked CROSS JOIN charges ON charges.id = asked.value
  WHERE state IN ('${states.join("', '")}')
`

const FIND = {
  sessionAnswers: `
    SELECT question, request, answer FROM sparse_vector_answers
    WHERE session = (SELECT number FROM charges WHERE id = :id) AND question < :before
    ORDER BY question DESC LIMIT :limit
  `,
  events: `
    SELECT canonical, hash FROM events
    WHERE dataset = :dataset AND sequence < :before
    ORDER BY sequence DESC LIMIT :limit
  `,
  eventsAfter: `
    SELECT canonical, hash FROM events
    WHERE dataset = :dataset AND sequence > :after
    ORDER BY sequence LIMIT :limit
  `,
  eventsOfPrincipal: `
    SELECT canonical, hash FROM events INDEXED BY events_of_principal
    WHERE dataset = :dataset AND principal = :principal AND sequence < :before
    ORDER BY sequence DESC LIMIT :limit
  `,
  failures: `
    SELECT canonical FROM events INDEXED BY counted_failures
    WHERE dataset = :dataset AND counted = 1 ORDER BY sequence DESC LIMIT :limit
  `,
  lastVersion: `
    SELECT coalesce(max(CAST(dataset_version AS INTEGER)), 0) AS version FROM charges WHERE dataset = :dataset
  `,
  heads: 'SELECT dataset, head_sequence, head_hash FROM budgets ORDER BY dataset',
  datasets: `SELECT dataset FROM budgets WHERE dataset NOT LIKE '@%' ORDER BY dataset`,
  release: `
    SELECT charges.dataset, charges.principal, releases.answer, releases.deflated
    FROM charges JOIN releases ON releases.charge = charges.number
    WHERE charges.id = :id
  `,
  positions: `
    SELECT releases.charge, releases.answered_at_ms, charges.id
    FROM releases INDEXED BY releases_of_dataset CROSS JOIN charges ON charges.number = releases.charge
    WHERE releases.dataset = :dataset AND ${WITHIN_BOUNDS}
  `,
  positionsOfPrincipal: `
    SELECT releases.charge, releases.answered_at_ms, charges.id
    FROM releases INDEXED BY releases_of_principal CROSS JOIN charges ON charges.number = releases.charge
    WHERE releases.principal = :principal AND releases.dataset IN (SELECT value FROM json_each(:datasets))
      AND ${WITHIN_BOUNDS}
  `,
  listed: `
    SELECT charges.id, charges.dataset, dataset_version, charges.principal, request, loss_epsilon_nano, loss_delta_atto,
      loss_rho_pico, shared_from, budgets.accounting, releases.kind, releases.answered_at_ms, answer, deflated,
      coalesce(octet_length(answer), octet_length(deflated)) AS bytes
    FROM releases JOIN charges ON charges.number = releases.charge JOIN budgets ON budgets.dataset = charges.dataset
    WHERE releases.charge = :charge
  `,
  requests: requestsIn('charged', 'failed', 'answered'),
  unansweredRequests: requestsIn('charged', 'failed'),
  records: `
    SELECT ${CHARGE_COLUMNS}, budgets.accounting, releases.answer, releases.deflated
    FROM json_each(:ids) AS asked CROSS JOIN charges ON charges.id = asked.value JOIN budgets USING (dataset)
      LEFT JOIN releases ON releases.charge = charges.number
  `,
  // In the order of the numbers, a page is read sequentially. The position is a text that sorts as the number does.
  chargeCounts: `
    SELECT dataset, count(*) AS charges, printf('%016d', max(number)) AS last
    FROM (
      SELECT dataset, number FROM charges WHERE number > CAST(:after AS INTEGER) ORDER BY number LIMIT :limit
    ) GROUP BY dataset
  `,
  probe: 'SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1)',
}
