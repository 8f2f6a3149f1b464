import { entry, must } from '../../privacy/must.ts'
import { greatestCommonDivisor } from '../../privacy/rational.ts'
import { type Identity, identitiesOf, type Steps, TARGET } from './identities.ts'
import { type LinearForm, placesByUnknown } from './linear-forms.ts'

/** Exact weights of measured integers, in grid units: the estimate is the sum of weight * integer / denominator. */
export interface Weights {
  readonly denominator: bigint
  readonly numerators: ReadonlyMap<number, bigint>
}

/** Largest share by which the rounding of the multiples makes a variance larger. */
const ROUNDING_SHARE = 2 ** -30
/** More iterations than a solution needs, up to rounding, for most systems. A solution that is not exact is unbiased too. */
const MOST_ITERATIONS = 200
/** Products that the iterations for all forms of a question take at most. */
const MOST_PRODUCTS = 100_000_000
/** Most terms of all estimates of a question that least squares is used for. */
const MOST_TERMS = 100_000
/** A change of the variance by a smaller share than this is none. */
const CONVERGED = 1e-16

/** What is measured: forms and their variances, in squared grid units. */
export interface Measurements {
  readonly forms: readonly LinearForm[]
  readonly variances: readonly number[]
  /** The number of terms that each one stands for. */
  readonly sizes: readonly number[]
}

/** Finds weights of a form; `undefined` if it does not follow. */
type WeightsOf = (form: LinearForm) => Weights | undefined

/**
 * Prepares the weights of the best linear unbiased estimates of forms from measurements of others (Gauss-Markov theorem): any
 * exact identity of a form, to which multiples of the identities between the measurements are added that make the variance
 * least. The multiples are rounded, and the identity stays exact. Where the estimates would have too many terms, they are the best
 * ones from the measurements about nothing but a single form. A form that does not follow from these gets an identity to which
 * nothing is added: it is unbiased too, from the more precise measurements.
 * @param wanted the forms that weights will be asked for; the work for all of them is bounded
 * @returns a function of a form; its result is `undefined` if the form does not follow from the measurements
 */
export function bestWeights(
  measurements: Measurements,
  wanted: readonly LinearForm[],
  steps: Steps,
): WeightsOf {
  const systems = systemsOf(measurements)
  if (isSmall(systems, wanted)) return weightsFrom(systems, wanted.length, steps)
  const within = systemsOf(measurements, placesWithin(measurements.forms, wanted))
  const best = isSmall(within, wanted) ? weightsFrom(within, wanted.length, steps) : undefined
  const any = weightsFrom(systems, 0, steps)
  return (form) => best?.(form) ?? any(form)
}

/** The places of forms whose unknowns are all in one of the wanted forms. */
function placesWithin(forms: readonly LinearForm[], wanted: readonly LinearForm[]): readonly number[] {
  const wantedBy = placesByUnknown(wanted)
  return [...forms.keys()].filter((place) => {
    const unknowns = [...entry(forms, place).keys()]
    const [first] = unknowns
    const candidates = first === undefined ? undefined : wantedBy.get(first)
    const hasAll = (form: LinearForm) => unknowns.every((unknown) => form.has(unknown))
    return candidates?.some((candidate) => hasAll(entry(wanted, candidate))) === true
  })
}

/** Measurements, divided into systems without common unknowns. */
interface Systems extends Measurements, Components {
  /** The number of terms of each component. */
  readonly termsIn: readonly number[]
}

/** @param places of the measurements that take part; default: all */
function systemsOf(
  { forms, variances, sizes }: Measurements,
  places: readonly number[] = [...forms.keys()],
): Systems {
  const { components, componentOf } = componentsOf(forms, places)
  const termsIn = components.map((places) => places.reduce((sum, place) => sum + entry(sizes, place), 0))
  return { forms, variances, sizes, components, componentOf, termsIn }
}

/** True if all estimates of the wanted forms together have few terms. */
function isSmall({ componentOf, termsIn }: Systems, wanted: readonly LinearForm[]): boolean {
  const sizeOf = (form: LinearForm) =>
    [...partsOf(form, componentOf).keys()].reduce(
      (sum, each) => sum + (each === NOT_MEASURED ? 0 : entry(termsIn, each)),
      0,
    )
  return wanted.reduce((sum, form) => sum + sizeOf(form), 0) <= MOST_TERMS
}

/** @param number of forms for which variances are made least; 0 for none */
function weightsFrom(
  { forms, variances, components, componentOf }: Systems,
  number: number,
  steps: Steps,
): WeightsOf {
  const systems = components.map((places) => {
    const own = places.map((place) => entry(variances, place))
    const identities = identitiesOf(
      places.map((place) => entry(forms, place)),
      own,
      steps,
    )
    const between = number === 0 ? [] : identities.between
    return { places, identities, between, multiplesFor: leastSquares(between, own, number) }
  })
  return (form) => {
    let denominator = 1n
    let numerators = new Map<number, bigint>()
    for (const [component, part] of partsOf(form, componentOf)) {
      const system = systems[component]
      const identity = system?.identities.of(part)
      const own = identity?.get(TARGET)
      if (system === undefined || identity === undefined || own === undefined) return undefined
      const start = new Map<number, number>()
      for (const [place, factor] of identity)
        if (place !== TARGET) start.set(place, -Number(factor) / Number(own))
      const found = combined(identity, own, system.between, system.multiplesFor(start))
      const divisor = greatestCommonDivisor(denominator, found.denominator)
      const [mine, others] = [found.denominator / divisor, denominator / divisor]
      if (mine !== 1n) numerators = new Map([...numerators].map(([place, value]) => [place, value * mine]))
      for (const [place, value] of found.numerators)
        numerators.set(entry(system.places, place), value * others)
      denominator *= mine
    }
    return { denominator, numerators }
  }
}

/** Places of forms that are linked by common unknowns, and the component of each unknown. */
interface Components {
  readonly components: readonly (readonly number[])[]
  readonly componentOf: ReadonlyMap<number, number>
}

/** Divides forms into components without common unknowns, each of which is a system of its own. */
function componentsOf(forms: readonly LinearForm[], among: readonly number[]): Components {
  const byUnknown = placesByUnknown(forms, among)
  const componentOf = new Map<number, number>()
  const components: number[][] = []
  const reached = new Set<number>()
  for (const first of among) {
    if (reached.has(first) || entry(forms, first).size === 0) continue
    reached.add(first)
    const component = [first]
    // The list grows while it is read.
    for (const place of component)
      for (const unknown of entry(forms, place).keys()) {
        if (componentOf.has(unknown)) continue
        componentOf.set(unknown, components.length)
        for (const other of must(byUnknown.get(unknown), 'the forms of an unknown')) {
          if (reached.has(other)) continue
          reached.add(other)
          component.push(other)
        }
      }
    components.push(component.sort((a, b) => a - b))
  }
  return { components, componentOf }
}

/** The place of the part of a form whose unknowns no measurement has. */
const NOT_MEASURED = -1

/** The parts of a form by component, or by {@link NOT_MEASURED}. */
function partsOf(
  form: LinearForm,
  componentOf: ReadonlyMap<number, number>,
): ReadonlyMap<number, ReadonlyMap<number, bigint>> {
  const parts = new Map<number, Map<number, bigint>>()
  for (const [unknown, coefficient] of form) {
    const component = componentOf.get(unknown) ?? NOT_MEASURED
    const part = parts.get(component)
    if (part === undefined) parts.set(component, new Map([[unknown, coefficient]]))
    else part.set(unknown, coefficient)
  }
  return parts
}

/** Multiples of identities, and the bits after the point to which they are rounded. */
interface Multiples {
  readonly multiples: Float64Array
  readonly bits: number
}

/**
 * Prepares the multiples of identities that minimise the variance of their sum with a start, by conjugate gradients with the
 * diagonal as a preconditioner. Weights are in standard deviations.
 */
function leastSquares(
  identities: readonly Identity[],
  variances: readonly number[],
  number: number,
): (start: ReadonlyMap<number, number>) => Multiples {
  const deviations = variances.map(Math.sqrt)
  const rows = identities.map((identity) => ({
    places: Int32Array.from(identity.keys()),
    factors: Float64Array.from(identity, ([place, factor]) => Number(factor) * entry(deviations, place)),
  }))
  const added = addedByRounding(identities, variances)
  if (rows.length === 0) return () => ({ multiples: new Float64Array(), bits: 0 })
  const products = (weights: Float64Array) =>
    Float64Array.from(rows, ({ places, factors }) =>
      factors.reduce((sum, factor, each) => sum + factor * entry(weights, entry(places, each)), 0),
    )
  const addTo = (weights: Float64Array, multiples: Float64Array) => {
    for (const [row, { places, factors }] of rows.entries()) {
      const multiple = entry(multiples, row)
      if (multiple === 0) continue
      for (const [each, factor] of factors.entries()) {
        const place = entry(places, each)
        weights[place] = entry(weights, place) + multiple * factor
      }
    }
    return weights
  }
  const diagonal = rows.map(({ factors }) => dot(factors, factors))
  const scaled = (vector: Float64Array) => vector.map((value, row) => value / entry(diagonal, row))
  const size = rows.reduce((sum, { factors }) => sum + factors.length, 0)
  const most = Math.min(MOST_ITERATIONS, Math.ceil(MOST_PRODUCTS / (2 * size * number)))
  return (start) => {
    const multiples = new Float64Array(rows.length)
    const weightsNow = () => {
      const weights = new Float64Array(variances.length)
      for (const [place, weight] of start) weights[place] = weight * entry(deviations, place)
      return addTo(weights, multiples)
    }
    let weights = weightsNow()
    // Residuals drift in the course of the iterations: each round begins with exact ones.
    for (let left = most; left > 0; weights = weightsNow()) {
      let residual = products(weights).map((value) => -value)
      let direction = scaled(residual)
      let length = dot(residual, direction)
      if (length <= CONVERGED * dot(weights, weights)) break
      const enough = CONVERGED * length
      for (; left > 0 && length > enough; left -= 1) {
        const image = addTo(new Float64Array(variances.length), direction)
        const step = length / dot(image, image)
        for (const [row, value] of direction.entries()) multiples[row] = entry(multiples, row) + step * value
        const change = products(image)
        residual = residual.map((value, row) => value - step * entry(change, row))
        const next = scaled(residual)
        const nextLength = dot(residual, next)
        direction = next.map((value, row) => value + (nextLength / length) * entry(direction, row))
        length = nextLength
      }
    }
    const share = added / (ROUNDING_SHARE * dot(weights, weights))
    return { multiples, bits: added === 0 ? 0 : Math.max(0, Math.ceil(Math.log2(share) / 2)) }
  }
}

/** The most that half a unit of every multiple adds to the least variance, which grows with the square of a change. */
function addedByRounding(identities: readonly Identity[], variances: readonly number[]): number {
  const changes = new Float64Array(variances.length)
  for (const identity of identities)
    for (const [place, factor] of identity)
      changes[place] = entry(changes, place) + Math.abs(Number(factor)) / 2
  return changes.reduce((sum, change, place) => sum + change ** 2 * entry(variances, place), 0)
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, place) => sum + value * entry(b, place), 0)
}

function combined(
  identity: Identity,
  own: bigint,
  identities: readonly Identity[],
  { multiples, bits }: Multiples,
): Weights {
  const denominator = own << BigInt(bits)
  const numerators = new Map<number, bigint>()
  for (const [place, factor] of identity) if (place !== TARGET) numerators.set(place, -factor << BigInt(bits))
  for (const [row, factors] of identities.entries()) {
    const multiple = BigInt(Math.round(entry(multiples, row) * 2 ** bits)) * own
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
