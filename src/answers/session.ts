import { type Dataset, earlierVersions } from '../core/dataset/dataset.ts'
import { compareWithThreshold, drawThresholdNoise } from '../core/mechanisms/selection/sparse-vector.ts'
import { normalSession } from '../core/planner/identity/normal-form.ts'
import { normalPredicate } from '../core/planner/identity/normal-predicate.ts'
import type { Aggregate, Predicate } from '../core/planner/language/aggregate.ts'
import { withDeclaredNames } from '../core/planner/language/declared-names.ts'
import { planPredicate } from '../core/planner/language/predicate.ts'
import type { Counted } from '../core/planner/price/stability.ts'
import {
  planSession,
  priceOfSession,
  type SessionRequest,
  sessionUnderTerms,
  termsOfSession,
} from '../core/planner/session.ts'
import type { VersionUses } from '../datasets/catalog/version-uses.ts'
import type { Engine } from '../engines/engine.ts'
import { canonicalJson, sha256 } from '../ledger/canonical.ts'
import type {
  SessionAnswer,
  SessionQuestionOutcome,
  Sessions,
  StoredSession,
} from '../ledger/contract/sessions.ts'
import type { Failure } from '../ledger/contract/suspension.ts'
import { SOFTWARE_VERSION } from '../platform/software-version.ts'
import { defined } from '../privacy/defined.ts'
import { must } from '../privacy/must.ts'
import { Refusal } from '../privacy/refusal.ts'
import { type Admission, disconnected, type Turn, type TurnRequest, turnRequestOf } from './admission.ts'
import {
  type Answer,
  type AnswerDependencies,
  answerUnderCharge,
  type Caller,
  type DatasetRequest,
  type Flow,
} from './answer.ts'
import { completeAttempt } from './attempt.ts'
import { keyReused, storageExceeded, suspended } from './charge.ts'
import { describeReceipt } from './documents/costs.ts'
import { comparisonReport, sessionReport, shortestSession } from './documents/session.ts'
import { isReachable, QuestionFailure, unreachable } from './failure.ts'
import { keyOfRequest } from './identity.ts'
import { requireReadable } from './release.ts'
import { releaseInTime } from './release-time.ts'
import { traced } from './traced.ts'

/** Dependencies of sessions. */
export interface SessionDependencies extends AnswerDependencies {
  /** The dataset registered under an id, if any. */
  readonly registered: (id: string) => Dataset | undefined
  readonly versionUses: VersionUses
}

/** Request of one principal to open a session. */
export interface Opening extends DatasetRequest {
  readonly request: SessionRequest
}

/** Question to a session: does the number of rows that satisfy a predicate reach the threshold? */
export interface Asking extends Caller {
  readonly session: string
  readonly where: Parameters<typeof planPredicate>[0]
}

/** Sessions of the sparse vector technique: one charge, then questions until the positives are used up. */
export interface SparseVectorSessions {
  /**
   * Opens a session: makes the debit durable, draws the threshold's noise, makes it durable together with the answer,
   * and returns the answer. No data is read.
   * @throws Refusal before any debit, if the request is invalid or the budget is insufficient.
   * @throws AnswerFailure after the debit. A repeat of the same request opens the session under the same charge.
   */
  open(opening: Opening): Promise<Answer>
  /**
   * Answers one question of a session, after all earlier questions of the same session: checks that the session is
   * open, counts, compares with fresh noise, makes the answer durable, and returns it.
   * @throws Refusal if the session is not the caller's or is used up, or its dataset has changed.
   * @throws QuestionFailure if the question could not be answered.
   */
  ask(asking: Asking): Promise<Answer>
}

/** Creates the sessions of one process. */
export function createSparseVectorSessions(dependencies: SessionDependencies): SparseVectorSessions {
  const lastOf = new Map<string, Promise<unknown>>()

  /**
   * Runs the tasks of each session one after the other, because a question depends on the number of earlier positives.
   */
  function inTurn<Result>(session: string, task: () => Promise<Result>): Promise<Result> {
    const result = (lastOf.get(session) ?? Promise.resolve()).then(task)
    const settled = result
      .catch(() => undefined)
      .then(() => {
        if (lastOf.get(session) === settled) lastOf.delete(session)
      })
    lastOf.set(session, settled)
    return result
  }

  return {
    open: (opening) => openSession(dependencies, opening),
    async ask(asking) {
      const { ledger, clock, registered } = dependencies
      const arrivedAtMs = asking.arrivedAtMs ?? clock.nowMs()
      const session = await requireSession(ledger, asking.principal, asking.session)
      // No question about a withdrawn dataset reads data.
      const timing = registered(session.dataset)?.timing ?? 'off'
      const { requestId } = asking
      const facts = { name: 'question', dataset: session.dataset, timing, requestId, arrivedAtMs } as const
      return traced(dependencies, facts, (trace) =>
        releaseInTime(clock, { timing, arrivedAtMs }, (recordInstant) =>
          inTurn(session.id, () => ask(dependencies, session, asking, { recordInstant, trace })),
        ),
      )
    },
  }
}

function openSession(dependencies: SessionDependencies, opening: Opening): Promise<Answer> {
  const { dataset, request } = opening
  return answerUnderCharge(dependencies, opening, { name: 'session' }, async (trace) => {
    const planned = await trace.step('plan', () => planSession(request, dataset))
    const { measurement } = planned
    const terms = canonicalJson(termsOfSession(planned))
    return {
      kind: 'sparseVector',
      request: { sparseVector: normalSession(request, planned) },
      question: shortestSession(request),
      price: priceOfSession(planned),
      // A session belongs to one analyst: another analyst's questions would use up its positives.
      sharing: false,
      async compute(turn) {
        // Opening reads no data. The turn only ordered the debits.
        turn.leave()
        const { positives } = measurement
        const thresholdNoise = await trace.step('noise', () =>
          drawThresholdNoise(measurement, dependencies.noiseSource),
        )
        const facts = { ...sessionReport(planned), positivesLeft: positives }
        return { facts, session: { positives, terms, thresholdNoise } }
      },
      show: (document) => document,
    }
  })
}

/** Largest number of questions of a session. Questions are free, but each reads the data and is stored forever. */
export const MOST_QUESTIONS = 10_000

async function ask(
  dependencies: SessionDependencies,
  session: StoredSession,
  asking: Asking,
  flow: Flow,
): Promise<Answer> {
  const { ledger, versionUses } = dependencies
  const request = await flow.trace.step('plan', () => requestOf(dependencies, session, asking.where))
  const requestHash = sha256(request)
  const identity = {
    session: session.id,
    idempotencyKey: asking.idempotencyKey ?? keyOfRequest(requestHash),
    requestHash,
  }
  const { maxStoredBytes = dependencies.maxStoredBytes } = asking
  const lookUp = () => ledger.sessionQuestion(defined({ ...identity, maxStoredBytes }))
  const outcome = await lookUp()
  if (outcome.kind === 'answered') return { body: outcome.answer, replayed: true }
  const open = requireOpen(outcome, session.dataset)
  const dataset = requireSessionDataset(dependencies, session)
  if (!isReachable(dependencies.engine, dataset)) throw unreachable()
  if (open.question > MOST_QUESTIONS) {
    const detail = `A session answers ${MOST_QUESTIONS} questions at most. Earlier questions are replayed. Open another session to ask more.`
    throw new Refusal('session-used-up', detail)
  }
  const next = { dataset, identity, request, open, lookUp }
  return versionUses.during(dataset, () => answerNext(dependencies, session, asking, next, flow))
}

/**
 * Returns the text that identifies a question: with the normal form of its predicate, so that no spelling of the question
 * is answered twice. Without the declaration of its dataset a predicate has no normal form. Then it identifies the question
 * that was asked in the same words.
 * @throws Refusal for a predicate that does not fit the dataset.
 */
async function requestOf(
  { registered, ledger }: Pick<SessionDependencies, 'registered' | 'ledger'>,
  session: StoredSession,
  where: Asking['where'],
): Promise<string> {
  const dataset = registered(session.dataset)
  if (dataset !== undefined && isVersionOf(dataset, session)) {
    const { predicate } = normalPredicate(withDeclaredNames(where, dataset), dataset)
    return canonicalJson({ session: session.id, where: predicate })
  }
  const asked = canonicalJson(where)
  for (let beforeQuestion = session.answered + 1; beforeQuestion > 1; ) {
    const page = await ledger.sessionAnswers(session.id, { limit: ANSWERS_AT_ONCE, beforeQuestion })
    const found = page.find(({ answer }) => canonicalJson(JSON.parse(answer).where) === asked)
    if (found !== undefined) return found.request
    // No page is empty: the first question has number 1.
    beforeQuestion = must(page.at(-1), 'an earlier question').question
  }
  return canonicalJson({ session: session.id, where })
}

const ANSWERS_AT_ONCE = 500

/** The next question of a session, and the version of the dataset that it reads. */
interface NextQuestion {
  readonly dataset: Dataset
  readonly identity: Pick<SessionAnswer, 'session' | 'idempotencyKey' | 'requestHash'>
  readonly request: string
  readonly open: OpenQuestion
  readonly lookUp: () => Promise<SessionQuestionOutcome>
}

type OpenQuestion = Extract<SessionQuestionOutcome, { readonly kind: 'open' }>

/** Answers the next question of a session on the version on which it was planned, even if that is replaced meanwhile. */
async function answerNext(
  dependencies: SessionDependencies,
  session: StoredSession,
  asking: Asking,
  { dataset, identity, request, open, lookUp }: NextQuestion,
  { recordInstant, trace }: Flow,
): Promise<Answer> {
  const { ledger, engine, noiseSource, admission } = dependencies
  const { question, positives, positivesFound, head, terms, thresholdNoise } = open
  const { threshold, counted, measurement } = sessionUnderTerms(JSON.parse(terms), positives)
  const where = withDeclaredNames(asking.where, dataset)
  const aggregate = aggregateOf(planPredicate(where, dataset, 'where'), counted)
  requireReadable(dataset, { method: 'aggregate', aggregate }, engine)
  if (asking.givenUp?.aborted) throw disconnected()
  const requireAdmissible = async () => {
    requireSessionDataset(dependencies, session)
    if ((await lookUp()).kind === 'suspended') throw suspended(session.dataset)
  }
  const turn = await trace.step('wait', () =>
    enterInTime(admission, turnRequestOf(asking, dataset), requireAdmissible),
  )

  const attempt = {
    dataset,
    turn,
    recordInstant,
    recordFailure: (failure: Failure) => ledger.recordQuestionFailure(session.id, failure),
    failed: (errorClass: string) => new QuestionFailure(session.id, errorClass),
  }
  // Another process may store an answer under this number. That answer is valid, and this one is discarded.
  const body = await completeAttempt(dependencies, attempt, async () => {
    await trace.step('wait', turn.takePlace)
    const value = await trace.step('read', () => count(engine, dataset, aggregate))
    const compared = { threshold, thresholdNoise, positivesFound, value }
    const answer = await trace.step('noise', () => compareWithThreshold(measurement, compared, noiseSource))
    const document = {
      session: session.id,
      question,
      where: asking.where,
      datasetVersion: dataset.version,
      ...comparisonReport(answer, measurement),
      positivesLeft: positives - positivesFound - (answer.above ? 1 : 0),
      softwareVersion: SOFTWARE_VERSION,
      receipt: describeReceipt(dependencies.signer, session.dataset, head),
    }
    const recorded = { ...identity, question, request, above: answer.above }
    const record = (body: string) =>
      trace.step('record', () => ledger.recordSessionAnswer({ ...recorded, answer: body }))
    return { document, record }
  })
  return { body, replayed: false }
}

/**
 * Waits for the principal's turn.
 * @param requireAdmissible checks after a wait what may have changed during it
 * @throws Refusal if the request cannot have a turn, or as `requireAdmissible` does
 */
async function enterInTime(
  admission: Admission,
  request: TurnRequest,
  requireAdmissible: () => Promise<void>,
): Promise<Turn> {
  const mustWait = admission.mustWait(request)
  const turn = await admission.enter(request)
  try {
    if (mustWait) await requireAdmissible()
    return turn
  } catch (error) {
    turn.leave()
    throw error
  }
}

/** Counts the rows, or the people with rows, that satisfy a predicate, in one cell. */
function aggregateOf(where: Predicate, { of, bounding }: Counted): Aggregate {
  const statistics = [{ kind: of === 'people' ? 'count-people' : 'count' }] as const
  return { where, groupBy: [], statistics, bounding }
}

/**
 * Computes a count that has one cell.
 * @throws EngineFailure, which says nothing about data.
 * @throws RangeError if the engine returns anything but one cell.
 */
async function count(engine: Engine, dataset: Dataset, aggregate: Aggregate): Promise<bigint> {
  const [[value, ...cells] = [], ...statistics] = await engine.aggregate(dataset, aggregate)
  if (value === undefined || cells.length > 0 || statistics.length > 0)
    throw new RangeError('the engine returned other cells than requested')
  return value
}

/**
 * Finds a session of the principal's own.
 * @throws Refusal `unknown-session`
 */
async function requireSession(ledger: Sessions, principal: string, id: string): Promise<StoredSession> {
  const session = await ledger.session(id)
  if (session === undefined || session.principal !== principal)
    throw new Refusal('unknown-session', 'You have no session with this id.')
  return session
}

function requireOpen(
  outcome: Exclude<SessionQuestionOutcome, { readonly kind: 'answered' }>,
  dataset: string,
): OpenQuestion {
  switch (outcome.kind) {
    case 'open':
      return outcome
    case 'key-reused':
      throw keyReused()
    case 'used-up':
      throw new Refusal(
        'session-used-up',
        'The session has used all of its positives. Earlier questions are replayed. Open another session to ask more.',
      )
    case 'suspended':
      throw suspended(dataset)
    case 'storage-exceeded':
      throw storageExceeded(outcome)
    case 'no-session':
      throw new Error('a session is missing from the ledger')
  }
}

/**
 * Returns the present version of a session's dataset: the one that the session was opened on, or a later one of the same
 * registration. Its noise was calibrated for the privacy unit and the neighbours, which all of these share.
 * @throws Refusal if the dataset was withdrawn or registered again
 */
function requireSessionDataset({ registered }: SessionDependencies, session: StoredSession): Dataset {
  const dataset = registered(session.dataset)
  const { datasetVersion } = session
  if (dataset !== undefined && isVersionOf(dataset, session)) return dataset
  if (dataset !== undefined && Number(dataset.version) < Number(datasetVersion)) {
    // Another replica has published the version a moment ago.
    const detail = 'This replica does not know the version of the session yet. Retry.'
    throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
  }
  throw new Refusal(
    'session-dataset-changed',
    `The dataset ${session.dataset} was withdrawn or registered again after the session was opened. Earlier ` +
      'questions are replayed. Open another session to ask more.',
  )
}

function isVersionOf(dataset: Dataset, { datasetVersion }: StoredSession): boolean {
  return [dataset.version, ...earlierVersions(dataset)].includes(datasetVersion)
}

/**
 * Describes a session to its owner, with its answers, newest first.
 * @param page at most `limit` answers, before question number `beforeQuestion` if given
 * @throws Refusal `unknown-session`
 */
export async function showSession(
  ledger: Sessions,
  principal: string,
  id: string,
  page: { readonly limit: number; readonly beforeQuestion?: number },
) {
  const session = await requireSession(ledger, principal, id)
  const answers = await ledger.sessionAnswers(id, page)
  // The balances of the opening are out of date.
  const { budget: _, allotment: __, ...opening } = JSON.parse(session.opening)
  const oldest = answers.at(-1)
  const more = answers.length === page.limit && oldest !== undefined && oldest.question > 1
  return {
    ...opening,
    positivesLeft: session.positivesLeft,
    answered: session.answered,
    answers: answers.map(({ answer }) => JSON.parse(answer)),
    ...(more ? { next: String(oldest.question) } : {}),
  }
}
