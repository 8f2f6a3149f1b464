import type { Query } from '../../../../schemas/answers/query.ts'
import {
  DEFAULT_CONFIDENCE,
  type DeltaAtto,
  deltaFromWire,
  type EpsilonNano,
  epsilonFromWire,
  epsilonNano,
  epsilonNumber,
  MAX_QUERY_EPSILON,
  NO_LOSS,
  ONE_EPSILON_NANO,
  type PrivacyLoss,
  type RhoPico,
  rhoFromWire,
} from '../../../privacy/loss.ts'
import { type Refusal, refuseField, refuseQuery } from '../../../privacy/refusal.ts'
import type { AccuracyReport } from '../report-kinds.ts'

/** Accuracy that a query asks for in place of an epsilon. */
export type Target = NonNullable<Query['accuracy']>

/**
 * Reads the accuracy that a query gives in place of an epsilon; `undefined` if it gives an epsilon or a rho.
 * @throws Refusal `invalid-request` if it gives several of them or none, or a value out of range.
 */
export function targetOf(query: Query): Target | undefined {
  const { accuracy, epsilon } = query
  const rho = 'rho' in query ? query.rho : undefined
  if (rho !== undefined && (accuracy ?? epsilon) !== undefined)
    throw refuseField('invalid-request', 'rho', 'must not be given together with epsilon or accuracy')
  if (accuracy === undefined) {
    if (epsilon !== undefined || rho !== undefined) return undefined
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

/** Bounds of a confidence: beyond them, a part of it or of its complement may round to 0 or 1 in a double. */
const LEAST_CONFIDENCE = 1e-9
const LARGEST_CONFIDENCE = 0.999999999

/** Range of epsilons at which a query can be planned. */
export interface EpsilonRange {
  readonly least: EpsilonNano
  readonly largest: EpsilonNano
}

/** Range of epsilons that can be divided into this number of parts. */
export function epsilonRange(
  parts: number,
  largest = BigInt(MAX_QUERY_EPSILON) * ONE_EPSILON_NANO,
): EpsilonRange {
  return { least: epsilonNano(BigInt(parts)), largest: epsilonNano(largest) }
}

/** Price that a query offers: an epsilon or an accuracy to reach, and a delta. */
export interface Offer {
  readonly epsilonNano?: EpsilonNano
  /** In place of an epsilon. */
  readonly rhoPico?: RhoPico
  readonly deltaAtto: DeltaAtto
  readonly target: Target | undefined
  /** Confidence of every half-width stated. */
  readonly confidence: number
}

/** @throws Refusal for an invalid price. */
export function offerOf(query: Query): Offer {
  const target = targetOf(query)
  return {
    ...(target === undefined ? priceOffered(query) : {}),
    deltaAtto: 'delta' in query ? deltaFromWire(query.delta, 'delta') : NO_LOSS.deltaAtto,
    target,
    confidence: target?.confidence ?? DEFAULT_CONFIDENCE,
  }
}

function priceOffered(query: Query): Pick<Offer, 'epsilonNano' | 'rhoPico'> {
  if ('rho' in query && query.rho !== undefined) return { rhoPico: rhoFromWire(query.rho, 'rho') }
  return { epsilonNano: epsilonFromWire(query.epsilon ?? Number.NaN, 'epsilon') }
}

/** Plans of one query that differ in their loss alone. */
export interface Planning<P> {
  readonly planAt: (loss: PrivacyLoss) => P
  /** @throws Refusal if the plan states no half-width. */
  readonly halfWidthOf: (plan: P) => number
}

/**
 * Plans at the epsilon that a query offers, or at the least that meets its target.
 * @throws Refusal if no epsilon in the range meets the target.
 */
export function planAtOffer<P>(
  { epsilonNano, deltaAtto, target }: Offer,
  range: EpsilonRange,
  planning: Planning<P>,
): P {
  if (epsilonNano !== undefined) return planning.planAt({ epsilonNano, deltaAtto })
  if (target === undefined) throw new RangeError('a query must have an epsilon or an accuracy')
  const least = leastLoss(planning, range, deltaAtto, target)
  if (least === undefined) throw refuseTarget(range)
  return least
}

/**
 * Finds the plan with the least epsilon, in whole units of 1e-9 and with at most four digits that people can read, whose
 * stated half-width meets the target: less than 0.1 % above the least of all. `undefined` if no epsilon in the range does. By bisection, because a half-width never grows with epsilon. Of
 * plans that differ in epsilon alone it has the least rho as well, which never falls with epsilon.
 * See decision 12.
 * @throws Refusal if the half-width is not known beforehand.
 */
export function leastLoss<P>(
  { planAt, halfWidthOf }: Planning<P>,
  { least, largest }: EpsilonRange,
  deltaAtto: DeltaAtto,
  target: Target,
): P | undefined {
  const at = (nano: bigint) => planAt({ epsilonNano: epsilonNano(nano), deltaAtto })
  const meets = (plan: P) => halfWidthOf(plan) <= target.halfWidth
  let enough = at(largest)
  if (!meets(enough)) return undefined
  let [below, above]: [bigint, bigint] = [least - 1n, largest]
  while (above - below > 1n) {
    const middle = (below + above) / 2n
    const attempt = at(middle)
    if (meets(attempt)) [above, enough] = [middle, attempt]
    else below = middle
  }
  // Half-widths are rounded, so that neighbours of a large epsilon can be in the wrong order. The half-width of a plan
  // found with few digits is a target that leads to the same plan.
  const spacing = spacingOf(above)
  if (spacing === 1n) return enough
  const rounded = withFewDigits(above)
  const found = [rounded - spacing, rounded].filter((nano) => nano <= largest).map(at)
  return found.find(meets) ?? enough
}

/** Number of digits of a price that the service chooses. */
const SIGNIFICANT_DIGITS = 4

/** The distance between prices of so few digits, at a price in its least units. */
export function spacingOf(units: bigint): bigint {
  return 10n ** BigInt(Math.max(0, `${units}`.length - SIGNIFICANT_DIGITS))
}

/** Rounds a price in its least units up to so few digits. */
export function withFewDigits(units: bigint): bigint {
  const spacing = spacingOf(units)
  return ((units + spacing - 1n) / spacing) * spacing
}

/** Refusal of a target that no epsilon in the range meets. */
export function refuseTarget({ largest }: EpsilonRange): Refusal {
  const rule = `cannot be reached with an epsilon of ${epsilonNumber(largest)}, the largest that is supported`
  return refuseQuery('accuracy.halfWidth', rule)
}

/** Refusal of a target for several statistics. */
export function refuseSeveral(): Refusal {
  const rule =
    'must be one statistic where accuracy is given, because its half-width is in the unit of one: ' +
    'ask for one statistic, or give epsilon in place of accuracy'
  return refuseQuery('statistics', rule)
}

/** The half-width of an accuracy report; a refusal if it depends on a number of rows that is private. */
export function knownHalfWidth({ halfWidth }: AccuracyReport): number {
  if (halfWidth !== null) return halfWidth
  const rule =
    'is required, because the accuracy depends on the number of rows, which is private; state the number that you ' +
    'suppose (in each group, for groups), such as "supposed": {"rows": 1000}'
  throw refuseQuery('supposed.rows', rule)
}
