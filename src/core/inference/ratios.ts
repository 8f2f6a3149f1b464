import { rangeOf } from '../planner/additive/estimates/estimate-kinds.ts'
import { columnRange } from '../planner/additive/estimates/estimator.ts'
import type { Estimate, Moment } from '../planner/additive/shape.ts'

/*
 * Intervals of estimates that are not linear in their statistics, from intervals of these that hold together (union bound).
 * Each statistic may come from other noise in every answer, so that the sharper bounds of an estimate that was measured at once
 * do not apply.
 */

/** An interval that contains the number it bounds. */
export interface Interval {
  readonly lowest: number
  readonly highest: number
}

/** The interval of a statistic, in the unit that people read, in the estimated cell or in another one. */
export type IntervalAt = (statistic: number, cell?: number) => Interval

/** The statistics, with their cells if these are not the estimated one, that an estimate is made from. */
export interface Part {
  readonly statistic: number
  readonly cell?: number
}

/** The noisy parts of an estimate that is not linear in them; `undefined` for an estimate of another kind. */
export function partsOfRatio(estimate: Estimate): readonly Part[] | undefined {
  switch (estimate.kind) {
    case 'mean':
    case 'share':
      return [{ statistic: estimate.sum }, ...partOf(estimate.rows)]
    case 'variance':
    case 'standard-deviation':
      return [{ statistic: estimate.squares }, { statistic: estimate.sum }, ...partOf(estimate.rows)]
    case 'proportion-of-cells':
      return [
        { statistic: estimate.statistic, cell: 0 },
        { statistic: estimate.statistic, cell: 1 },
      ]
    default:
      return undefined
  }
}

function partOf(moment: Moment): readonly Part[] {
  return moment.kind === 'public' ? [] : [{ statistic: moment.statistic }]
}

/** The interval of an estimate; that of its declared range if its number of rows may be 0. */
export function intervalOfRatio(estimate: Estimate, at: IntervalAt): Interval {
  const { lower = Number.NEGATIVE_INFINITY, upper = Number.POSITIVE_INFINITY } = rangeOf(estimate)
  const { lowest, highest } = uncut(estimate, at)
  return { lowest: Math.max(lower, lowest), highest: Math.min(upper, highest) }
}

const EVERYTHING: Interval = { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }

function uncut(estimate: Estimate, at: IntervalAt): Interval {
  switch (estimate.kind) {
    case 'mean': {
      const middle = estimate.about === 'zero' ? 0 : columnRange(estimate.column).middle
      return moved(quotient(at(estimate.sum), rowsOf(estimate.rows, at)), middle)
    }
    case 'share':
      return moved(quotient(at(estimate.sum), rowsOf(estimate.rows, at)), 0.5)
    case 'variance':
      return variance(estimate, at)
    case 'standard-deviation': {
      const { lowest, highest } = variance(estimate, at)
      return { lowest: Math.sqrt(Math.max(0, lowest)), highest: Math.sqrt(Math.max(0, highest)) }
    }
    case 'proportion-of-cells': {
      const [others, holding] = [at(estimate.statistic, 0), at(estimate.statistic, 1)].map(notNegative) as [
        Interval,
        Interval,
      ]
      return { lowest: share(holding.lowest, others.highest), highest: share(holding.highest, others.lowest) }
    }
    default:
      throw new RangeError('the estimate is linear in its statistics, or has no interval')
  }
}

/** Squares / rows - mean^2, about the middle. */
function variance(estimate: Extract<Estimate, { squares: number }>, at: IntervalAt): Interval {
  const rows = rowsOf(estimate.rows, at)
  const squares = quotient(at(estimate.squares), rows)
  const mean = quotient(at(estimate.sum), rows)
  const ends = [mean.lowest ** 2, mean.highest ** 2]
  const least = mean.lowest <= 0 && mean.highest >= 0 ? 0 : Math.min(...ends)
  return { lowest: squares.lowest - Math.max(...ends), highest: squares.highest - least }
}

function rowsOf(rows: Moment, at: IntervalAt): Interval {
  if (rows.kind === 'public') return { lowest: rows.value, highest: rows.value }
  const { lowest, highest } = at(rows.statistic)
  return { lowest: lowest * rows.scale, highest: highest * rows.scale }
}

function quotient(sum: Interval, rows: Interval): Interval {
  if (rows.lowest < 1) return EVERYTHING
  const ends = [sum.lowest, sum.highest].flatMap((end) => [end / rows.lowest, end / rows.highest])
  return { lowest: Math.min(...ends), highest: Math.max(...ends) }
}

function moved({ lowest, highest }: Interval, by: number): Interval {
  return { lowest: lowest + by, highest: highest + by }
}

function notNegative({ lowest, highest }: Interval): Interval {
  return { lowest: Math.max(0, lowest), highest: Math.max(0, highest) }
}

function share(part: number, rest: number): number {
  return part + rest === 0 ? 0 : part / (part + rest)
}
