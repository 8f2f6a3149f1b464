import { type Period, parsePeriod, startOf } from '../../core/planner/language/calendar.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import { must } from '../../privacy/must.ts'

/*
 * Series of answers over time, or over the numbers of a column, for plots and for the charts of the console, which imports this file.
 */

/** Largest number of lines; further ones could not be told apart. */
export const MOST_LINES = 6

/** Estimates of one statistic by consecutive periods, as lines over time; cumulative counts also over the numbers of a column. */
export interface TimeSeries {
  /** Name of the statistic, such as `count` or `mean_age`. */
  readonly name: string
  /** Column whose numbers the axis has; absent for time. */
  readonly over?: string
  /** Range of the axis: in milliseconds since 1970, or in the numbers of the column. */
  readonly from: number
  readonly to: number
  /** At most {@link MOST_LINES}. */
  readonly lines: readonly SeriesLine[]
  /** Number of lines that are left out, those with the smallest values. */
  readonly omitted: number
}

export interface SeriesLine {
  /** Labels of the other columns that form the key; empty if there are none. */
  readonly labels: readonly CellLabel[]
  readonly points: readonly SeriesPoint[]
}

export interface SeriesPoint {
  /** Name of the period, such as `2024-Q1`, or of the edge up to which rows are counted. */
  readonly period: string
  /** Middle of the period within the declared range of its column, or the edge. */
  readonly at: number
  readonly value: number
  /** Where the true value lies, with the confidence of the answer; absent if that is not known. */
  readonly around?: Range
}

type Range = readonly [lower: number, upper: number]
type Key = Readonly<Record<string, CellLabel>>

/** Parts of an answer that series are made from. */
export interface SeriesAnswer {
  readonly result: object
  readonly accuracy: { readonly halfWidth: number | null }
  /** The answer before its post-processing. */
  readonly measured?: Pick<SeriesAnswer, 'result' | 'accuracy'> | undefined
}

interface Cells {
  readonly cells: readonly { readonly key: Key; readonly value: number }[]
}

interface Groups {
  readonly groups: readonly { readonly key: Key; readonly values: Readonly<Record<string, GroupValue>> }[]
}

interface GroupValue {
  readonly value: number | string
  readonly interval?: { readonly lower: number | string; readonly upper: number | string } | undefined
}

/** Facts of a declared column, in the form of the registration. */
export interface SeriesColumn {
  readonly name: string
  readonly type: string
  readonly lower?: number | string | undefined
  readonly upper?: number | string | undefined
}

/**
 * Returns the time series of an answer: one for each statistic, if a column is divided into two or more consecutive periods.
 * Periods end where the declared range of their column ends, if it is known.
 */
export function seriesOf(
  answer: SeriesAnswer,
  question: Readonly<Record<string, unknown>>,
  columns: readonly SeriesColumn[],
): readonly TimeSeries[] {
  const [time] = [question.column, question.columns, question.keys].flat().flatMap(divisionOf)
  if (time === undefined) return question.kind === 'cumulativeCounts' ? curvesOf(answer, question) : []
  const range = timesOf(columns.find(({ name }) => name === time.column))
  return statisticsOf(answer, question).flatMap(({ name, entries }) =>
    chartOf(name, entries, { ...time, range }),
  )
}

/** Returns cumulative counts as a curve through the edges up to which they count: numbers, dates or instants. */
function curvesOf(answer: SeriesAnswer, question: Readonly<Record<string, unknown>>): readonly TimeSeries[] {
  return statisticsOf(answer, question).flatMap(({ name, entries }) => {
    const points = entries.flatMap(({ key, ...point }) => {
      const [label] = Object.values(key)
      if (typeof label !== 'object' || label === null) return []
      const edge = label.upper
      return [{ period: String(edge), at: typeof edge === 'number' ? edge : Date.parse(edge), ...point }]
    })
    const [first, last] = [points[0], points.at(-1)]
    if (first === undefined || last === undefined || first === last) return []
    const [column = ''] = Object.keys(entries[0]?.key ?? {})
    const isOfTime = Number.isNaN(Number(first.period))
    return [
      {
        name,
        ...(isOfTime ? {} : { over: column }),
        from: first.at,
        to: last.at,
        lines: [{ labels: [], points }],
        omitted: 0,
      },
    ]
  })
}

interface Division {
  readonly column: string
  readonly by: Period
}

const PERIODS: readonly Period[] = ['year', 'quarter', 'month', 'week', 'day', 'hour']

/** A column that is divided into consecutive periods, not into those of a week or a year that recur. */
function divisionOf(grouping: unknown): readonly Division[] {
  const { column, by } = (grouping ?? {}) as Readonly<Record<string, unknown>>
  const period = PERIODS.find((each) => each === by)
  return period === undefined ? [] : [{ column: String(column), by: period }]
}

const DAY_MS = 86_400_000
const ANY: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]

/** Returns the declared range of a column of dates or timestamps, to the end of its last day or instant. */
function timesOf({ type, lower, upper }: Partial<SeriesColumn> = {}): Range {
  if (typeof lower !== 'string' || typeof upper !== 'string') return ANY
  return [Date.parse(lower), Date.parse(upper) + (type === 'date' ? DAY_MS : 0)]
}

/** Estimate in one cell or group. */
interface Entry extends Pick<SeriesPoint, 'value' | 'around'> {
  readonly key: Key
}

interface Statistic {
  readonly name: string
  readonly entries: readonly Entry[]
}

/** Returns the numbers of an answer by statistic. Bands are those of the values as they were measured. */
function statisticsOf(
  { result, accuracy, measured }: SeriesAnswer,
  question: Readonly<Record<string, unknown>>,
): readonly Statistic[] {
  if ('cells' in result) {
    const before = (measured?.result ?? result) as Cells
    const { halfWidth } = measured?.accuracy ?? accuracy
    const entries = (result as Cells).cells.map(({ key, value }, place): Entry => {
      if (halfWidth === null) return { key, value }
      const middle = before.cells[place]?.value ?? value
      // A count is never negative.
      return { key, value, around: [Math.max(0, middle - halfWidth), Math.max(0, middle + halfWidth)] }
    })
    return [{ name: `count of ${question.of ?? 'rows'}`, entries }]
  }
  if (!('groups' in result)) return []
  const { groups } = result as Groups
  return Object.keys(groups[0]?.values ?? {}).map((name) => {
    const entries = groups.flatMap(({ key, values }): readonly Entry[] => {
      const { value, interval: { lower, upper } = {} } = values[name] ?? {}
      if (typeof value !== 'number') return []
      const isBand = typeof lower === 'number' && typeof upper === 'number'
      return [{ key, value, ...(isBand && { around: [lower, upper] }) }]
    })
    return { name, entries }
  })
}

function chartOf(
  name: string,
  entries: readonly Entry[],
  { column, by, range }: Division & { readonly range: Range },
): readonly TimeSeries[] {
  const placed = entries.flatMap(({ key: { [column]: label, ...others }, ...point }) => {
    // A cumulative count is that at the end of its span.
    const period = typeof label === 'object' && label?.upperIncluded ? label.upper : label
    if (typeof period !== 'string') return []
    const number = must(parsePeriod(by, period), 'a cell has the name of its period')
    const [from, to] = [
      Math.max(1000 * Number(startOf(by, number)), range[0]),
      Math.min(1000 * Number(startOf(by, number + 1)), range[1]),
    ]
    return [{ labels: Object.values(others), from, to, period, at: (from + to) / 2, ...point }]
  })
  const lines = [...Map.groupBy(placed, ({ labels }) => JSON.stringify(labels)).values()]
  if (lines.every((points) => points.length < 2)) return []
  const sizeOf = (points: typeof placed) => points.reduce((sum, { value }) => sum + Math.abs(value), 0)
  const kept = new Set(lines.toSorted((one, other) => sizeOf(other) - sizeOf(one)).slice(0, MOST_LINES))
  return [
    {
      name,
      from: Math.min(...placed.map(({ from }) => from)),
      to: Math.max(...placed.map(({ to }) => to)),
      lines: lines
        .filter((points) => kept.has(points))
        .map((points) => ({
          labels: points[0]?.labels ?? [],
          points: points.map(({ labels: _, from: __, to: ___, ...point }) => point),
        })),
      omitted: lines.length - kept.size,
    },
  ]
}
