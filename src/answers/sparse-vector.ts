import type { Dataset } from '../catalog/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import { canonicalJson, sha256 } from '../ledger/canonical.ts'
import type { Charge, Ledger, SessionQuestionOutcome, StoredSession } from '../ledger/ledger.ts'
import {
  calibrateSparseVector,
  compareWithThreshold,
  drawThresholdNoise,
  LEAST_SPARSE_VECTOR_EPSILON_NANO,
  type SparseVectorMeasurement,
  sparseVectorGapAccuracy,
  sparseVectorMargin,
  sparseVectorPrivacyMap,
  sparseVectorShares,
  sparseVectorZeroConcentratedMap,
  type ThresholdAnswer,
} from '../mechanisms/sparse-vector.ts'
import type { Predicate } from '../planner/aggregate.ts'
import { planPredicate } from '../planner/predicate.ts'
import { priceOf } from '../planner/price.ts'
import { stabilityOfCounts } from '../planner/stability.ts'
import type { Amount } from '../privacy/accounting.ts'
import { DEFAULT_CONFIDENCE } from '../privacy/confidence.ts'
import {
  coversLoss,
  epsilonFromWire,
  epsilonNano,
  epsilonNumber,
  lossOfReplacement,
  NO_LOSS,
} from '../privacy/loss.ts'
import { Refusal, refuseField } from '../privacy/refusal.ts'
import {
  type Answer,
  type AnswerDependencies,
  AnswerFailure,
  type PreviewBalances,
  type Suppositions,
} from './answer.ts'
import {
  charge,
  describeDebit,
  describePrice,
  describeReceipt,
  describeReplay,
  inFlight,
  keyOfRequest,
  keyReused,
} from './charge.ts'
import { describeReleaseRisk } from './disclosure.ts'

/** What sessions need beside what answering does. */
export interface SessionDependencies extends AnswerDependencies {
  /** The dataset that is registered under an id, where there is one. */
  readonly registered: (id: string) => Dataset | undefined
}

/** A session as an analyst asks for it. */
export interface SessionRequest {
  /** A whole number of rows. */
  readonly threshold: number
  /** After so many answers "above" the session is used up. */
  readonly positives: number
  readonly epsilon: number
}

interface Caller {
  readonly principal: string
  /** Left out: the request itself is its key, so that a repeat replays the answer. */
  readonly idempotencyKey?: string
  /** Whether nobody waits for the answer any more; asked before anything is charged or read, never after. */
  readonly givenUp?: () => boolean
}

/** A session to open, by one principal. */
export interface Opening extends Caller {
  readonly dataset: Dataset
  readonly request: SessionRequest
}

/** A question to a session: do at least as many rows as its threshold satisfy a predicate? */
export interface Asking extends Caller {
  readonly session: string
  readonly where: Parameters<typeof planPredicate>[0]
}

/**
 * A question of a session could not be answered. Nothing more is charged for it, and its repeat is answered. Of what went
 * wrong only the error's class is kept, for the log: its message could quote the data.
 */
export class QuestionFailure extends Error {
  readonly session: string
  readonly errorClass: string

  constructor(session: string, errorClass: string) {
    super('the question could not be answered')
    this.name = 'QuestionFailure'
    this.session = session
    this.errorClass = errorClass
  }
}

/** Sessions of the sparse vector technique: one charge, then questions until the positives are used up. */
export interface SparseVectorSessions {
  /**
   * Open a session: make the debit durable, draw the threshold's noise, make it durable with the document that is then
   * handed out. No data is read.
   * @throws Refusal before anything is debited, where the request does not fit or the budget does not suffice.
   * @throws AnswerFailure after the debit; the same request, sent again, opens the session under the same charge.
   */
  open(opening: Opening): Promise<Answer>
  /**
   * Answer one question of a session, after all that were asked of it before: find that the session is open, count,
   * compare with fresh noise, make the answer durable, hand it out.
   * @throws Refusal where the session is not the caller's, is used up, or its dataset is not what it was.
   * @throws QuestionFailure where it could not be answered.
   */
  ask(asking: Asking): Promise<Answer>
}

export function createSparseVectorSessions(dependencies: SessionDependencies): SparseVectorSessions {
  const lastOf = new Map<string, Promise<unknown>>()

  /** One after the other for each session: a question must find all answers before it counted. */
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
    open: (opening) => open(dependencies, opening),
    async ask(asking) {
      const session = await requireSession(dependencies.ledger, asking.principal, asking.session)
      return inTurn(session.id, () => ask(dependencies, session, asking))
    },
  }
}

async function open(dependencies: SessionDependencies, opening: Opening): Promise<Answer> {
  const { ledger, noiseSource, leaseMs } = dependencies
  const { dataset, request, principal, idempotencyKey } = opening
  const planned = planSession(request, dataset)
  requireWaiting(opening)
  const outcome = await charge(dependencies, {
    principal,
    dataset,
    request: { sparseVector: request },
    price: priceOfSession(planned),
    // A session is its owner's: another's answers would use up its positives.
    sharing: false,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  if (outcome.kind === 'answered') return { body: describeReplay(outcome.answer), replayed: true }
  if (outcome.kind === 'shared') throw new Error('a session is not shared')
  const { id, attempt } = outcome.charge
  try {
    const body = JSON.stringify(describeOpening(dependencies, planned, outcome.charge))
    const session = {
      positives: request.positives,
      terms: writeTerms(planned),
      thresholdNoise: drawThresholdNoise(planned.measurement, noiseSource),
    }
    if (await ledger.openSession(id, attempt, body, session)) return { body, replayed: false }
  } catch (error) {
    // A ledger that cannot even take this note leaves the lease to run out; the debit stands either way.
    await ledger.recordFailure(id, attempt).catch(() => undefined)
    throw new AnswerFailure(id, classOf(error))
  }
  // A later attempt holds the charge, and the session that it opens is the one that counts.
  throw inFlight(leaseMs)
}

/** They are free, and each is kept for ever and reads the data. */
export const MOST_QUESTIONS = 10_000

async function ask(
  dependencies: SessionDependencies,
  session: StoredSession,
  asking: Asking,
): Promise<Answer> {
  const { ledger, engine, noiseSource } = dependencies
  const request = canonicalJson({ session: session.id, where: asking.where })
  const requestHash = sha256(request)
  const identity = {
    session: session.id,
    idempotencyKey: asking.idempotencyKey ?? keyOfRequest(requestHash),
    requestHash,
  }
  const outcome = await ledger.sessionQuestion(identity)
  if (outcome.kind === 'answered') return { body: outcome.answer, replayed: true }
  const { question, positives, positivesFound, head, terms, thresholdNoise } = requireOpen(outcome)
  if (question > MOST_QUESTIONS) {
    const detail = `A session answers ${MOST_QUESTIONS} questions at most. What was asked before is replayed; for more, open another.`
    throw new Refusal('session-used-up', detail)
  }
  const { threshold, measurement } = readTerms(terms, positives)
  const dataset = requireSameDataset(dependencies, session)
  const predicate = planPredicate(asking.where, dataset, 'where')
  requireWaiting(asking)

  let body: string
  let stored: boolean
  try {
    const value = await countRows(engine, dataset, predicate)
    const compared = { threshold, thresholdNoise, positivesFound, value }
    const answer = compareWithThreshold(measurement, compared, noiseSource)
    const positivesLeft = positives - positivesFound - (answer.above ? 1 : 0)
    body = JSON.stringify({
      session: session.id,
      question,
      ...describeComparison(answer, measurement),
      positivesLeft,
      answeredAt: new Date().toISOString(),
      receipt: describeReceipt(dependencies.signer, session.dataset, head),
    })
    const recorded = { ...identity, question, request, above: answer.above, answer: body }
    stored = await ledger.recordSessionAnswer(recorded)
  } catch (error) {
    throw new QuestionFailure(session.id, classOf(error))
  }
  // What another process answered under this number is what counts: this answer is dropped unseen.
  if (!stored) throw inFlight(dependencies.leaseMs)
  return { body, replayed: false }
}

/**
 * How many rows a predicate holds for. Engines give one cell; anything else would be compared without its noise.
 * @throws EngineFailure, which says nothing about data.
 */
async function countRows(engine: Engine, dataset: Dataset, where: Predicate): Promise<bigint> {
  const [[value, ...cells] = [], ...statistics] = await engine.aggregate(dataset, {
    where,
    groupBy: [],
    statistics: [{ kind: 'count' }],
    bounding: { kind: 'one-row-each' },
  })
  if (value === undefined || cells.length > 0 || statistics.length > 0)
    throw new RangeError('the engine gave other cells than asked for')
  return value
}

function classOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}

function requireWaiting({ givenUp }: Caller): void {
  if (givenUp?.()) throw new Refusal('unavailable', 'The request was given up before it was begun.')
}

/**
 * The session of that id, where it is the principal's own.
 * @throws Refusal `unknown-session`
 */
async function requireSession(ledger: Ledger, principal: string, id: string): Promise<StoredSession> {
  const session = await ledger.session(id)
  if (session === undefined || session.principal !== principal)
    throw new Refusal('unknown-session', 'There is no session of yours with this id.')
  return session
}

function requireOpen(
  outcome: Exclude<SessionQuestionOutcome, { readonly kind: 'answered' }>,
): Extract<SessionQuestionOutcome, { readonly kind: 'open' }> {
  switch (outcome.kind) {
    case 'open':
      return outcome
    case 'key-reused':
      throw keyReused()
    case 'used-up':
      throw new Refusal(
        'session-used-up',
        'All positives of the session were found. What was asked before is replayed; for more, open another session.',
      )
    case 'no-session':
      throw new Error('a session of the ledger is gone')
  }
}

/** A session is about the rows that it was opened on: about others its noise and its price would say nothing. */
function requireSameDataset({ registered }: SessionDependencies, session: StoredSession): Dataset {
  const dataset = registered(session.dataset)
  if (dataset?.version === session.datasetVersion) return dataset
  throw new Refusal(
    'session-dataset-changed',
    `The dataset ${session.dataset} was withdrawn, or registered anew, since the session was opened. What was asked ` +
      'before is replayed; for more, open another session.',
  )
}

/** Everything that is decided about a session before it is charged: it depends on public facts only. */
interface PlannedSession {
  readonly dataset: Dataset
  readonly threshold: bigint
  readonly measurement: SparseVectorMeasurement
}

/** @throws Refusal for an epsilon that is none, or too small to be shared. */
function planSession({ threshold, positives, epsilon }: SessionRequest, dataset: Dataset): PlannedSession {
  const whole = epsilonFromWire(epsilon, 'epsilon')
  if (whole < LEAST_SPARSE_VECTOR_EPSILON_NANO) {
    const least = epsilonNumber(epsilonNano(LEAST_SPARSE_VECTOR_EPSILON_NANO))
    throw refuseField('invalid-request', 'epsilon', `must be at least ${least}: two noises share it`)
  }
  const shape = { positives, ...stabilityOfCounts(dataset) }
  return {
    dataset,
    threshold: BigInt(threshold),
    measurement: calibrateSparseVector(shape, whole),
  }
}

/** What a session's answers follow from, but for its positives and its noise; integers as texts, to stay exact. */
interface Terms {
  readonly threshold: string
  readonly sensitivity: string
  readonly monotonic: boolean
  readonly fractionBits: number
  readonly thresholdScale: string
  readonly questionScale: string
  readonly epsilonNano: string
}

function writeTerms({ threshold, measurement }: PlannedSession): string {
  const terms: Terms = {
    threshold: String(threshold),
    sensitivity: String(measurement.sensitivity),
    monotonic: measurement.monotonic,
    fractionBits: measurement.fractionBits,
    thresholdScale: String(measurement.thresholdScale),
    questionScale: String(measurement.questionScale),
    epsilonNano: String(measurement.loss.epsilonNano),
  }
  return canonicalJson(terms)
}

/**
 * The terms as they were when the session was opened: whatever a later release would calibrate, the noise of the
 * threshold was drawn under these.
 * @throws Error where they would cost more than what was charged.
 */
function readTerms(
  text: string,
  positives: number,
): { threshold: bigint; measurement: SparseVectorMeasurement } {
  const terms: Terms = JSON.parse(text)
  const measurement: SparseVectorMeasurement = {
    positives,
    sensitivity: BigInt(terms.sensitivity),
    monotonic: terms.monotonic,
    fractionBits: terms.fractionBits,
    thresholdScale: BigInt(terms.thresholdScale),
    questionScale: BigInt(terms.questionScale),
    loss: { ...NO_LOSS, epsilonNano: epsilonNano(BigInt(terms.epsilonNano)) },
  }
  if (!coversLoss(measurement.loss, sparseVectorPrivacyMap(measurement)))
    throw new Error('the terms of a session do not fit what was charged for it')
  return { threshold: BigInt(terms.threshold), measurement }
}

/** For so many questions the margin is stated. */
const MARGIN_QUESTIONS = [1, 10, 100, 1_000]

function describeSession({ dataset, threshold, measurement }: PlannedSession) {
  const { positives, sensitivity, monotonic, thresholdScale, questionScale, fractionBits } = measurement
  const granularity = 2 ** -fractionBits
  const shares = sparseVectorShares(measurement)
  const gap = sparseVectorGapAccuracy(measurement, DEFAULT_CONFIDENCE)
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    threshold: Number(threshold),
    positives,
    noise: {
      mechanism: 'sparse-vector' as const,
      neighbours: dataset.neighbours,
      monotonic,
      sensitivity: Number(sensitivity),
      granularity,
      threshold: { scale: Number(thresholdScale) * granularity, epsilon: epsilonNumber(shares.threshold) },
      questions: { scale: Number(questionScale) * granularity, epsilon: epsilonNumber(shares.questions) },
    },
    accuracy: {
      confidence: DEFAULT_CONFIDENCE,
      margins: MARGIN_QUESTIONS.map((questions) => ({
        questions,
        margin: sparseVectorMargin(measurement, DEFAULT_CONFIDENCE, questions),
      })),
      gap: { halfWidth: gap.halfWidth, expectedAbsoluteError: gap.expectedAbsoluteError },
    },
  }
}

function describeOpening(
  dependencies: Pick<SessionDependencies, 'signer'>,
  planned: PlannedSession,
  opened: Charge,
) {
  return {
    id: opened.id,
    ...describeSession(planned),
    positivesLeft: planned.measurement.positives,
    ...describeDebit(dependencies, planned.dataset.id, priceOfSession(planned), opened),
  }
}

/** The whole of it, whatever is asked: it is the loss of the threshold and of all answers together. */
function priceOfSession({ dataset, measurement }: PlannedSession): Amount {
  const rho = sparseVectorZeroConcentratedMap(measurement)
  return priceOf({ loss: measurement.loss, rho }, dataset.accounting)
}

function describeComparison(answer: ThresholdAnswer, { fractionBits }: SparseVectorMeasurement) {
  return answer.above ? { above: true, gap: Number(answer.gap) * 2 ** -fractionBits } : { above: false }
}

/**
 * What a session would cost, how far off its answers could be and what they would let an adversary guess, without
 * charging or reading anything.
 * @throws Refusal where the request does not fit.
 */
export function previewSession(
  request: SessionRequest,
  dataset: Dataset,
  { budget, analyst }: PreviewBalances,
  supposed: Pick<Suppositions, 'candidates'> = {},
) {
  const planned = planSession(request, dataset)
  const { granted } = budget
  const { loss } = planned.measurement
  const release = { loss, replacementLoss: lossOfReplacement(loss, dataset.neighbours) }
  return {
    ...describeSession(planned),
    ...describePrice(priceOfSession(planned), budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...supposed }, release),
  }
}

/**
 * A session as its owner may see it, with its answers, newest first.
 * @param page at most `limit` answers, before the question of number `beforeQuestion` where it is given
 * @throws Refusal `unknown-session`
 */
export async function showSession(
  ledger: Ledger,
  principal: string,
  id: string,
  page: { readonly limit: number; readonly beforeQuestion?: number },
) {
  const session = await requireSession(ledger, principal, id)
  const answers = await ledger.sessionAnswers(id, page)
  // The budget as it was then would be taken for what it is now.
  const {
    budget: _,
    allotment: __,
    ...opening
  }: ReturnType<typeof describeOpening> = JSON.parse(session.opening)
  const oldest = answers.at(-1)
  const more = answers.length === page.limit && oldest !== undefined && oldest.question > 1
  return {
    ...opening,
    positivesLeft: session.positivesLeft,
    answered: session.answered,
    answers: answers.map(({ request, answer }) => ({
      ...JSON.parse(answer),
      where: JSON.parse(request).where,
    })),
    ...(more ? { next: oldest.question } : {}),
  }
}
