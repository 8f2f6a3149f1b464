import type { Query } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Inferred } from '../../core/inference/infer.ts'
import { planTopUp } from '../../core/inference/top-up.ts'
import type { AdditivePlan } from '../../core/planner/additive/shape.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import { type Plan, planKindOf } from '../../core/planner/plans/plan-kinds.ts'
import { offerOf } from '../../core/planner/price/accuracy-first.ts'
import { priceOf } from '../../core/planner/price/price.ts'
import { requireWithinQueryLimits } from '../../core/planner/price/query-limits.ts'
import { type Amount, amountNumbers, noAmount } from '../../privacy/accounting.ts'
import { epsilonNumber, NO_LOSS } from '../../privacy/loss.ts'
import { Refusal, refuseField, refuseQuery } from '../../privacy/refusal.ts'
import {
  describeInference,
  type Inquiry,
  inferredFacts,
  type Known,
  type KnownAnswer,
  knownAbout,
} from './known.ts'

/* The ways to an answer: with fresh noise, for free from paid releases, or with a measurement of what these lack. */

/** What an analyst asks to be used of paid releases. */
type Use = NonNullable<Extract<Query, { postprocess: unknown }>['use']>

/** What is to be used of paid releases: as is asked, or those that meet the accuracy that is asked for. */
export type WantedUse = Use | 'free-if-met'

/** True if what is known has the half-width that a question asks for. */
function hasAccuracy({ planned: { query }, inferred }: KnownAnswer): boolean {
  const { halfWidth } = inferred.report.accuracy
  return query.accuracy !== undefined && halfWidth !== null && halfWidth <= query.accuracy.halfWidth
}

/** Why the limits that a dataset declares for each query do not allow a measurement; `undefined` if they do. */
function reasonAgainstTopUp(lacking: AdditivePlan): string | undefined {
  try {
    requireWithinQueryLimits(lacking, offerOf(lacking.query))
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const rules = error.errors.map(({ rule }) => rule).join('; ')
    return `the epsilon of what they lack, ${epsilonNumber(lacking.loss.epsilonNano)}, ${rules}`
  }
}

/** What a top-up costs, or why there is none. */
function describeTopUp(lacking: AdditivePlan | undefined, { accounting }: Dataset) {
  if (lacking === undefined) return { epsilon: 0, price: amountNumbers(noAmount(accounting)) }
  const reason = reasonAgainstTopUp(lacking)
  if (reason !== undefined) return { reason }
  return {
    epsilon: epsilonNumber(lacking.loss.epsilonNano),
    price: amountNumbers(priceOf(lacking, accounting)),
  }
}

/** The three ways to an answer, as a preview states them. */
function describeOffers(planned: Plan, known: Known, limits: PlanLimits) {
  const { accounting } = planned.dataset
  const fresh = { price: amountNumbers(priceOf(planned, accounting)) }
  if (known.kind === 'unknown') return { free: { reason: known.reason }, fresh }
  const lacking = planTopUp(known.planned, known.inferred, known.parents, limits)
  const { result, accuracy } = inferredFacts(known) as Pick<Inferred['report'], 'result' | 'accuracy'>
  return {
    free: {
      result,
      accuracy,
      releases: [...new Set(known.parents.map(({ charge }) => charge))],
      statement: describeInference(known.inferred, known.parents).statement,
    },
    topUp: describeTopUp(lacking, planned.dataset),
    fresh,
  }
}

/**
 * Reads what a request wants to be used of paid releases: by default nothing, but for an accuracy that they may meet.
 * @throws Refusal `invalid-request` for a chosen key, which always draws fresh noise.
 */
export function useOf(query: Query, idempotencyKey: string | undefined): WantedUse {
  const asked = 'use' in query ? query.use : undefined
  if (asked === undefined)
    return query.accuracy !== undefined && idempotencyKey === undefined ? 'free-if-met' : 'fresh'
  if (asked === 'fresh' || idempotencyKey === undefined) return asked
  throw refuseField(
    'invalid-request',
    'use',
    'must be "fresh" with an Idempotency-Key of your own, which draws fresh noise',
  )
}

/** The way to an answer: with noise of its own, inferred from what is known, or with a measurement of what is lacking. */
type ChosenWay =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'free'; readonly known: KnownAnswer }
  | {
      readonly kind: 'topUp'
      readonly known: KnownAnswer
      readonly lacking: AdditivePlan
    }

/** A way to an answer as plain data, with the ids of what was measured and the facts that follow from it. */
export type Way =
  | { readonly kind: 'fresh' }
  | {
      readonly kind: 'free'
      readonly measured: readonly string[]
      /** The charges that have paid for what was measured. */
      readonly charges: readonly string[]
      readonly facts: object
    }
  | { readonly kind: 'topUp'; readonly measured: readonly string[]; readonly lacking: AdditivePlan }

/**
 * Finds the way to an answer.
 * @param planned the plan of the question
 * @throws Refusal for a question that asks for what does not follow.
 */
export function wayOf(inquiry: Inquiry, use: WantedUse, planned: Plan = planOf(inquiry)): Way {
  const way = chosenWay(planned, knownAbout(planned, inquiry), use, inquiry.limits)
  if (way.kind === 'fresh') return way
  const { known } = way
  const measured = known.parents.map(({ id }) => id)
  if (way.kind === 'topUp') return { kind: 'topUp', measured, lacking: way.lacking }
  const charges = [...new Set(known.parents.map(({ charge }) => charge))]
  return { kind: 'free', measured, charges, facts: inferredFacts(known) }
}

/**
 * Describes the ways to an answer, and what the chosen one costs.
 * @param planned the plan of the question
 * @throws Refusal as {@link wayOf} does.
 */
export function waysOf(inquiry: Inquiry, use: WantedUse, planned: Plan = planOf(inquiry)) {
  const { dataset, limits } = inquiry
  const known = knownAbout(planned, inquiry)
  const way = chosenWay(planned, known, use, limits)
  return {
    kind: way.kind,
    price: priceOfWay(way, priceOf(planned, dataset.accounting)),
    accuracy: way.kind === 'free' ? way.known.inferred.report.accuracy : undefined,
    losses: lossesOf(way),
    offers: describeOffers(planned, known, limits),
  }
}

/** The losses of what a way measures; `undefined` for those of a fresh answer. */
function lossesOf(way: ChosenWay) {
  switch (way.kind) {
    case 'fresh':
      return undefined
    case 'free':
      return { loss: NO_LOSS, replacementLoss: NO_LOSS }
    case 'topUp':
      return { loss: way.lacking.loss, replacementLoss: planKindOf(way.lacking).replacementLoss(way.lacking) }
  }
}

function planOf({ query, dataset, limits }: Inquiry): Plan {
  return plan(query, dataset, limits)
}

function chosenWay(planned: Plan, known: Known, use: WantedUse, limits: PlanLimits): ChosenWay {
  if (use === 'fresh') return { kind: 'fresh' }
  if (known.kind === 'unknown') {
    if (use === 'free') throw refusedWay(planned, 'free', known.reason)
    return { kind: 'fresh' }
  }
  if (use === 'free-if-met' && !hasAccuracy(known)) return { kind: 'fresh' }
  const lacking =
    use === 'topUp' ? planTopUp(known.planned, known.inferred, known.parents, limits) : undefined
  const reason = lacking === undefined ? undefined : reasonAgainstTopUp(lacking)
  if (reason !== undefined) throw refusedWay(planned, 'topUp', reason)
  return lacking === undefined ? { kind: 'free', known } : { kind: 'topUp', known, lacking }
}

/** What a way costs. */
export function priceOfWay(way: ChosenWay | Way, fresh: Amount): Amount {
  switch (way.kind) {
    case 'fresh':
      return fresh
    case 'free':
      return noAmount(fresh.accounting)
    case 'topUp':
      return priceOf(way.lacking, fresh.accounting)
  }
}

/** Refusal of a way to an answer. */
function refusedWay(planned: Plan, way: Use, reason: string): Refusal {
  const price: Readonly<Record<string, number>> = amountNumbers(priceOf(planned, planned.dataset.accounting))
  const amounts = Object.entries(price).map(([unit, amount]) => `${unit} ${amount}`)
  return refuseQuery('use', `cannot be "${way}": ${reason}. A fresh answer costs ${amounts.join(', ')}`)
}
