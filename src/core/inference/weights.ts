import { entry } from '../../privacy/must.ts'
import { greatestCommonDivisor } from '../../privacy/rational.ts'
import { type Identities, type Identity, TARGET } from './identities.ts'
import type { LinearForm } from './linear-forms.ts'

/** Exact weights of measured integers, in grid units: the estimate is the sum of weight * integer / denominator. */
export interface Weights {
  readonly denominator: bigint
  readonly numerators: ReadonlyMap<number, bigint>
}

/** Bits of the largest correction of a weight. Rounding them makes the variance larger by less than one part in 2^30. */
const CORRECTION_BITS = 16
/** More steps than the solution needs, up to rounding, for most systems. A solution that is not exact is unbiased too. */
const MOST_ITERATIONS = 200

/**
 * The weights of the best linear unbiased estimate of a form from measurements of others (Gauss-Markov theorem): any exact
 * identity of the form, to which multiples of the identities between the measurements are added that make the variance least.
 * The multiples are rounded, and the identity stays exact.
 * @param variances of the measurements, in squared grid units
 * @returns `undefined` if the form does not follow from the measurements
 */
export function bestWeights(
  form: LinearForm,
  identities: Identities,
  variances: readonly number[],
): Weights | undefined {
  if (form.size === 0) return { denominator: 1n, numerators: new Map() }
  const identity = identities.of(form)
  const own = identity?.get(TARGET)
  if (identity === undefined || own === undefined) return undefined
  const start = new Map<number, number>()
  for (const [place, factor] of identity)
    if (place !== TARGET) start.set(place, -Number(factor) / Number(own))
  const multiples = leastVariance(start, identities.between, variances)
  return combined(identity, own, identities.between, multiples)
}

/**
 * The multiples of identities that minimise the variance of their sum with a start, by conjugate gradients with the diagonal
 * as a preconditioner.
 */
function leastVariance(
  start: ReadonlyMap<number, number>,
  identities: readonly Identity[],
  variances: readonly number[],
): Float64Array {
  const rows = identities.map((identity) =>
    Array.from(
      identity,
      ([place, factor]) => [place, Number(factor) * Math.sqrt(entry(variances, place))] as const,
    ),
  )
  const [weights, multiples] = [new Float64Array(variances.length), new Float64Array(rows.length)]
  for (const [place, weight] of start) weights[place] = weight * Math.sqrt(entry(variances, place))
  const products = (vector: Float64Array) =>
    Float64Array.from(rows, (row) =>
      row.reduce((sum, [place, factor]) => sum + factor * entry(vector, place), 0),
    )
  const diagonal = rows.map((row) => row.reduce((sum, [, factor]) => sum + factor ** 2, 0))
  const scaled = (vector: Float64Array) => vector.map((value, place) => value / entry(diagonal, place))
  let residual = products(weights).map((value) => -value)
  let direction = scaled(residual)
  let size = dot(residual, direction)
  const enough = size * 1e-24
  for (let iteration = 0; iteration < MOST_ITERATIONS && size > enough; iteration += 1) {
    const image = new Float64Array(variances.length)
    for (const [row, factors] of rows.entries())
      for (const [place, factor] of factors)
        image[place] = entry(image, place) + factor * entry(direction, row)
    const step = size / dot(image, image)
    for (const place of multiples.keys())
      multiples[place] = entry(multiples, place) + step * entry(direction, place)
    const change = products(image)
    residual = residual.map((value, place) => value - step * entry(change, place))
    const next = scaled(residual)
    const nextSize = dot(residual, next)
    direction = next.map((value, place) => value + (nextSize / size) * entry(direction, place))
    size = nextSize
  }
  return multiples
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, place) => sum + value * entry(b, place), 0)
}

function combined(
  identity: Identity,
  own: bigint,
  identities: readonly Identity[],
  multiples: Float64Array,
): Weights {
  const largest = multiples.reduce((most, each) => Math.max(most, Math.abs(each)), 0)
  const shift = largest === 0 ? 0 : Math.max(0, CORRECTION_BITS - Math.floor(Math.log2(largest)))
  const denominator = own << BigInt(shift)
  const numerators = new Map<number, bigint>()
  for (const [place, factor] of identity)
    if (place !== TARGET) numerators.set(place, -factor << BigInt(shift))
  for (const [row, factors] of identities.entries()) {
    const multiple = BigInt(Math.round(entry(multiples, row) * 2 ** shift)) * own
    if (multiple === 0n) continue
    for (const [place, factor] of factors)
      numerators.set(place, (numerators.get(place) ?? 0n) + multiple * factor)
  }
  return lowestTerms(denominator, numerators)
}

/** The same weights with a positive denominator, without a common divisor and without those that are 0. */
function lowestTerms(denominator: bigint, numerators: ReadonlyMap<number, bigint>): Weights {
  let divisor = denominator
  for (const numerator of numerators.values()) divisor = greatestCommonDivisor(divisor, numerator)
  if (denominator < 0n !== divisor < 0n) divisor = -divisor
  return {
    denominator: denominator / divisor,
    numerators: new Map(
      [...numerators].filter(([, value]) => value !== 0n).map(([place, value]) => [place, value / divisor]),
    ),
  }
}
