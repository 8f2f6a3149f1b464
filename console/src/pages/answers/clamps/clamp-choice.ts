import { type CountedBand, cutBy } from '../../../../../src/core/planner/kinds/bounds/clamping-error.ts'
import type { Schemas } from '../../../api/schemas.ts'
import type { AnswerPart } from '../answer-text.ts'
import type { AskedQuestion, Clamp } from '../question-text.ts'

type Clamps = Schemas['Clamps']
type Errors = Pick<Clamps['candidates'][number], 'shareBeyond' | 'sum' | 'mean'>

/** The paid histogram of a `bounds` question, over which a clamp is chosen. */
export interface Histogram {
  /** The edges of the bands, as the answer shows them. */
  readonly edges: readonly Clamp['lower'][]
  readonly bands: readonly CountedBand[]
  readonly clamps: Clamps
  /** True if one person is in one of two neighbouring datasets only. */
  readonly addsOrRemoves: boolean
}

const MILLISECONDS = { day: 86_400_000, second: 1_000 }

/** Returns a value in the unit in which errors are stated: a number, the days of a date or the seconds of an instant. */
function unitsOfValue(value: Clamp['lower']): number {
  if (typeof value === 'number') return value
  return Date.parse(value) / (value.includes('T') ? MILLISECONDS.second : MILLISECONDS.day)
}

/** Returns the histogram of an answer; undefined for an answer without clamps to choose from. */
export function histogramOf({ result, accuracy, noise }: AnswerPart): Histogram | undefined {
  if (!('cells' in result) || result.clamps === undefined || result.clamps.candidates.length === 0)
    return undefined
  const bins = result.cells.map(({ key, value }) => ({ bin: Object.values(key)[0], value }))
  const counted = bins.flatMap(({ bin, value }) =>
    typeof bin === 'object' && bin !== null ? [{ ...bin, value }] : [],
  )
  const [first] = counted
  if (first === undefined) return undefined
  const inUnits = counted.map(({ lower, upper, value }) => ({
    lower: unitsOfValue(lower),
    upper: unitsOfValue(upper),
    value,
  }))
  // The narrowest band is one step wide, unless the range is far from 0, where a step does not count.
  const step = Math.min(...inUnits.map(({ lower, upper }) => upper - lower))
  const seenAbove = accuracy.rowsToAppear ?? 0
  return {
    edges: [first.lower, ...counted.map(({ upper }) => upper)],
    bands: inUnits.map(({ lower, upper, value }) => ({
      lower,
      upper,
      middle: (lower + Math.max(lower, upper - step)) / 2,
      rows: value > seenAbove ? value : 0,
    })),
    clamps: result.clamps,
    addsOrRemoves: noise.neighbours === 'add-remove',
  }
}

/** Returns the places of the ends of the recommended clamp among the edges. */
export function recommendedEnds({ edges, clamps }: Histogram): readonly [lower: number, upper: number] {
  const { sum, mean = sum } = clamps.recommended
  const placeOf = (end: Clamp['lower'] | undefined, otherwise: number) =>
    end !== undefined && edges.includes(end) ? edges.indexOf(end) : otherwise
  return [placeOf((sum ?? mean)?.lower, 0), placeOf((sum ?? mean)?.upper, edges.length - 1)]
}

/** Returns the errors of a clamp: those that the answer states, or by the same rules for one that it does not list. */
export function errorsOf(histogram: Histogram, { lower, upper }: Clamp): Errors {
  const { candidates } = histogram.clamps
  const listed = candidates.find((each) => each.lower === lower && each.upper === upper)
  if (listed !== undefined) return listed
  const [least, most] = [unitsOfValue(lower), unitsOfValue(upper)]
  const { amount, shareBeyond, rows } = cutBy(histogram.bands, least, most)
  // The noise of a sum grows with the distance that one person moves it, and that of a mean with the range.
  const reachOf = (from: number, to: number) =>
    histogram.addsOrRemoves ? Math.max(Math.abs(from), Math.abs(to)) : Math.max(0, to) - Math.min(0, from)
  const [widest] = candidates.toSorted((one, other) => other.mean.noise - one.mean.noise)
  const ends = widest && [unitsOfValue(widest.lower), unitsOfValue(widest.upper)]
  const [from = 0, to = 1] = ends ?? []
  const total = (noise: number, bias: number) => ({ noise, bias, total: noise + bias })
  const meanNoise = ((widest?.mean.noise ?? 0) * (most - least)) / (to - from)
  return {
    shareBeyond,
    mean: total(meanNoise, rows === 0 ? 0 : amount / rows),
    ...(widest?.sum && {
      sum: total((widest.sum.noise * reachOf(least, most)) / reachOf(from, to), amount),
    }),
  }
}

/** Returns the question of a kind that has a clamp, about the same rows. */
export function clampedQuestion(
  kind: 'sum' | 'mean',
  { column, where, contribution }: AskedQuestion,
  clamp: Clamp,
  { clamps }: Histogram,
): object {
  const rows = { ...(where !== undefined && { where }), ...(contribution !== undefined && { contribution }) }
  return { kind, column, clamp, ...rows, epsilon: clamps.nextEpsilon }
}
