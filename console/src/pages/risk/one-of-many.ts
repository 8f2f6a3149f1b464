import type { components } from 'sotto-client'
import type { LinePoint } from '../../components/scale.ts'

export type Neighbours = components['schemas']['Dataset']['neighbours']

/** Adversary who knows everyone but one person and considers some people equally likely to be that person. */
export interface OneOfMany {
  /** Number of people that the adversary considers; at least 2. */
  readonly candidates: number
  readonly delta: number
}

/** Largest epsilon that the service computes a risk for. */
const LARGEST_EPSILON = 1_000

/**
 * Returns the upper bound on the probability that the adversary guesses right, from the privacy loss between two
 * candidates (Lee and Clifton 2011, section 5.1; with a delta as the service's previews state it).
 */
export function riskOfLoss(epsilon: number, { candidates, delta }: OneOfMany): number {
  const others = candidates - 1
  const unlikelier = Math.exp(-epsilon)
  return Math.min(1, (1 + others * delta * unlikelier) / (1 + others * unlikelier))
}

/**
 * Returns the upper bound for an answer with a price of `epsilon`.
 * @param steps between two candidates: 2 if one person leaves and another joins (`add-remove`), 1 if one is replaced
 */
export function riskOfPrice(epsilon: number, steps: 1 | 2, adversary: OneOfMany): number {
  if (steps === 1) return riskOfLoss(epsilon, adversary)
  const delta = Math.min(1, adversary.delta * (1 + Math.exp(epsilon)))
  return riskOfLoss(2 * epsilon, { ...adversary, delta })
}

/** Steps between datasets that differ by one replaced person. */
export function stepsOf(neighbours: Neighbours): 1 | 2 {
  return neighbours === 'add-remove' ? 2 : 1
}

/**
 * Returns the largest epsilon at which the bound is at most `risk`, rounded down to the service's precision; undefined
 * if the bound is larger at every epsilon.
 */
export function largestEpsilon(risk: number, steps: 1 | 2, adversary: OneOfMany): number | undefined {
  if (riskOfPrice(0, steps, adversary) > risk) return undefined
  let [kept, exceeded] = [0, LARGEST_EPSILON]
  if (riskOfPrice(exceeded, steps, adversary) <= risk) return exceeded
  for (let halvings = 0; halvings < 100; halvings += 1) {
    const middle = (kept + exceeded) / 2
    if (riskOfPrice(middle, steps, adversary) <= risk) kept = middle
    else exceeded = middle
  }
  return roundedDown(kept, 9)
}

/** Rounds down to a number of fractional digits. */
export function roundedDown(value: number, fractionDigits: number): number {
  const rounded = Number(value.toFixed(fractionDigits))
  return rounded <= value ? rounded : Number((rounded - 10 ** -fractionDigits).toFixed(fractionDigits))
}

/** Returns evenly spaced points of the bound, from epsilon 0 to `to`. */
export function riskCurve(to: number, steps: 1 | 2, adversary: OneOfMany): readonly LinePoint[] {
  const intervals = 160
  return Array.from({ length: intervals + 1 }, (_, index) => {
    const x = (to * index) / intervals
    return { x, y: riskOfPrice(x, steps, adversary) }
  })
}

/** Returns a round epsilon up to which a chart shows the bound rise to about 97 percent. */
export function chartEnd(adversary: OneOfMany, steps: 1 | 2): number {
  const end = largestEpsilon(0.97, steps, adversary) ?? 1
  return [1, 2, 5, 10, 20, 50, 100].find((each) => each >= end) ?? LARGEST_EPSILON
}
