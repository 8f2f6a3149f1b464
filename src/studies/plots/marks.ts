import type { TopLevelSpec } from 'vega-lite'
import { defined } from '../../privacy/defined.ts'
import { axisFormat } from './text.ts'

/** One layer of a Vega-Lite view. */
export type Layer = Extract<TopLevelSpec, { layer: unknown }>['layer'][number]

/** A view of layers on top of each other. */
export interface View {
  readonly width: number
  readonly height: number
  readonly layer: Layer[]
}

export const FONT_SIZE = 12

/** Texts with their positions, in pixels from the upper left corner of the view's frame. */
export interface PlacedText {
  readonly x: number
  readonly y: number
  readonly text: string
}

/** Style of a text; default: regular, 12 pixels, aligned to the left. */
export interface TextStyle {
  readonly color: string
  readonly fontSize?: number
  readonly bold?: boolean
  readonly align?: 'left' | 'center' | 'right'
  readonly middle?: boolean
}

/** A channel that reads pixels from a field. */
export const pixels = (field: string) => ({ field, type: 'quantitative', scale: null }) as const

/** A scale and its axis. */
export interface Axis {
  readonly title: string
  readonly from: number
  readonly to: number
  /** True if the axis extends to round numbers at both ends. */
  readonly round: boolean
  /** Approximate number of labels on the axis. */
  readonly tickCount: number
  /** Smallest distance between labels. */
  readonly tickMinStep?: number
  readonly grid?: boolean
  /** Above this, numbers are written with a k, M, G, ... */
  readonly mostInFull: number
}

/** Space for labels beside an axis, and below one. */
export const IN_FULL_BESIDE = 99_999
export const IN_FULL_BELOW = 999_999_999

/** A channel that positions a field on an axis from 0 up to the highest value. */
export function upward(title: string, highest: number, tickCount: number) {
  const to = highest === 0 ? 1 : highest
  return along({ title, from: 0, to, round: true, tickCount, mostInFull: IN_FULL_BESIDE, grid: true })
}

/** Longer labels would not fit in any case. */
const MOST_ALIKE_IN_FULL = 1e17

/** Never 0e+0 or 0G. */
const ZERO_AS_IT_IS = "datum.value === 0 ? '0' : datum.label"

/** A channel that positions a field on an axis. */
export function along({ title, from, to, round, tickCount, tickMinStep, grid = false, mostInFull }: Axis) {
  const farthest = Math.max(Math.abs(from), Math.abs(to))
  // Numbers that differ only in their last digits must be legible, so there are few of them.
  const alike = to - from < farthest * 1e-6 && farthest > mostInFull && farthest < MOST_ALIKE_IN_FULL
  const format = alike ? undefined : axisFormat(farthest, mostInFull)
  return (field: string) => ({
    field,
    type: 'quantitative' as const,
    scale: { domain: [from, to], nice: round, zero: false },
    axis: {
      title,
      tickCount: alike ? 3 : tickCount,
      grid,
      ...(alike ? { labelLimit: 0 } : {}),
      ...defined({ tickMinStep, format, labelExpr: format && ZERO_AS_IT_IS }),
    },
  })
}

/** An axis of times and its width in pixels. */
interface TimeAxis extends Pick<Axis, 'title' | 'from' | 'to'> {
  readonly width: number
}

/** A channel that positions instants, in milliseconds, on an axis of UTC times. */
export function alongTime({ title, from, to, width }: TimeAxis) {
  const apart = (hours: number) => (hours * MILLISECONDS_PER_HOUR * width) / (to - from)
  const hours = TIME_STEPS.find((each) => apart(each) >= labelWidth(each) + LABEL_GAP)
  const step = hours === undefined ? to - from : hours * MILLISECONDS_PER_HOUR
  // Labels that would leave the picture at the ends of the axis are left out.
  const edge = Math.max(0, labelWidth(hours ?? 24) / 2 - LABEL_GAP)
  const place = (instant: number) => ((instant - from) * width) / (to - from)
  const first = Math.ceil(from / step)
  const values = Array.from(
    { length: Math.max(0, Math.floor(to / step) - first + 1) },
    (_, index) => (first + index) * step,
  ).filter((instant) => place(instant) >= edge && place(instant) <= width - edge)
  const format = isDay(hours ?? 24) ? '%Y-%m-%d' : '%Y-%m-%d %H:%M'
  return (field: string) => ({
    field,
    type: 'quantitative' as const,
    scale: { domain: [from, to], nice: false, zero: false },
    axis: { title, values, grid: true, labelExpr: `utcFormat(datum.value, '${format}')` },
  })
}

const MILLISECONDS_PER_HOUR = 3_600_000
const LABEL_GAP = 24

function isDay(hours: number): boolean {
  return hours >= 24
}

/** Width of a label, in pixels: of a date, or of a date with the time of day. */
function labelWidth(hours: number): number {
  return isDay(hours) ? 84 : 128
}

/** Distances between labels of times, in hours: parts of a day, days, weeks, and about quarters, years and more. */
const TIME_STEPS = [
  1, 3, 6, 12, 24, 48, 96, 168, 336, 672, 2_184, 4_368, 8_766, 17_532, 43_830, 87_660, 438_300,
]

/**
 * Lines of text. They are passed as values of a data set: no text of a user appears where Vega expects an expression,
 * a field or a format.
 */
export function texts(values: readonly PlacedText[], style: TextStyle): Layer {
  const { color, fontSize = FONT_SIZE, bold = false, align = 'left', middle = false } = style
  return {
    data: { values: values.map((value) => ({ ...value })) },
    mark: {
      type: 'text',
      align,
      baseline: middle ? 'middle' : 'alphabetic',
      color,
      fontSize,
      fontWeight: bold ? 'bold' : 'normal',
    },
    encoding: { x: pixels('x'), y: pixels('y'), text: { field: 'text', type: 'nominal' } },
  }
}

/** Style of a line; default: solid, 1 pixel wide. */
export interface LineStyle {
  readonly color: string
  readonly dash?: readonly number[]
  readonly width?: number
}

/** Vega-Lite mark of lines. */
export function stroke({ color, dash = [], width = 1 }: LineStyle) {
  return { color, strokeDash: [...dash], strokeWidth: width }
}

/** Straight lines between two positions. */
export function lines(
  values: readonly { readonly x: number; readonly y: number; readonly x2: number; readonly y2: number }[],
  style: LineStyle,
): Layer {
  return {
    data: { values: values.map((value) => ({ ...value })) },
    mark: { type: 'rule', ...stroke(style) },
    encoding: { x: pixels('x'), y: pixels('y'), x2: { field: 'x2' }, y2: { field: 'y2' } },
  }
}

/** Style of a point. */
export interface PointStyle {
  readonly color: string
  readonly shape: string
  readonly filled?: boolean
  /** In square pixels. */
  readonly size?: number
}

/** Vega-Lite mark of points. */
export function pointMark({ color, shape, filled = true, size = 56 }: PointStyle) {
  return { type: 'point', shape, filled, color, size, opacity: 1, strokeWidth: filled ? 0 : 1.8 } as const
}

/** Points with their positions. */
export function points(
  values: readonly { readonly x: number; readonly y: number }[],
  style: PointStyle,
): Layer {
  return {
    data: { values: values.map((value) => ({ ...value })) },
    mark: pointMark(style),
    encoding: { x: pixels('x'), y: pixels('y') },
  }
}
