import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import { divideRoundingDown, divideRoundingUp } from '../../../privacy/rational.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { TemporalColumn } from '../../dataset/dataset.ts'
import { ONE_NANO, parseGridValue } from '../../dataset/grid-value.ts'
import { SECONDS_PER_DAY } from '../../dataset/iso-time.ts'
import type { GroupKey } from './aggregate.ts'
import { cycleOf, type Period, parsePeriod, periodAt, periodName, startOf } from './calendar.ts'

/** A column divided by the calendar. */
export type CalendarColumn = Extract<GroupingColumn, { by: unknown }>

/**
 * Largest number of periods: of equal length in steps, which engines divide by, and of others, among which they search.
 */
const MOST_EVEN_PERIODS = 100_000
const MOST_UNEVEN_PERIODS = 2_000

/** The periods into which a column is divided, by their numbers. */
export interface Periods {
  readonly period: Period
  readonly first: number
  readonly last: number
  /** The periods that contain the column's bounds. */
  readonly lowest: number
  readonly highest: number
}

/**
 * Returns the periods of a column that is divided by the calendar: from the one that contains `from` (default: the lower
 * bound) through the one that contains `to` (default: the upper bound).
 * @throws Refusal `query-does-not-fit` for periods shorter than those of the column, and for ends that are no dates, out of
 * the bounds or reversed.
 */
export function periodsOf({ by, from, to }: CalendarColumn, column: TemporalColumn, field: string): Periods {
  const period = cycleOf(by)?.period ?? (by as Period)
  const refuse = (part: string, rule: string) => refuseQuery(`${field}.${part}`, rule)
  if (period === 'hour' && column.type === 'date')
    throw refuse('by', `must not be "hour" for ${column.name}, which is a column of dates`)
  const periodOf = (index: bigint) => periodAt(period, secondsOf(column, index * column.stepNano))
  const [lowest, highest] = [periodOf(column.lowerIndex), periodOf(column.upperIndex)]
  const end = (name: 'from' | 'to', text: string | undefined, bound: number): number => {
    if (text === undefined) return bound
    const number = parsePeriod(period, text) ?? periodOfValue(period, column, text)
    if (number === undefined) {
      const example = periodName(period, highest)
      throw refuse(name, `must be an existing date or time in ISO 8601, or name a cell, such as "${example}"`)
    }
    if (number >= lowest && number <= highest) return number
    const range = `"${periodName(period, lowest)}" to "${periodName(period, highest)}"`
    throw refuse(name, `must lie within the bounds of ${column.name}, ${range}`)
  }
  const first = end('from', from, lowest)
  const last = end('to', to, highest)
  if (last < first) throw refuse('to', 'must not be before from')
  return { period, first, last, lowest, highest }
}

/**
 * Divides a column by the calendar into bins, and names their cells. Every cell is a whole period: a stored value is in the
 * cell that contains its own instant, whether or not the column's grid has a point at the edge of the cell. See decision 29.
 *
 * @throws Refusal `query-does-not-fit` as {@link periodsOf}, and for periods shorter than a step of the column or too many
 * of them.
 */
export function planCalendarCells(
  division: CalendarColumn,
  column: TemporalColumn,
  field: string,
): {
  readonly bins: Pick<Extract<GroupKey, { kind: 'bins' }>, 'edges' | 'cycle'>
  readonly names: readonly string[]
} {
  const cycle = cycleOf(division.by)
  const refuse = (part: string, rule: string) => refuseQuery(`${field}.${part}`, rule)
  const { period, first, last } = periodsOf(division, column, field)
  const count = last - first + 1
  const requireAtMost = (limit: number) => {
    if (count <= limit) return
    const rule = `spans ${count} periods of one ${period}; at most ${limit} are supported; give from and to`
    throw refuse('by', rule)
  }
  requireAtMost(MOST_EVEN_PERIODS)
  const edges = Array.from({ length: count + 1 }, (_, place) =>
    divideRoundingUp(nanoOf(column, startOf(period, first + place)), column.stepNano),
  )
  const widths = new Set(edges.slice(1).map((edge, place) => edge - (edges[place] ?? edge)))
  if (widths.has(0n)) throw refuse('by', `must not be shorter than a step of ${column.name}`)
  if (widths.size > 1) requireAtMost(MOST_UNEVEN_PERIODS)
  if (cycle === undefined) {
    const names = Array.from({ length: count }, (_, place) => periodName(period, first + place))
    return { bins: { edges }, names }
  }
  const { names, positionOf } = cycle
  return { bins: { edges, cycle: { length: names.length, first: positionOf(first) } }, names }
}

function periodOfValue(period: Period, column: TemporalColumn, text: string): number | undefined {
  const parsed = parseGridValue(column.type, text)
  return 'nano' in parsed ? periodAt(period, secondsOf(column, parsed.nano)) : undefined
}

/** The instant, in seconds and rounded down, of a value in 1e-9 of the column's unit. */
function secondsOf({ type }: TemporalColumn, nano: bigint): bigint {
  const units = divideRoundingDown(nano, ONE_NANO)
  return type === 'date' ? units * SECONDS_PER_DAY : units
}

/** The value, in 1e-9 of the column's unit, of the first instant of a day or an hour. */
function nanoOf({ type }: TemporalColumn, seconds: bigint): bigint {
  return (type === 'date' ? seconds / SECONDS_PER_DAY : seconds) * ONE_NANO
}
