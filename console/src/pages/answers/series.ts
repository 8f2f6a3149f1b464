import type { Schemas } from '../../api/schemas.ts'

import type { CurveBand, CurveLine, Scale } from '../../components/charts/scale.ts'
import { isRecord } from '../../format/json.ts'
import { type AnswerPart, labelText } from './answer-text.ts'
import type { AskedQuestion } from './question-text.ts'

/** Estimates of one statistic by consecutive periods, as lines over time with their half-widths as bands. */
export interface TimeSeries {
  readonly name: string
  /** Range of the time axis in milliseconds since 1970. */
  readonly fromMs: number
  readonly toMs: number
  readonly y: Scale
  readonly lines: readonly CurveLine[]
  readonly bands: readonly CurveBand[]
  /** Number of lines that are not drawn, those with the smallest values. */
  readonly omitted: number
}

/** Colours of lines, in their order. Further lines could not be told apart. */
export const SERIES_LOOKS = ['accent', 'cost', 'third', 'fourth', 'fifth', 'sixth'] as const

type Column = Schemas['Dataset']['columns'][number]
type Key = Schemas['TableResult']['cells'][number]['key']

/** Estimate in one cell or group. */
interface Entry {
  readonly key: Key
  readonly value: number
  /** Values within the half-width; absent if that is unknown or of another unit. */
  readonly around?: readonly [lower: number, upper: number]
}

/**
 * Returns the time series of an answer: one for each statistic, if a column is divided into two or more consecutive periods.
 * Periods end where the declared range of their column ends, and bands where that of the statistic does.
 */
export function seriesOf(
  part: AnswerPart,
  question: AskedQuestion,
  columns: readonly Column[],
): readonly TimeSeries[] {
  const [time] = [question.column, question.columns, question.keys].flat().flatMap(timeOf)
  const column = columns.find(({ name }) => name === time?.column)
  if (time === undefined || column === undefined) return []
  return statisticsOf(part, question).flatMap(({ name, entries }) =>
    chartOf(name, entries, { ...time, range: rangeOf(column) }),
  )
}

interface Division {
  readonly column: string
  readonly by: Period
}

/** A column that is divided into consecutive periods, not into those of a week or a year that recur. */
function timeOf(grouping: unknown): readonly Division[] {
  if (!isRecord(grouping)) return []
  const by = PERIODS.find((each) => each === grouping.by)
  return by === undefined ? [] : [{ column: String(grouping.column), by }]
}

const PERIODS = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const
type Period = (typeof PERIODS)[number]

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Returns the declared range of a column of dates or timestamps, to the end of its last day or instant. */
function rangeOf(column: Column): readonly [fromMs: number, toMs: number] {
  if (column.type !== 'date' && column.type !== 'timestamp')
    return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  return [Date.parse(column.lower), Date.parse(column.upper) + (column.type === 'date' ? DAY_MS : 0)]
}

/** Returns the range of a period by its name, such as `2024-Q1` or `2024-W09`, in milliseconds since 1970. */
function periodOf(by: Period, name: string): readonly [startMs: number, endMs: number] {
  const part = Number(name.slice(6))
  const afterMonths = (startMs: number, months: number) =>
    new Date(startMs).setUTCMonth(new Date(startMs).getUTCMonth() + months)
  switch (by) {
    case 'year':
    case 'month': {
      const startMs = Date.parse(name)
      return [startMs, afterMonths(startMs, by === 'year' ? 12 : 1)]
    }
    case 'quarter': {
      const startMs = afterMonths(Date.parse(name.slice(0, 4)), 3 * (part - 1))
      return [startMs, afterMonths(startMs, 3)]
    }
    case 'week': {
      // The first week of a year contains its fourth of January.
      const fourth = Date.parse(`${name.slice(0, 4)}-01-04`)
      const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS
      return [monday + (part - 1) * 7 * DAY_MS, monday + part * 7 * DAY_MS]
    }
    case 'day':
      return [Date.parse(name), Date.parse(name) + DAY_MS]
    case 'hour': {
      const startMs = Date.parse(name.replace('Z', ':00Z'))
      return [startMs, startMs + HOUR_MS]
    }
  }
}

interface Statistic {
  readonly name: string
  readonly entries: readonly Entry[]
}

/** Returns the numbers of an answer by statistic. Bands are those of the values as they were measured. */
function statisticsOf(
  { result, accuracy, measured }: AnswerPart,
  question: AskedQuestion,
): readonly Statistic[] {
  const before = measured?.result ?? result
  if ('cells' in result && 'cells' in before) {
    const halfWidth = (measured?.accuracy ?? accuracy).halfWidth ?? 0
    const entries = result.cells.map(({ key, value }, place): Entry => {
      const middle = before.cells[place]?.value ?? value
      // A count is never negative.
      return { key, value, around: [Math.max(0, middle - halfWidth), Math.max(0, middle + halfWidth)] }
    })
    return [{ name: `count of ${question.of ?? 'rows'}`, entries }]
  }
  if (!('groups' in result)) return []
  return Object.keys(result.groups[0]?.values ?? {}).map((name) => {
    const entries = result.groups.flatMap(({ key, values }): readonly Entry[] => {
      const { value, interval } = values[name] ?? {}
      if (typeof value !== 'number') return []
      const { lower, upper } = interval ?? {}
      const isBand = typeof lower === 'number' && typeof upper === 'number'
      return [{ key, value, ...(isBand && { around: [lower, upper] }) }]
    })
    return { name, entries }
  })
}

interface TimeAxis extends Division {
  readonly range: readonly [fromMs: number, toMs: number]
}

function chartOf(
  name: string,
  entries: readonly Entry[],
  { column, by, range }: TimeAxis,
): readonly TimeSeries[] {
  const placed = entries.flatMap((entry) => {
    const label = entry.key[column]
    if (typeof label !== 'string') return []
    const [startMs, endMs] = periodOf(by, label)
    const [fromMs, toMs] = [Math.max(startMs, range[0]), Math.min(endMs, range[1])]
    const { [column]: _, ...others } = entry.key
    return [
      {
        ...entry,
        fromMs,
        toMs,
        x: (fromMs + toMs) / 2,
        line: Object.values(others).map(labelText).join(' · '),
      },
    ]
  })
  const lines = [...Map.groupBy(placed, ({ line }) => line)]
  if (lines.every(([, points]) => points.length < 2)) return []
  const sizeOf = (points: typeof placed) => points.reduce((sum, { value }) => sum + Math.abs(value), 0)
  const kept = new Set(
    lines.toSorted(([, one], [, other]) => sizeOf(other) - sizeOf(one)).slice(0, SERIES_LOOKS.length),
  )
  const drawn = lines.filter((line) => kept.has(line))
  const heights = drawn.flatMap(([, points]) =>
    points.flatMap(({ value, around = [] }) => [value, ...around]),
  )
  return [
    {
      name,
      fromMs: Math.min(...placed.map(({ fromMs }) => fromMs)),
      toMs: Math.max(...placed.map(({ toMs }) => toMs)),
      y: scaleOf(heights),
      lines: drawn.map(([line, points], place) => ({
        name: line || name,
        look: SERIES_LOOKS[place] ?? 'muted',
        points: points.map(({ x, value }) => ({ x, y: value })),
      })),
      bands: drawn.map(([line, points], place) => ({
        name: line || name,
        look: SERIES_LOOKS[place] ?? 'muted',
        points: points.flatMap(({ x, around }) =>
          around === undefined ? [] : [{ x, lower: around[0], upper: around[1] }],
        ),
      })),
      omitted: lines.length - drawn.length,
    },
  ]
}

/** Returns a scale with room around some heights. It begins at 0 if that is near. */
function scaleOf(heights: readonly number[]): Scale {
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)]
  const room = (highest - lowest || 1) / 20
  const isNearZero = lowest >= 0 && lowest <= highest / 2
  return { kind: 'linear', lower: isNearZero ? 0 : lowest - room, upper: highest + room }
}
