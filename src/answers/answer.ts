import { setImmediate } from 'node:timers/promises'
import type { Dataset } from '../catalog/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import type { AnalystSpending, Budget, Charge, StoredRelease } from '../ledger/ledger.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { shortestQuery } from '../planner/asked-query.ts'
import { type BatchPlan, batchReport, planQueries, priceReport } from '../planner/batch.ts'
import { normalForm } from '../planner/normal-form.ts'
import { plan } from '../planner/plan.ts'
import type { PlanLimits } from '../planner/plan-kind.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import { replacementLoss } from '../planner/plan-kinds.ts'
import { domainOf } from '../planner/postprocess.ts'
import { priceOf } from '../planner/price.ts'
import { accuracyReport, measuredReport, noiseReport } from '../planner/report.ts'
import { type Amount, lossOfAmount } from '../privacy/accounting.ts'
import { addLoss, coversLoss, lossOfReplacement, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { withinField } from '../privacy/refusal.ts'
import { type Trace, type TraceSink, UNTRACED } from '../tracing/trace.ts'
import { disconnected, type Turn, type Waiter } from './admission.ts'
import { completeAttempt } from './attempt.ts'
import {
  type ChargeDependencies,
  charge,
  describeDebit,
  describePrice,
  describeReplay,
  onceAtATime,
  type Purchase,
} from './charge.ts'
import { describeReleaseRisk } from './disclosure.ts'
import { batchShown, queryShown } from './postprocessing.ts'
import { release, requireAccepted, scanOf, yieldIfLarge } from './release.ts'
import { type Clock, releaseInTime } from './release-time.ts'
import { SOFTWARE_VERSION } from './software-version.ts'
import { traced } from './traced.ts'

type Query = Parameters<typeof plan>[0]

/** Dependencies of answering. */
export interface AnswerDependencies extends ChargeDependencies {
  readonly engine: Engine
  readonly noiseSource: UniformSource
  readonly limits: PlanLimits
  /** Decides when outcomes are recorded and released. */
  readonly clock: Clock
  /** Receives the traces of requests; absent if they are not traced. */
  readonly traces?: TraceSink
}

/** Facts about the caller and the arrival of a request. */
export interface Caller extends Waiter {
  /** Default: derived from the request, so that a repeat replays the release. */
  readonly idempotencyKey?: string
  /** Bytes from which on the ledger stores nothing more for the principal on the dataset. Default: that of the service. */
  readonly maxStoredBytes?: number
  /** Instant of {@link AnswerDependencies.clock} at which the whole request had arrived. Default: now. */
  readonly arrivedAtMs?: number
  /** Id of the request in the log, for traces. */
  readonly requestId?: string
}

/** Fields that a single query and a batch share. */
interface AnswerRequest extends Caller {
  readonly dataset: Dataset
}

/** One query by one principal. */
export interface Question extends AnswerRequest {
  readonly query: Query
}

/** Several queries by one principal, charged once and answered together. */
export interface Batch extends AnswerRequest {
  readonly queries: readonly Query[]
}

/** A response body. */
export interface Answer {
  /** The stored bytes, or the document of a replay, which is made from them. */
  readonly body: string
  /** True if the request had been answered before. */
  readonly replayed: boolean
}

/**
 * Answers a query in seven steps: plan and price it, wait for a turn, make the debit durable, read the data, add noise,
 * make the answer durable at a record instant, return it at a release instant. Errors after the first step are thrown at
 * a release instant, too.
 *
 * @throws Refusal before any debit, if the query does not fit the dataset or the budget is insufficient.
 * @throws AnswerFailure after the debit. A repeat of the same query is answered under the same charge.
 */
export function answer(dependencies: AnswerDependencies, question: Question): Promise<Answer> {
  const { dataset, query } = question
  const arrivedAtMs = question.arrivedAtMs ?? dependencies.clock.nowMs()
  const request = { ...factsOf(question), name: 'query', kind: query.kind, arrivedAtMs } as const
  return traced(dependencies, request, async (trace) => {
    const { planned, price } = await trace.step('plan', () => {
      const planned = plan(query, dataset, dependencies.limits)
      const price = priceOf(planned, dataset.accounting)
      requireAccepted(planned, dependencies.engine)
      return { planned, price }
    })
    const asked = {
      kind: query.kind,
      canonical: { query: normalForm(planned) },
      question: shortestQuery(query),
      price,
      compute: () => releaseOf(planned, dependencies, trace),
      show: (document: object) => queryShown(document, query),
    }
    const inScan = { ...question, arrivedAtMs, scan: scanOf(planned, dependencies.engine) }
    return answerUnderCharge(dependencies, inScan, asked, trace)
  })
}

/** Facts that a trace shows about a request. */
function factsOf({ dataset, requestId }: AnswerRequest) {
  return { dataset: dataset.id, timing: dataset.timing, requestId }
}

/**
 * Answers several queries under one charge, all of them or none. The charge is less than the sum of their prices if
 * some of the queries are disjoint, that is, if no row counts in two of them.
 *
 * @throws Refusal, AnswerFailure as {@link answer} does.
 */
export function answerBatch(dependencies: AnswerDependencies, batch: Batch): Promise<Answer> {
  const { queries } = batch
  const { leaseMs, limits, clock } = dependencies
  const arrivedAtMs = batch.arrivedAtMs ?? clock.nowMs()
  return traced(dependencies, { ...factsOf(batch), name: 'batch', arrivedAtMs }, async (trace) => {
    const planned = await trace.step('plan', async () => {
      const planned = await planQueries(queries, batch.dataset, limits)
      requireAllAccepted(planned, dependencies.engine)
      return planned
    })
    // In sequence: each query has its own time limit, and takes a turn of its own.
    const withLongerLease = { ...dependencies, leaseMs: leaseMs * queries.length }
    const compute = async (turn: Turn) => {
      const answers: object[] = []
      for (const each of planned.plans) {
        if (answers.length > 0) await trace.step('wait', turn.yield)
        answers.push({ ...(await releaseOf(each, dependencies, trace)), ...priceReport(each) })
      }
      return { answers, ...batchReport(planned) }
    }
    const asked = {
      kind: 'batch',
      canonical: { batch: planned.plans.map(normalForm) },
      question: { queries: queries.map(shortestQuery) },
      price: planned.price,
      compute,
      show: (document: object) => batchShown(document, queries),
    } as const
    return answerUnderCharge(withLongerLease, { ...batch, arrivedAtMs }, asked, trace)
  })
}

/** A planned query or batch. */
interface Asked {
  readonly kind: Query['kind'] | 'batch'
  /** The part of the request that identifies it; a repeat has the same. */
  readonly canonical: Readonly<Record<string, unknown>>
  /** The question as it was asked, in its shortest form. */
  readonly question: object
  readonly price: Amount
  /** Computes the part of the document that depends on the query. */
  readonly compute: (turn: Turn) => Promise<object>
  /** Shows a stored release as the request asks for it; an earlier request may have asked for it in another way. */
  readonly show: (document: object) => object
}

async function answerUnderCharge(
  dependencies: AnswerDependencies,
  {
    principal,
    dataset,
    givenUp,
    scan,
    idempotencyKey,
    maxStoredBytes,
    arrivedAtMs,
  }: AnswerRequest & Required<Pick<AnswerRequest, 'arrivedAtMs'>>,
  asked: Asked,
  trace: Trace,
): Promise<Answer> {
  if (givenUp?.aborted) throw disconnected()
  const purchase: Purchase = {
    principal,
    dataset,
    request: asked.canonical,
    question: asked.question,
    price: asked.price,
    sharing: true,
    givenUp,
    scan,
    idempotencyKey,
    maxStoredBytes,
  }
  const { clock } = dependencies
  return releaseInTime(clock, { timing: dataset.timing, arrivedAtMs }, (recordInstant) =>
    onceAtATime(dependencies, purchase, () =>
      answerInTurn(dependencies, purchase, asked, { recordInstant, trace }),
    ),
  )
}

/** The instants and the trace of a request. */
interface Flow {
  readonly recordInstant: () => Promise<void>
  readonly trace: Trace
}

async function answerInTurn(
  dependencies: AnswerDependencies,
  purchase: Purchase,
  { kind, question, price, compute, show }: Asked,
  { recordInstant, trace }: Flow,
): Promise<Answer> {
  const { ledger } = dependencies
  const { dataset } = purchase
  const { outcome, turn } = await trace.step('charge', () => charge(dependencies, purchase))
  if (outcome.kind === 'answered') {
    turn.leave()
    const asked = (document: object) => ({ ...show(document), question })
    return { body: describeReplay(outcome.answer, asked), replayed: true }
  }
  const charged = outcome.charge
  const { id, attempt } = charged
  const leaveAtRecordInstant = () => recordInstant().then(turn.leave)
  const timed = { charge: charged, dataset, recordInstant: leaveAtRecordInstant }
  const body = await completeAttempt(dependencies, timed, async () => {
    try {
      if (outcome.kind === 'charged') await trace.step('wait', turn.begin)
      const debit = describeDebit(dependencies, dataset.id, price, charged)
      const facts = { question, ...debit, softwareVersion: SOFTWARE_VERSION }
      const document =
        outcome.kind === 'shared'
          ? show(describeShared(outcome.shared, charged, facts))
          : { id, dataset: dataset.id, datasetVersion: dataset.version, ...(await compute(turn)), ...facts }
      return {
        document: JSON.stringify(document),
        record: (body, answeredAtMs) =>
          trace.step('record', () => ledger.recordAnswer(id, attempt, body, { kind, answeredAtMs })),
      }
    } finally {
      turn.leavePlace()
    }
  })
  return { body, replayed: false }
}

/**
 * Response document for a release that another analyst paid for, with the facts about this analyst's own request. The
 * spelling of the other analyst's question and its time are not revealed.
 */
function describeShared({ answer: stored }: StoredRelease, { id }: Charge, facts: object) {
  const { allotment: _, answeredAt: __, ...document } = JSON.parse(stored)
  return { ...document, id, ...facts, shared: true }
}

/**
 * Reads the data of a plan, adds noise and describes the release as the query asks for it. Yields to other requests between
 * these steps.
 */
export async function releaseOf(
  planned: Plan,
  { engine, noiseSource }: Pick<AnswerDependencies, 'engine' | 'noiseSource'>,
  trace: Trace = UNTRACED,
) {
  const released = await release(planned, engine, noiseSource, trace)
  await yieldIfLarge(planned)
  const { result, accuracy } = measuredReport(planned, released)
  await yieldIfLarge(planned)
  const domain = domainOf(planned)
  const measured = {
    kind: planned.query.kind,
    result,
    noise: noiseReport(planned),
    accuracy,
    ...(domain === undefined ? {} : { domain }),
    ...contributionOf(planned),
  }
  return queryShown(measured, planned.query)
}

/** @throws Refusal as {@link requireAccepted} does, with the place of the query. */
export function requireAllAccepted({ plans }: BatchPlan, engine: Pick<Engine, 'accepts'>): void {
  for (const [place, each] of plans.entries())
    withinField(`queries.${place}`, () => requireAccepted(each, engine))
}

/** Balances that a preview compares its price with. */
export interface PreviewBalances {
  readonly budget: Budget
  readonly analyst: AnalystSpending
}

/** The informed adversary of a preview. */
export interface AssumedAdversary {
  /** Number of rows that the adversary chooses among. */
  readonly candidates?: number | undefined
}

/**
 * Previews a question: its cost, its accuracy and its disclosure risk. It charges nothing and reads no data.
 * @throws Refusal if the question does not fit the dataset or its database, as {@link answer} does.
 */
export function preview(
  question: Pick<Question, 'dataset' | 'query'>,
  { engine, limits }: Pick<AnswerDependencies, 'engine' | 'limits'>,
  { budget, analyst }: PreviewBalances,
  adversary: AssumedAdversary = {},
) {
  const { dataset, query } = question
  const planned = plan(query, dataset, limits)
  requireAccepted(planned, engine)
  const described = describePlan(planned)
  const { loss } = planned
  const { accuracy } = described
  const release = { loss, replacementLoss: replacementLoss(planned), accuracy }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    ...described,
    ...describePrice(priceOf(planned, dataset.accounting), budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted: budget.granted, ...adversary }, release),
  }
}

/**
 * Previews a batch as {@link preview} does a question. Between two queries it yields to other work of the process.
 * @throws Refusal if a question does not fit the dataset or its database.
 */
export async function previewBatch(
  batch: Pick<Batch, 'dataset' | 'queries'>,
  { engine, limits }: Pick<AnswerDependencies, 'engine' | 'limits'>,
  { budget, analyst }: PreviewBalances,
  adversary: AssumedAdversary = {},
) {
  const { dataset } = batch
  const planned = await planQueries(batch.queries, batch.dataset, limits)
  requireAllAccepted(planned, engine)
  const { granted } = budget
  const loss = lossOfAmount(planned.price, granted.deltaAtto)
  const release = { loss, replacementLoss: replacementLossOfBatch(planned, loss, dataset) }
  const answers: (ReturnType<typeof describePlan> & ReturnType<typeof priceReport>)[] = []
  for (const each of planned.plans) {
    await setImmediate()
    answers.push({ ...describePlan(each), ...priceReport(each) })
  }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    answers,
    ...batchReport(planned),
    ...describePrice(planned.price, budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...adversary }, release),
  }
}

/** The smaller of two bounds: the loss of the batch as a whole, and the sum of the losses of its queries. */
function replacementLossOfBatch(
  { plans }: BatchPlan,
  loss: PrivacyLoss,
  { neighbours }: Dataset,
): PrivacyLoss {
  const together = lossOfReplacement(loss, neighbours)
  const oneByOne = plans.map(replacementLoss).reduce(addLoss, NO_LOSS)
  return coversLoss(together, oneByOne) ? oneByOne : together
}

function describePlan(planned: Plan) {
  return {
    kind: planned.query.kind,
    noise: noiseReport(planned),
    accuracy: accuracyReport(planned),
    ...contributionOf(planned),
  }
}

function contributionOf({ contribution }: Plan) {
  return contribution === undefined ? {} : { contribution }
}
