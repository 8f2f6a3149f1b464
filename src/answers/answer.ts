import { randomBytes } from 'node:crypto'
import { type Dataset, isLive } from '../core/dataset/dataset.ts'
import type { UniformSource } from '../core/mechanisms/samplers/uniform-source.ts'
import type { BatchQueries } from '../core/planner/together.ts'
import type { Engine } from '../engines/engine.ts'
import type { Charge } from '../ledger/contract/charges.ts'
import type { StoredRelease } from '../ledger/contract/releases.ts'
import type { NewSession } from '../ledger/contract/sessions.ts'
import type { Failure } from '../ledger/contract/suspension.ts'
import { nested } from '../platform/concurrency/nested.ts'
import { pace } from '../platform/concurrency/pace.ts'
import { SOFTWARE_VERSION } from '../platform/software-version.ts'
import type { Trace, TracedRequest, TraceSink } from '../platform/tracing/trace.ts'
import { type Amount, noAmount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { entry, must } from '../privacy/must.ts'
import { disconnected, type Turn, type TurnRequest } from './admission.ts'
import { type Asked, askBatch, askQuery, canonicalQuery, type Query, releaseAll } from './asked.ts'
import { completeAttempt } from './attempt.ts'
import {
  type ChargeDependencies,
  type ChargedInTurn,
  charge,
  onceAtATime,
  type Purchase,
  type Spending,
} from './charge.ts'
import { describeDebit, describeReplay } from './documents/costs.ts'
import { AnswerFailure, isReachable, unreachable } from './failure.ts'
import { endOf, findRepeat, type Identity } from './identity.ts'
import { findWay, topUp } from './inference/aside.ts'
import { inquiryOf } from './inference/known.ts'
import { integersOf } from './inference/paid-releases.ts'
import { priceOfWay, useOf, type WantedUse } from './inference/ways.ts'
import type { Planning } from './planning.ts'
import { release, scanOf } from './release.ts'
import { type Clock, longestOf, releaseInTime, shownTime } from './release-time.ts'
import { traced } from './traced.ts'

/** Dependencies of answering. */
export interface AnswerDependencies extends ChargeDependencies, Planning {
  readonly engine: Engine
  readonly noiseSource: UniformSource
  /** Decides when outcomes are recorded and released. */
  readonly clock: Clock
  /** Receives the traces of requests; absent if they are not traced. */
  readonly traces?: TraceSink
}

/** Facts about the caller and the arrival of a request. */
export interface Caller extends TurnRequest {
  /** Default: derived from the request, so that a repeat replays the release. */
  readonly idempotencyKey?: string
  /** Bytes from which on the ledger stores nothing more for the principal on the dataset. Default: that of the service. */
  readonly maxStoredBytes?: number
  /** Instant of {@link AnswerDependencies.clock} at which the whole request had arrived. Default: now. */
  readonly arrivedAtMs?: number
  /** Id of the request in the log, for traces. */
  readonly requestId?: string
  /** Default: it may cost its price. */
  readonly spending?: Spending
}

/** A request about a dataset. */
export interface DatasetRequest extends Caller {
  readonly dataset: Dataset
}

/** One query by one principal. */
export interface Question extends DatasetRequest {
  readonly query: Query
}

/** Several queries by one principal, charged once. */
export interface Batch extends DatasetRequest, BatchQueries {}

/** A response body. */
export interface Answer {
  /** The stored bytes, or the document of a replay, which is made from them. */
  readonly body: string
  /** True if the request had been answered before. */
  readonly replayed: boolean
}

/**
 * Answers a query: plans and prices it, and then goes through {@link answerUnderCharge}.
 *
 * @throws Refusal before any debit, if the query does not fit the dataset or the budget is insufficient.
 * @throws AnswerFailure after the debit. A repeat of the same query is answered under the same charge.
 */
export function answer(dependencies: AnswerDependencies, question: Question): Promise<Answer> {
  const { dataset, query } = question
  // Tables are read one after the other, in as many readings as columns or a few times as many.
  const readings = query.kind === 'marginals' ? query.columns.length : 1
  const withLease = { ...dependencies, leaseMs: dependencies.leaseMs * readings }
  return answerUnderCharge(withLease, question, { name: 'query', kind: query.kind }, async (trace) => {
    const asked = await trace.step('plan', () => askQuery(query, dataset, dependencies, question))
    const use = useOf(query, question.idempotencyKey)
    const inferred =
      use === 'fresh' ? undefined : await inferredOrder(dependencies, question, asked, use, trace)
    if (inferred !== undefined) return inferred
    const scan = scanOf(entry(asked.plans, 0), dependencies.engine)
    return { ...orderOf(dependencies, asked, trace), scan }
  })
}

/**
 * Answers several queries under one charge, all of them or none. The charge is less than the sum of their prices if
 * some of the queries are disjoint, that is, if no row counts in two of them.
 *
 * @throws Refusal, AnswerFailure as {@link answer} does.
 */
export function answerBatch(dependencies: AnswerDependencies, batch: Batch): Promise<Answer> {
  // In sequence: each query has its own time limit, and takes a turn of its own.
  const withLongerLease = { ...dependencies, leaseMs: dependencies.leaseMs * batch.queries.length }
  return answerUnderCharge(withLongerLease, batch, { name: 'batch' }, (trace) =>
    orderOfBatch(dependencies, batch, trace),
  )
}

/** Plans and prices a batch. */
export async function orderOfBatch(
  dependencies: AnswerDependencies,
  batch: Batch,
  trace: Trace,
): Promise<Order> {
  const { principal, dataset, queries, plan, objective, weights } = batch
  const asked = await trace.step('plan', () =>
    askBatch({ queries, plan, objective, weights }, dataset, dependencies, batch, () => pace(principal)),
  )
  return orderOf(dependencies, asked, trace)
}

/**
 * The order for a query that uses paid releases; `undefined` for one that draws fresh noise. A further attempt at a charge finds
 * the same releases, because only its answer would add one, and so the same request.
 * @throws Refusal for a query that asks for what does not follow.
 */
async function inferredOrder(
  dependencies: AnswerDependencies,
  question: Question,
  asked: Asked,
  use: Exclude<WantedUse, 'fresh'>,
  trace: Trace,
): Promise<Order | undefined> {
  const { principal, dataset } = question
  const { ledger } = dependencies
  const planned = entry(asked.plans, 0)
  if (use === 'free-if-met') {
    const { paid } = await findRepeat(ledger, { principal, dataset, request: asked.canonical }, Date.now())
    if (paid) return undefined
  }
  const inquiry = await inquiryOf(question, planned, principal, dependencies)
  const way = await findWay(inquiry, planned, use, dependencies, question)
  if (way.kind === 'fresh') return undefined
  const { measured } = way
  const common = {
    kind: asked.kind,
    question: asked.question,
    price: priceOfWay(way, asked.price),
    sharing: false,
    show: asked.show,
  }
  if (way.kind === 'free')
    return {
      ...common,
      request: { ...asked.canonical, inferredFrom: measured },
      parents: way.charges,
      compute: async () => ({ facts: way.facts }),
    }
  const { lacking } = way
  const compute = async (turn: Turn) => {
    await trace.step('wait', turn.takePlace)
    const released = await release(lacking, dependencies.engine, dependencies.noiseSource, trace)
    const integers = must(integersOf(lacking, released), 'measured integers')
    return { facts: await topUp(inquiry, planned, { lacking, integers, measured }, dependencies) }
  }
  return { ...common, request: { ...canonicalQuery(lacking), inferredFrom: measured }, compute }
}

/** The order for queries: their data is read at a place at the engine. */
function orderOf(dependencies: AnswerDependencies, asked: Asked, trace: Trace): Order {
  const { kind, canonical, question, price, plans, describe, show } = asked
  const compute = async (turn: Turn) => {
    await trace.step('wait', turn.takePlace)
    return { facts: describe(await releaseAll(plans, dependencies, turn.yieldPlace, trace)) }
  }
  return { kind, request: canonical, question, price, sharing: true, compute, show }
}

/** Identity and price of a request, and the computation that follows once it is charged. */
export interface Order
  extends Pick<
    Purchase,
    'request' | 'question' | 'price' | 'sharing' | 'scan' | 'parents' | 'idempotencyKey' | 'field'
  > {
  /** The kind of release that the ledger lists. */
  readonly kind: string
  /** Computes the answer, in a turn. */
  readonly compute: (turn: Turn) => Promise<Computed>
  /** Shows a stored release as the request asks for it; an earlier request may have asked for it in another way. */
  readonly show: (document: object) => object
}

/** Result of the computation for a charged request. */
interface Computed {
  /** The part of the document that depends on the question. */
  readonly facts: object
  /** The session that is opened together with the record of the answer. */
  readonly session?: NewSession
}

/**
 * The one flow of everything that is paid for, in seven steps: plan and price the request, wait for a turn, make the debit
 * durable, read the data, add noise, make the answer durable at a record instant, return it at a release instant. Errors
 * after the first step are thrown at a release instant, too.
 *
 * @param named name and kind of the request in traces
 * @param prepare plans and prices the request; what it throws has cost nothing
 */
export async function answerUnderCharge(
  dependencies: AnswerDependencies,
  request: DatasetRequest,
  named: { readonly name: 'query' | 'batch' | 'session'; readonly kind?: Query['kind'] },
  prepare: (trace: Trace) => Promise<Order>,
): Promise<Answer> {
  const facts = { ...named, dataset: request.dataset.id }
  const { answers } = await answerAllUnderCharge(dependencies, [request], facts, async (trace) => [
    await prepare(trace),
  ])
  return entry(answers, 0)
}

/** The answers to the parts of a request. */
export interface Answers {
  readonly answers: readonly Answer[]
  /** The amount that each of them has cost now. */
  readonly costs: readonly Amount[]
  /** True if all of them had been answered before. */
  readonly replayed: boolean
}

/**
 * The flow of {@link answerUnderCharge} for a request whose parts are about one dataset each. They are debited together or not at
 * all, answered one after the other, and leave at an instant that is a release instant of each. See decision 67.
 *
 * @param requests one or more, by the same caller
 * @throws AnswerFailure of the first part that fails. The others are answered all the same, so that a repeat replays them.
 */
export function answerAllUnderCharge(
  dependencies: AnswerDependencies,
  requests: readonly DatasetRequest[],
  named: Pick<TracedRequest, 'name' | 'kind' | 'dataset'>,
  prepare: (trace: Trace) => Promise<readonly Order[]>,
): Promise<Answers> {
  const { clock } = dependencies
  const { requestId, givenUp, arrivedAtMs = clock.nowMs() } = entry(requests, 0)
  const timing = longestOf(requests.map(({ dataset }) => dataset.timing))
  return traced(dependencies, { ...named, timing, requestId, arrivedAtMs }, async (trace) => {
    const orders = await prepare(trace)
    if (givenUp?.aborted) throw disconnected()
    const purchases = requests.map(
      ({ principal, dataset, idempotencyKey, maxStoredBytes, spending }, place) => {
        const caller = { principal, givenUp, idempotencyKey, maxStoredBytes, spending }
        return { ...caller, ...entry(orders, place), dataset }
      },
    )
    return nested(
      purchases,
      ({ dataset }, task: (instant: () => Promise<void>) => Promise<Answers>) =>
        releaseInTime(clock, { timing: dataset.timing, arrivedAtMs }, task),
      (recordInstants) =>
        nested(
          purchases,
          (each, task: (identity: Identity) => Promise<Answers>) => onceAtATime(dependencies, each, task),
          (identities) => answerInTurn(dependencies, purchases, identities, { recordInstants, trace }),
        ),
    )
  })
}

/** The instants and the trace of a request. */
export interface Flow {
  readonly recordInstant: () => Promise<void>
  readonly trace: Trace
}

async function answerInTurn(
  dependencies: AnswerDependencies,
  purchases: readonly (Purchase & Order)[],
  guessed: readonly Identity[],
  {
    recordInstants,
    trace,
  }: Pick<Flow, 'trace'> & { readonly recordInstants: readonly Flow['recordInstant'][] },
): Promise<Answers> {
  const { engine, ledger } = dependencies
  for (const [place, { dataset }] of purchases.entries())
    if (!isReachable(engine, dataset) && (await ledger.release(entry(guessed, place).id)) === undefined)
      throw unreachable()
  const charged = await trace.step('charge', () => charge(dependencies, purchases, guessed))
  const answers: Answer[] = []
  const failures: unknown[] = []
  for (const [place, each] of charged.entries()) {
    const flow = { recordInstant: entry(recordInstants, place), trace }
    await answerCharged(dependencies, entry(purchases, place), each, flow).then(
      (answered) => answers.push(answered),
      (error: unknown) => failures.push(error),
    )
  }
  if (failures.length > 0) throw failures[0]
  const costs = purchases.map(({ price }, place) =>
    entry(answers, place).replayed ? noAmount(price.accounting) : price,
  )
  return { answers, costs, replayed: answers.every(({ replayed }) => replayed) }
}

/** Answers a request that is charged, or replays its answer, and ends its turn. */
async function answerCharged(
  dependencies: AnswerDependencies,
  { dataset, kind, question, price, compute, show }: Purchase & Order,
  { outcome, turn, identity }: ChargedInTurn,
  { recordInstant, trace }: Flow,
): Promise<Answer> {
  const { ledger } = dependencies
  if (outcome.kind === 'answered') {
    turn.leave()
    const asked = (document: object) => ({ ...show(document), question })
    return { body: describeReplay(outcome.answer, asked), replayed: true }
  }
  const { id, attempt } = outcome.charge
  const failing = {
    recordFailure: (failure: Failure) => ledger.recordFailure(id, attempt, failure),
    failed: (errorClass: string) => new AnswerFailure(id, errorClass),
  }
  const body = await completeAttempt(dependencies, { dataset, turn, recordInstant, ...failing }, async () => {
    const debit = describeDebit(dependencies, dataset.id, price, outcome.charge)
    const freshness = describeFreshness(dataset, outcome.charge, identity)
    const common = { question, ...debit, ...freshness, softwareVersion: SOFTWARE_VERSION }
    const { facts, session } =
      outcome.kind === 'shared'
        ? { facts: sharedFacts(outcome.shared), session: undefined }
        : await compute(turn)
    const identified = { id, dataset: dataset.id, datasetVersion: dataset.version, ...facts }
    const document = { ...identified, ...measurementOf(identified), ...common }
    return {
      document: outcome.kind === 'shared' ? show(document) : document,
      record: (body, answeredAtMs) =>
        trace.step('record', () =>
          session === undefined
            ? ledger.recordAnswer(id, attempt, body, { kind, answeredAtMs })
            : ledger.openSession(id, attempt, body, session, { kind, answeredAtMs }),
        ),
    }
  })
  return { body, replayed: false }
}

/** A random id for what an answer measured, so that it tells nothing about the charge; none for a shared release, which has one. */
function measurementOf(facts: object): { readonly measurement?: string } {
  const measures = 'integers' in facts || 'answers' in facts
  return measures && !('measurement' in facts) ? { measurement: randomBytes(16).toString('hex') } : {}
}

/**
 * Describes how old the answer to a question about a live table can be, by the time of its debit. The time of the reading
 * may depend on data.
 */
function describeFreshness(dataset: Dataset, { debitedAtMs }: Charge, { period }: Identity) {
  if (!isLive(dataset)) return {}
  const debitedAt = shownTime(new Date(debitedAtMs).toISOString(), dataset.timing)
  return defined({ debitedAt, replaysUntil: endOf(period) })
}

/**
 * The facts of a release that another analyst paid for, without those about that analyst's own request. The spelling of the
 * other analyst's question and its time are not revealed: the facts about this request replace them.
 */
function sharedFacts({ answer }: StoredRelease): object {
  const { id: _, allotment: __, answeredAt: ___, ...facts } = JSON.parse(answer)
  return { ...facts, shared: true }
}
