import type { Dataset } from '../catalog/dataset.ts'
import type { Engine } from '../engines/engine.ts'
import type { AnalystSpending, Budget, Charge, StoredRelease } from '../ledger/ledger.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { type BatchPlan, planBatch } from '../planner/batch.ts'
import { plan } from '../planner/plan.ts'
import { LARGEST_ANSWER, type PlanLimits } from '../planner/plan-kind.ts'
import type { Plan, Released } from '../planner/plan-kinds.ts'
import { mostValues, replacementLoss } from '../planner/plan-kinds.ts'
import { priceOf } from '../planner/price.ts'
import { accuracyReport, noiseReport, report } from '../planner/report.ts'
import { type Amount, amountNumbers, lossOfAmount } from '../privacy/accounting.ts'
import { addLoss, coversLoss, lossOfReplacement, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { Refusal, refuseField, withinField } from '../privacy/refusal.ts'
import {
  type ChargeDependencies,
  charge,
  describeDebit,
  describePrice,
  describeReplay,
  inFlight,
} from './charge.ts'
import { describeReleaseRisk } from './disclosure.ts'
import { release } from './release.ts'

type Query = Parameters<typeof plan>[0]

/** What answering needs. */
export interface AnswerDependencies extends ChargeDependencies {
  readonly engine: Engine
  readonly noiseSource: UniformSource
  readonly limits: PlanLimits
}

/** Who asks, of what, and how to tell one request from another. */
interface Asked {
  readonly principal: string
  readonly dataset: Dataset
  /** Left out: the question itself is its key, so that a repeat replays the release. */
  readonly idempotencyKey?: string
  /**
   * Whether nobody waits for the answer any more. It is asked before the debit, never after: what is paid for is
   * answered and stored.
   */
  readonly givenUp?: () => boolean
}

/** One question, by one principal. */
export interface Question extends Asked {
  readonly query: Query
}

/** Several questions that are charged once and answered together, by one principal. */
export interface Batch extends Asked {
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
 * A query failed after it was charged. Of what went wrong only the error's class is kept, for the log: its message
 * could quote the data.
 */
export class AnswerFailure extends Error {
  readonly chargeId: string
  readonly errorClass: string

  constructor(chargeId: string, errorClass: string) {
    super('the query was charged and could not be completed')
    this.name = 'AnswerFailure'
    this.chargeId = chargeId
    this.errorClass = errorClass
  }
}

/**
 * Answer a question: plan and price it; make the debit durable; only then read data; add noise; make the answer
 * durable; only then hand it out.
 *
 * @throws Refusal before anything is debited, where the question does not fit or the budget does not suffice.
 * @throws AnswerFailure after the debit; the same question, asked again, is answered under the same charge.
 */
export async function answer(dependencies: AnswerDependencies, question: Question): Promise<Answer> {
  const { dataset, query } = question
  const planned = plan(query, dataset, dependencies.limits)
  const price = priceOf(planned, dataset.accounting)
  return answerUnderCharge(dependencies, question, { query }, price, async () =>
    describeRelease(planned, await release(planned, dependencies.engine, dependencies.noiseSource)),
  )
}

/**
 * Answer several questions as {@link answer} does one: under one charge, which is less than the sum of their prices
 * where no row counts for two of them; all of them, or none.
 *
 * @throws Refusal, AnswerFailure as {@link answer} does.
 */
export async function answerBatch(dependencies: AnswerDependencies, batch: Batch): Promise<Answer> {
  const { queries } = batch
  const { engine, noiseSource, leaseMs, limits } = dependencies
  const planned = planQueries(batch, limits)
  // One after the other: each has its own time limit, and leaves others' queries their connections.
  const patient = { ...dependencies, leaseMs: leaseMs * queries.length }
  return answerUnderCharge(patient, batch, { batch: queries }, planned.price, async () => {
    const answers: object[] = []
    for (const each of planned.plans) {
      const released = describeRelease(each, await release(each, engine, noiseSource))
      answers.push({ ...released, ...describeShare(each) })
    }
    return { answers, ...describeGroups(planned) }
  })
}

async function answerUnderCharge(
  dependencies: AnswerDependencies,
  asked: Asked,
  request: Readonly<Record<string, unknown>>,
  price: Amount,
  compute: () => Promise<object>,
): Promise<Answer> {
  const { ledger } = dependencies
  const { principal, dataset, givenUp, idempotencyKey } = asked
  if (givenUp?.()) {
    throw new Refusal('unavailable', 'The request was given up before anything was charged.')
  }
  const outcome = await charge(dependencies, {
    principal,
    dataset,
    request,
    price,
    sharing: true,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  if (outcome.kind === 'answered') return { body: describeReplay(outcome.answer), replayed: true }
  const charged = outcome.charge
  try {
    const debit = describeDebit(dependencies, dataset.id, price, charged)
    const document =
      outcome.kind === 'shared'
        ? describeShared(outcome.shared, charged, debit)
        : {
            id: charged.id,
            dataset: dataset.id,
            datasetVersion: dataset.version,
            ...(await compute()),
            ...debit,
          }
    const body = JSON.stringify(document)
    if (await ledger.recordAnswer(charged.id, charged.attempt, body)) return { body, replayed: false }
  } catch (error) {
    // A ledger that cannot even take this note leaves the lease to run out; the debit stands either way.
    await ledger.recordFailure(charged.id, charged.attempt).catch(() => undefined)
    throw new AnswerFailure(charged.id, error instanceof Error ? error.name : 'unknown')
  }
  // A later attempt holds the charge, and its answer is the one that counts: this one is dropped unseen.
  throw inFlight(dependencies.leaseMs)
}

/** The answer that another paid for, with what this analyst's debit was. */
function describeShared({ answer: stored }: StoredRelease, { id }: Charge, debit: object) {
  const { allotment: _, ...document } = JSON.parse(stored)
  return { ...document, id, ...debit, shared: true }
}

function describeRelease(planned: Plan, released: Released) {
  const { result, accuracy } = report(planned, released)
  return { kind: planned.query.kind, result, noise: noiseReport(planned), accuracy }
}

/** What one query of a batch would cost by itself. */
function describeShare(planned: Plan) {
  return { price: amountNumbers(priceOf(planned, planned.dataset.accounting)) }
}

function describeGroups({ groups, sumOfPrices }: BatchPlan) {
  return { disjoint: groups.filter(({ length }) => length > 1), sumOfPrices: amountNumbers(sumOfPrices) }
}

/** @throws Refusal naming the query that breaks a rule by its place. */
function planQueries(
  { queries, dataset }: Pick<Batch, 'queries' | 'dataset'>,
  limits: PlanLimits,
): BatchPlan {
  // Together they are one answer. How many keys come out is not known before: each selection has its part of the values.
  const partOf = (whole: number) => Math.max(1, Math.floor(whole / queries.length))
  const [maxCharacters, maxKeys] = [partOf(LARGEST_ANSWER), partOf(limits.maxCells)]
  const plans = queries.map((query, place) =>
    withinField(`queries.${place}`, () => {
      const maxCells = query.kind === 'keySelection' ? maxKeys : limits.maxCells
      const planned = plan(query, dataset, { maxCells, maxCharacters })
      priceOf(planned, dataset.accounting)
      return planned
    }),
  )
  const values = plans.reduce((sum, each) => sum + mostValues(each), 0)
  if (values > limits.maxCells) {
    const rule = `must have at most ${limits.maxCells} values in their answers together; these have ${values}`
    throw refuseField('query-does-not-fit', 'queries', rule)
  }
  return planBatch(plans, dataset.accounting)
}

/** What a preview is made against. */
export interface PreviewBalances {
  readonly budget: Budget
  readonly analyst: AnalystSpending
}

/** What the caller of a preview supposes; none of it is compared with the data. */
export interface Suppositions {
  /** How many rows are counted: the accuracy of some means depends on it. */
  readonly supposedRows?: number | undefined
  /** How many rows an informed adversary chooses among. */
  readonly candidates?: number | undefined
}

/**
 * What a question would cost, how far off its answer could be and what it would let an adversary guess, without charging
 * or reading anything.
 * @throws Refusal where the question does not fit.
 */
export function preview(
  question: Pick<Question, 'dataset' | 'query'>,
  limits: PlanLimits,
  { budget, analyst }: PreviewBalances,
  { supposedRows, ...supposed }: Suppositions = {},
) {
  const { dataset, query } = question
  const planned = plan(query, dataset, limits)
  const described = describePlan(planned, supposedRows)
  const { loss } = planned
  const { accuracy } = described
  const release = { loss, replacementLoss: replacementLoss(planned), accuracy }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    ...described,
    ...describePrice(priceOf(planned, dataset.accounting), budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted: budget.granted, ...supposed }, release),
  }
}

/**
 * What {@link preview} tells of one question, of a batch.
 * @throws Refusal where a question does not fit.
 */
export function previewBatch(
  batch: Pick<Batch, 'dataset' | 'queries'>,
  limits: PlanLimits,
  { budget, analyst }: PreviewBalances,
  supposed: Pick<Suppositions, 'candidates'> = {},
) {
  const { dataset } = batch
  const planned = planQueries(batch, limits)
  const { granted } = budget
  const loss = lossOfAmount(planned.price, granted.deltaAtto)
  const release = { loss, replacementLoss: replacementLossOfBatch(planned, loss, dataset) }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    answers: planned.plans.map((each) => ({ ...describePlan(each), ...describeShare(each) })),
    ...describeGroups(planned),
    ...describePrice(planned.price, budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...supposed }, release),
  }
}

/** The lesser of two bounds: that of the price of all together, and the sum of what each query reveals by itself. */
function replacementLossOfBatch(
  { plans }: BatchPlan,
  loss: PrivacyLoss,
  { neighbours }: Dataset,
): PrivacyLoss {
  const together = lossOfReplacement(loss, neighbours)
  const oneByOne = plans.map(replacementLoss).reduce(addLoss, NO_LOSS)
  return coversLoss(together, oneByOne) ? oneByOne : together
}

function describePlan(planned: Plan, supposedRows?: number) {
  const { kind, accuracy } = planned.query
  return {
    kind,
    noise: noiseReport(planned),
    accuracy: accuracyReport(planned, supposedRows ?? accuracy?.supposedRows),
  }
}
