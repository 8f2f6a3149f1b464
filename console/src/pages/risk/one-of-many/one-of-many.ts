import type { Schemas } from '../../../api/schemas.ts'
import type { LinePoint } from '../../../components/charts/scale.ts'

export type Neighbours = Schemas['Dataset']['neighbours']

/** Adversary who knows everyone but one person and considers some people equally likely to be that person. */
export interface OneOfMany {
  /** Number of people that the adversary considers; at least 2. */
  readonly candidates: number
  readonly delta: number
  /** Two candidates are two steps apart if one person leaves and another joins (`add-remove`). */
  readonly neighbours: Neighbours
}

/** Largest epsilon that the service computes a risk for. */
const LARGEST_EPSILON = 1_000

/**
 * Returns the upper bound on the probability that the adversary guesses right from an answer with a price of `epsilon`
 * (Lee and Clifton 2011, section 5.1; with a delta as the service's previews state it).
 */
export function riskOfPrice(epsilon: number, { candidates, delta, neighbours }: OneOfMany): number {
  const isReplaced = neighbours === 'change-one'
  const lossDelta = isReplaced ? delta : Math.min(1, delta * (1 + Math.exp(epsilon)))
  const unlikelier = Math.exp(isReplaced ? -epsilon : -2 * epsilon)
  const others = candidates - 1
  return Math.min(1, (1 + others * lossDelta * unlikelier) / (1 + others * unlikelier))
}

/** Returns the adversary for a single count, which a replaced person moves by 1. */
export function forSingleCounts(adversary: OneOfMany): OneOfMany {
  return { ...adversary, neighbours: 'change-one' }
}

/**
 * Returns the largest epsilon at which the bound is at most `risk`, rounded down to the service's precision; undefined
 * if the bound is larger at every epsilon.
 */
export function largestEpsilon(risk: number, adversary: OneOfMany): number | undefined {
  if (riskOfPrice(0, adversary) > risk) return undefined
  let [kept, exceeded] = [0, LARGEST_EPSILON]
  if (riskOfPrice(exceeded, adversary) <= risk) return exceeded
  for (let halvings = 0; halvings < 100; halvings += 1) {
    const middle = (kept + exceeded) / 2
    if (riskOfPrice(middle, adversary) <= risk) kept = middle
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
export function riskCurve(to: number, adversary: OneOfMany): readonly LinePoint[] {
  const intervals = 160
  return Array.from({ length: intervals + 1 }, (_, index) => {
    const x = (to * index) / intervals
    return { x, y: riskOfPrice(x, adversary) }
  })
}

/** Returns a round epsilon up to which a chart shows the bound for single counts rise to about 97 percent. */
export function chartEnd(adversary: OneOfMany): number {
  const end = largestEpsilon(0.97, forSingleCounts(adversary)) ?? 1
  return [1, 2, 5, 10, 20, 50, 100].find((each) => each >= end) ?? LARGEST_EPSILON
}
