import type { Dataset } from './catalog/dataset.ts'
import { charge, inFlight } from './charge.ts'
import type { Engine } from './engines/engine.ts'
import type { Budget, Charge, Ledger } from './ledger/ledger.ts'
import type { UniformSource } from './mechanisms/uniform-source.ts'
import { plan } from './planner/plan.ts'
import type { Plan, PlanLimits } from './planner/plan-kinds.ts'
import { accuracyReport, noiseReport, report } from './planner/report.ts'
import type { Released } from './planner/report-kinds.ts'
import { coversLoss, lossNumbers, subtractLoss } from './privacy/loss.ts'
import { Refusal } from './privacy/refusal.ts'
import { release } from './release.ts'

type Query = Parameters<typeof plan>[0]

/** What answering needs. */
export interface AnswerDependencies {
  readonly engine: Engine
  readonly ledger: Ledger
  readonly noiseSource: UniformSource
  readonly limits: PlanLimits
  /** How long an attempt may take before a repeat of the question takes its charge over. */
  readonly leaseMs: number
}

/** One question, by one principal. */
export interface Question {
  readonly principal: string
  readonly dataset: Dataset
  readonly query: Query
  /** Left out: the question itself is its key, so that a repeat replays the release. */
  readonly idempotencyKey?: string
  /**
   * Whether nobody waits for the answer any more. It is asked before the debit, never after: what is paid for is
   * answered and stored.
   */
  readonly givenUp?: () => boolean
}

/** An answer as it is sent: the bytes that were stored, and whether they were stored before. */
export interface Answer {
  readonly body: string
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
  const { engine, ledger, noiseSource } = dependencies
  const planned = plan(question.query, question.dataset, dependencies.limits)
  if (question.givenUp?.()) {
    throw new Refusal('unavailable', 'The request was given up before anything was charged.')
  }
  const { principal, dataset, query, idempotencyKey } = question
  const outcome = await charge(dependencies, {
    principal,
    dataset,
    request: { query },
    loss: planned.loss,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  if (outcome.kind === 'answered') return { body: outcome.answer, replayed: true }
  const charged = outcome.charge
  try {
    const released = await release(planned, engine, noiseSource)
    const body = JSON.stringify(describeAnswer(planned, charged, released))
    if (await ledger.recordAnswer(charged.id, charged.attempt, body)) return { body, replayed: false }
  } catch (error) {
    // A ledger that cannot even take this note leaves the lease to run out; the debit stands either way.
    await ledger.recordFailure(charged.id, charged.attempt).catch(() => undefined)
    throw new AnswerFailure(charged.id, error instanceof Error ? error.name : 'unknown')
  }
  // A later attempt holds the charge, and its answer is the one that counts: this one is dropped unseen.
  throw inFlight(dependencies.leaseMs)
}

/** A budget as people read it. */
export function describeBudget(budget: Budget) {
  return {
    cap: lossNumbers(budget.cap),
    spent: lossNumbers(budget.spent),
    remaining: lossNumbers(subtractLoss(budget.cap, budget.spent)),
  }
}

function describeAnswer(planned: Plan, charged: Charge, released: Released) {
  const { result, accuracy } = report(planned, released)
  return {
    id: charged.id,
    dataset: planned.dataset.id,
    datasetVersion: planned.dataset.version,
    kind: planned.query.kind,
    result,
    noise: noiseReport(planned),
    accuracy,
    cost: lossNumbers(planned.loss),
    budget: describeBudget(charged.budget),
  }
}

/**
 * What a question would cost and how far off its answer could be, without charging or reading anything.
 *
 * @param supposedRows how many rows the caller supposes to count: the accuracy of some means depends on it
 * @throws Refusal where the question does not fit.
 */
export function preview(
  question: Omit<Question, 'principal'>,
  limits: PlanLimits,
  budget: Budget,
  supposedRows?: number,
) {
  const planned = plan(question.query, question.dataset, limits)
  return {
    dataset: planned.dataset.id,
    datasetVersion: planned.dataset.version,
    kind: planned.query.kind,
    noise: noiseReport(planned),
    accuracy: accuracyReport(planned, supposedRows ?? question.query.accuracy?.supposedRows),
    cost: lossNumbers(planned.loss),
    budget: describeBudget(budget),
    affordable: coversLoss(subtractLoss(budget.cap, budget.spent), planned.loss),
  }
}
