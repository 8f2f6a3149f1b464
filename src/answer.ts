import type { Dataset } from './catalog/dataset.ts'
import type { Engine } from './engines/engine.ts'
import { canonicalJson, sha256 } from './ledger/canonical.ts'
import type { Budget, Charge, Ledger } from './ledger/ledger.ts'
import type { UniformSource } from './mechanisms/uniform-source.ts'
import { type Plan, type PlanLimits, plan } from './planner/plan.ts'
import { accuracyReport, noiseReport, type Released, report } from './planner/report.ts'
import {
  coversLoss,
  deltaNumber,
  epsilonNumber,
  lossNumbers,
  type PrivacyLoss,
  subtractLoss,
} from './privacy/loss.ts'
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
  const charged = await charge(dependencies, question, planned)
  if ('replayed' in charged) return charged

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

/** Debit the question's price, durably, or find the answer that was paid for before. */
async function charge(
  { ledger, leaseMs }: AnswerDependencies,
  question: Question,
  planned: Plan,
): Promise<Charge | Answer> {
  const { principal, dataset, query } = question
  const request = canonicalJson({ dataset: dataset.id, version: dataset.version, query })
  const requestHash = sha256(request)
  const outcome = await ledger.charge({
    dataset: dataset.id,
    datasetVersion: dataset.version,
    principal,
    idempotencyKey: question.idempotencyKey ?? `sha256:${requestHash}`,
    requestHash,
    request,
    loss: planned.loss,
    leaseMs,
  })
  switch (outcome.kind) {
    case 'charged':
      return outcome.charge
    case 'answered':
      return { body: outcome.answer, replayed: true }
    case 'denied':
      throw denied(outcome.budget, planned.loss)
    case 'in-flight':
      throw inFlight(outcome.retryAfterMs)
    case 'key-reused':
      throw new Refusal(
        'idempotency-key-reused',
        'This Idempotency-Key was used for another request. Use a new key for a new question.',
      )
    case 'no-budget':
      throw new Refusal('unknown-dataset', `The dataset ${dataset.id} has no budget.`)
  }
}

function denied({ cap, spent }: Budget, asked: PrivacyLoss): Refusal {
  const remaining = subtractLoss(cap, spent)
  const short = asked.epsilonNano > remaining.epsilonNano ? 'epsilon' : 'delta'
  const [wanted, left] =
    short === 'epsilon'
      ? [epsilonNumber(asked.epsilonNano), epsilonNumber(remaining.epsilonNano)]
      : [deltaNumber(asked.deltaAtto), deltaNumber(remaining.deltaAtto)]
  return new Refusal(
    'budget-insufficient',
    `The query asks for ${short} ${wanted} and ${left} is left. Nothing was charged.`,
    [{ field: short, rule: `must be at most ${left}, what is left of the budget` }],
    {
      cap: lossNumbers(cap),
      spent: lossNumbers(spent),
      remaining: lossNumbers(remaining),
      asked: lossNumbers(asked),
    },
  )
}

const LONGEST_RETRY_SECONDS = 2

function inFlight(retryAfterMs: number): Refusal {
  // The lease is the longest it can take; mostly it is over in a moment.
  const retryAfterSeconds = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return new Refusal(
    'query-in-flight',
    'The same question is being answered. Ask again later, at no further cost.',
    [],
    {
      retryAfterSeconds,
    },
  )
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
