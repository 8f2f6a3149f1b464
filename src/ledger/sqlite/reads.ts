import type { DatabaseSync } from 'node:sqlite'
import { ADMINISTRATION, actFromEvent } from '../act.ts'
import { sha256 } from '../canonical.ts'
import { entryFromEvent, failureFromEvent } from '../event.ts'
import type { ChargeRecord, ListedRelease, ReleaseSelection } from '../ledger.ts'
import type { Reads } from '../operation.ts'
import { beginBatch } from '../protocol/batch.ts'
import { expectRow, newAnalyst, recordOf, spendingOf } from '../protocol/rows.ts'
import { sessionQuestion } from '../protocol/sessions.ts'
import { COUNTED_PAGE, expectCount, expectPage, MAX_COUNT, MAX_PAGE, MAX_RELEASES_BYTES } from '../range.ts'
import { boundsOf, pageOf } from '../selection.ts'
import {
  answerFromRow,
  chargeCountsFromRows,
  chargeFromRow,
  count,
  headFromRow,
  listedFromRow,
  text,
} from '../stored-row.ts'
import { CHARGE_COLUMNS, type sqliteRows } from './rows.ts'

/** Prepares the reading methods of the ledger. */
export function sqliteReads(
  database: DatabaseSync,
  rows: ReturnType<typeof sqliteRows>,
  now: () => number,
): Reads {
  const findOpening = database.prepare(FIND_OPENING)
  const findSessionAnswers = database.prepare(FIND_SESSION_ANSWERS)
  const findEvents = database.prepare(FIND_EVENTS)
  const findEventsAfter = database.prepare(FIND_EVENTS_AFTER)
  const findEventsOfPrincipal = database.prepare(FIND_EVENTS_OF_PRINCIPAL)
  const findFailures = database.prepare(FIND_FAILURES)
  const findLastVersion = database.prepare(FIND_LAST_VERSION)
  const findHeads = database.prepare(FIND_HEADS)
  const findDatasets = database.prepare(FIND_DATASETS)
  const findRelease = database.prepare(FIND_RELEASE)
  const findRecords = database.prepare(FIND_RECORDS)
  const countCharges = database.prepare(COUNT_CHARGES)
  const probe = database.prepare(PROBE)
  const findRequests = database.prepare(FIND_REQUESTS)

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
      return { sequence: headSequence, hash: headHash, budget, spending, failures, suspended }
    },
    suspension(dataset) {
      const account = rows.account(dataset)
      if (account === undefined) return undefined
      const { failures, suspended } = account
      const found = findFailures.all({ dataset, limit: Math.min(failures, MAX_PAGE) })
      const counted = found.map((row) => failureFromEvent(text(row, 'canonical'))).reverse()
      return { failures, suspended, counted }
    },
    heads: () => findHeads.all().map(headFromRow),
    datasets: () => findDatasets.all().map((row) => text(row, 'dataset')),
    session(id) {
      const found = rows.session(id)
      if (found === undefined) return undefined
      const { dataset, datasetVersion, principal, answered, positives, positivesFound } = found
      const opening = answerFromRow(expectRow(findOpening.get({ id })))
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
    acts({ limit, beforeSequence: before = MAX_COUNT }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('beforeSequence', before, MAX_COUNT)
      const found = findEvents.all({ dataset: ADMINISTRATION, before, limit })
      return found.map((row) => actFromEvent(text(row, 'canonical'), text(row, 'hash')))
    },
    events(dataset, { limit, afterSequence }) {
      expectCount('limit', limit, MAX_PAGE)
      expectCount('afterSequence', afterSequence + 1, MAX_COUNT)
      const found = findEventsAfter.all({ dataset, after: afterSequence, limit })
      return found.map((row) => ({ canonical: text(row, 'canonical'), hash: text(row, 'hash') }))
    },
    releases: releaseLister(database),
    release(id) {
      const row = findRelease.get({ id })
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
      for (const row of findRecords.iterate({ ids: JSON.stringify(ids) }))
        records.push(
          recordOf(chargeFromRow(row), row.answer === null ? undefined : sha256(answerFromRow(row))),
        )
      return records
    },
    requests(ids) {
      expectPage(ids)
      const rows = findRequests.all({ ids: JSON.stringify(ids) })
      return new Map(rows.map((row) => [text(row, 'id'), text(row, 'request')]))
    },
    chargeCounts: (after = '') => chargeCountsFromRows(countCharges.all({ after, limit: COUNTED_PAGE })),
    lastDatasetVersion: (dataset) => count(expectRow(findLastVersion.get({ dataset })), 'version'),
    healthy: () => probe.get() !== undefined,
  }
}

/** Prepares the reading of lists of releases. */
function releaseLister(database: DatabaseSync): Reads['releases'] {
  const findPositions = database.prepare(FIND_POSITIONS)
  const findPositionsOfPrincipal = database.prepare(FIND_POSITIONS_OF_PRINCIPAL)
  const findListed = database.prepare(FIND_LISTED)

  /** Finds the first releases of a selection, one more than its limit, without their answers. */
  function positionsOf(selection: ReleaseSelection) {
    const { datasets, fromMs, toMs, after, kind } = boundsOf(selection)
    const { principal, limit } = selection
    const bounds = { fromMs, toMs, beforeMs: after.answeredAtMs, beforeId: after.id, kind, limit: limit + 1 }
    const rows =
      principal === undefined
        ? datasets.flatMap((dataset) => findPositions.all({ ...bounds, dataset }))
        : findPositionsOfPrincipal.all({ ...bounds, principal, datasets: JSON.stringify(datasets) })
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
      const row = expectRow(findListed.get({ charge }))
      bytes += count(row, 'bytes')
      releases.push(listedFromRow(row))
    }
    return pageOf(releases, positions.length > releases.length)
  }
}

const FIND_OPENING = `
  SELECT answer, deflated FROM releases WHERE charge = (SELECT number FROM charges WHERE id = :id)
`

const FIND_SESSION_ANSWERS = `
  SELECT question, request, answer FROM sparse_vector_answers
  WHERE session = (SELECT number FROM charges WHERE id = :id) AND question < :before
  ORDER BY question DESC LIMIT :limit
`

const FIND_EVENTS = `
  SELECT canonical, hash FROM events
  WHERE dataset = :dataset AND sequence < :before
  ORDER BY sequence DESC LIMIT :limit
`

const FIND_EVENTS_AFTER = `
  SELECT canonical, hash FROM events
  WHERE dataset = :dataset AND sequence > :after
  ORDER BY sequence LIMIT :limit
`

const FIND_EVENTS_OF_PRINCIPAL = `
  SELECT canonical, hash FROM events INDEXED BY events_of_principal
  WHERE dataset = :dataset AND principal = :principal AND sequence < :before
  ORDER BY sequence DESC LIMIT :limit
`

const FIND_FAILURES = `
  SELECT canonical FROM events INDEXED BY counted_failures
  WHERE dataset = :dataset AND counted = 1 ORDER BY sequence DESC LIMIT :limit
`

const FIND_LAST_VERSION = `
  SELECT coalesce(max(CAST(dataset_version AS INTEGER)), 0) AS version FROM charges WHERE dataset = :dataset
`

const FIND_HEADS = 'SELECT dataset, head_sequence, head_hash FROM budgets ORDER BY dataset'

const FIND_DATASETS = `SELECT dataset FROM budgets WHERE dataset <> '${ADMINISTRATION}' ORDER BY dataset`

const FIND_RELEASE = `
  SELECT charges.dataset, charges.principal, releases.answer, releases.deflated
  FROM charges JOIN releases ON releases.charge = charges.number
  WHERE charges.id = :id
`

const WITHIN_BOUNDS = `
  releases.answered_at_ms BETWEEN :fromMs AND :beforeMs AND releases.answered_at_ms < :toMs
    AND (releases.answered_at_ms < :beforeMs OR charges.id < :beforeId)
    AND (:kind = '' OR releases.kind = :kind)
  ORDER BY releases.answered_at_ms DESC, charges.id DESC LIMIT :limit
`

const FIND_POSITIONS = `
  SELECT releases.charge, releases.answered_at_ms, charges.id
  FROM releases INDEXED BY releases_of_dataset CROSS JOIN charges ON charges.number = releases.charge
  WHERE releases.dataset = :dataset AND ${WITHIN_BOUNDS}
`

const FIND_POSITIONS_OF_PRINCIPAL = `
  SELECT releases.charge, releases.answered_at_ms, charges.id
  FROM releases INDEXED BY releases_of_principal CROSS JOIN charges ON charges.number = releases.charge
  WHERE releases.principal = :principal AND releases.dataset IN (SELECT value FROM json_each(:datasets))
    AND ${WITHIN_BOUNDS}
`

const FIND_LISTED = `
  SELECT charges.id, charges.dataset, dataset_version, charges.principal, request, loss_epsilon_nano, loss_delta_atto,
    loss_rho_pico, shared_from, budgets.accounting, releases.kind, releases.answered_at_ms, answer, deflated,
    octet_length(answer) + coalesce(octet_length(deflated), 0) AS bytes
  FROM releases JOIN charges ON charges.number = releases.charge JOIN budgets ON budgets.dataset = charges.dataset
  WHERE releases.charge = :charge
`

const FIND_REQUESTS = `
  SELECT charges.id, request FROM json_each(:ids) AS asked CROSS JOIN charges ON charges.id = asked.value
  WHERE state <> 'denied'
`

const FIND_RECORDS = `
  SELECT ${CHARGE_COLUMNS}, budgets.accounting, releases.answer, releases.deflated
  FROM json_each(:ids) AS asked CROSS JOIN charges ON charges.id = asked.value JOIN budgets USING (dataset)
    LEFT JOIN releases ON releases.charge = charges.number
`

// In the order of the numbers, a page is read sequentially. The position is a text that sorts as the number does.
const COUNT_CHARGES = `
  SELECT dataset, count(*) AS charges, printf('%016d', max(number)) AS last
  FROM (
    SELECT dataset, number FROM charges WHERE number > CAST(:after AS INTEGER) ORDER BY number LIMIT :limit
  ) GROUP BY dataset
`

const PROBE = 'SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1)'
