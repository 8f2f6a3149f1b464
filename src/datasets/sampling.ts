import seedrandom from 'seedrandom'
import { entry } from '../privacy/must.ts'

/* Sampling of made-up rows: the same seed gives the same rows on every machine. Never used for privacy noise. */

/** The probability of each outcome. */
export type Weights = Readonly<Record<string, number>>

/** Uniform on [0, 1). */
export type Uniform = () => number

/** Uniform numbers that follow from a seed. */
export function seededUniform(seed: string): Uniform {
  return seedrandom(seed)
}

/** Chooses an outcome with its probability. */
export function choose(uniform: Uniform, weights: Weights): string {
  const outcomes = Object.entries(weights)
  let remaining = uniform()
  for (const [outcome, weight] of outcomes) {
    if (remaining < weight) return outcome
    remaining -= weight
  }
  // Rounding can leave a remainder, which goes to the last outcome.
  return entry(outcomes, outcomes.length - 1)[0]
}

/**
 * Sums of the shares of places up to each place, which end at 1. Sums and quotients of doubles are the same on every
 * machine.
 * @param weightOf the weight of a place, counted from 1
 */
export function cumulativeShares(places: number, weightOf: (place: number) => number): Float64Array {
  const sums = new Float64Array(places)
  let sum = 0
  for (let place = 0; place < places; place += 1) {
    sum += weightOf(place + 1)
    sums[place] = sum
  }
  return sums.map((each) => each / sum)
}

/** Finds the first place whose sum is above a number, by binary search. */
export function placeOf(sums: Float64Array, number: number): number {
  let [first, last] = [0, sums.length - 1]
  while (first < last) {
    const middle = (first + last) >> 1
    if (entry(sums, middle) > number) last = middle
    else first = middle + 1
  }
  return first
}

/** Samples by Marsaglia's polar method, whose only transcendental function is the logarithm. */
export function standardNormal(uniform: Uniform): number {
  for (;;) {
    const x = 2 * uniform() - 1
    const y = 2 * uniform() - 1
    const square = x * x + y * y
    if (square > 0 && square < 1) return x * Math.sqrt((-2 * Math.log(square)) / square)
  }
}

/** Samples a standard normal number that is not too far below or above 0, by rejection. */
export function truncatedNormal(
  uniform: Uniform,
  {
    deviationsBelow,
    deviationsAbove,
  }: { readonly deviationsBelow: number; readonly deviationsAbove: number },
): number {
  for (;;) {
    const z = standardNormal(uniform)
    if (z >= -deviationsBelow && z <= deviationsAbove) return z
  }
}

/** Number of rows that are generated before the process yields to other work. */
const ROWS_PER_CHUNK = 1_000

/** Rows as a CSV file, in chunks, with a header. No field may need quotes. */
export function* csvInChunks<Row>(
  columns: readonly { readonly name: string }[],
  rows: Iterable<Row>,
  fieldsOf: (row: Row) => readonly (string | number | boolean)[],
): Generator<string> {
  let lines = [columns.map(({ name }) => name).join(',')]
  for (const row of rows) {
    lines.push(fieldsOf(row).join(','))
    if (lines.length < ROWS_PER_CHUNK) continue
    yield `${lines.join('\n')}\n`
    lines = []
  }
  if (lines.length > 0) yield `${lines.join('\n')}\n`
}
