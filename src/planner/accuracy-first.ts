import type { Query } from '../../schemas/query.ts'
import {
  type DeltaAtto,
  type EpsilonNano,
  epsilonNano,
  epsilonNumber,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { type Refusal, refuseField } from '../privacy/refusal.ts'
import type { Plan } from './plan-kinds.ts'
import { accuracyReport } from './report.ts'

/** How accurate an answer is asked to be, in place of an epsilon. */
export interface Target {
  /** In the unit of the stated accuracy. */
  readonly halfWidth: number
  readonly confidence: number
}

/**
 * The accuracy that a query gives in place of an epsilon; `undefined` where it gives an epsilon.
 * @throws Refusal where it gives both or neither, or an accuracy that nothing can have.
 */
export function targetOf({ accuracy, epsilon }: Query): Target | undefined {
  if (accuracy === undefined) {
    if (epsilon !== undefined) return undefined
    throw refuseField('invalid-request', 'epsilon', 'is required unless accuracy is given')
  }
  if (epsilon !== undefined)
    throw refuseField('invalid-request', 'accuracy', 'must not be given together with epsilon')
  if (!(accuracy.halfWidth > 0))
    throw refuseField('invalid-request', 'accuracy.halfWidth', 'must be greater than 0')
  if (!(accuracy.confidence >= LEAST_CONFIDENCE && accuracy.confidence <= LARGEST_CONFIDENCE)) {
    const rule = 'must be at least 0.000000001 and at most 0.999999999'
    throw refuseField('invalid-request', 'accuracy.confidence', rule)
  }
  return accuracy
}

/** Beyond these, what is left of a confidence after it is divided among several parts may be 0 or 1 in a double. */
const LEAST_CONFIDENCE = 1e-9
const LARGEST_CONFIDENCE = 0.999999999

/** Between which epsilons a query can be planned at all. */
export interface EpsilonRange {
  readonly least: EpsilonNano
  readonly largest: EpsilonNano
}

/**
 * The plan with the least epsilon, in whole units of 1e-9, whose stated half-width meets the target; `undefined` where
 * no epsilon in the range does. By bisection, for a half-width never grows with epsilon. Of plans that differ in epsilon
 * alone it has the least rho as well, which never falls with epsilon.
 * @throws Refusal where the half-width is not known beforehand.
 */
export function leastLoss<P extends Plan>(
  planAt: (loss: PrivacyLoss) => P,
  { least, largest }: EpsilonRange,
  deltaAtto: DeltaAtto,
  target: Target,
): P | undefined {
  const at = (nano: bigint) => planAt({ epsilonNano: epsilonNano(nano), deltaAtto })
  let enough = at(largest)
  if (!meets(enough, target)) return undefined
  let [below, above]: [bigint, bigint] = [least - 1n, largest]
  while (above - below > 1n) {
    const middle = (below + above) / 2n
    const attempt = at(middle)
    if (meets(attempt, target)) [above, enough] = [middle, attempt]
    else below = middle
  }
  return enough
}

/** A target that no epsilon in the range meets. */
export function refuseTarget({ largest }: EpsilonRange): Refusal {
  const rule = `cannot be reached with an epsilon of ${epsilonNumber(largest)}, the largest that is supported`
  return refuseField('query-does-not-fit', 'accuracy.halfWidth', rule)
}

function meets(plan: Plan, { halfWidth }: Target): boolean {
  const stated = accuracyReport(plan).halfWidth
  if (stated === null) throw refuseUnknownAccuracy(plan)
  return stated <= halfWidth
}

/** A query without one half-width for all that it answers, or not before rows are supposed. */
function refuseUnknownAccuracy(plan: Plan): Refusal {
  const refuse = (rule: string) => refuseField('query-does-not-fit', 'accuracy', rule)
  if (plan.kind === 'key-selection')
    return refuse(
      'applies to counts, which the query does not request: set counts to true, or give epsilon instead',
    )
  if (plan.kind === 'additive' && plan.estimates.length > 1) {
    const rule =
      'must be one statistic where accuracy is given, because its half-width is in the unit of one: ' +
      'ask for one statistic, or give epsilon in place of accuracy'
    return refuseField('query-does-not-fit', 'statistics', rule)
  }
  const rule = 'is required, because the accuracy depends on the number of rows, which is private'
  return refuseField('query-does-not-fit', 'supposed.rows', rule)
}
