import type { TopLevelSpec } from 'vega-lite'
import { axisFormat } from './text.ts'

/** One layer of a Vega-Lite view. */
export type Layer = Extract<TopLevelSpec, { layer: unknown }>['layer'][number]

/** A view of layers above one another. */
export interface View {
  readonly width: number
  readonly height: number
  readonly layer: Layer[]
}

export const FONT_SIZE = 12

/** Text of which each has its place, in pixels from the upper left corner of the view's frame. */
export interface PlacedText {
  readonly x: number
  readonly y: number
  readonly text: string
}

/** How text looks; what is left out is regular, of 12 pixels and aligned to the left. */
export interface TextStyle {
  readonly color: string
  readonly fontSize?: number
  readonly bold?: boolean
  readonly align?: 'left' | 'center' | 'right'
  readonly middle?: boolean
}

/** A channel that takes a field for pixels. */
export const pixels = (field: string) => ({ field, type: 'quantitative', scale: null }) as const

/** A scale and its axis. */
export interface Axis {
  readonly title: string
  readonly from: number
  readonly to: number
  /** Whether it goes on to round numbers at both ends. */
  readonly round: boolean
  /** About how many numbers stand along it. */
  readonly tickCount: number
  /** No numbers closer than this. */
  readonly tickMinStep?: number
  readonly grid?: boolean
  /** Above this, numbers are written with a k, M, G, ... */
  readonly mostInFull: number
}

/** There is room for so much beside an axis, and below one. */
export const IN_FULL_BESIDE = 99_999
export const IN_FULL_BELOW = 999_999_999

/** Longer than this they would find no room even so. */
const MOST_ALIKE_IN_FULL = 1e17

/** Not 0e+0 or 0G. */
const ZERO_AS_IT_IS = "datum.value === 0 ? '0' : datum.label"

/** A channel that places a field on an axis. */
export function along({ title, from, to, round, tickCount, tickMinStep, grid = false, mostInFull }: Axis) {
  const farthest = Math.max(Math.abs(from), Math.abs(to))
  // Numbers that differ in their last digits only: those have to be read, so there are few of them.
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
      ...(tickMinStep === undefined ? {} : { tickMinStep }),
      ...(format === undefined ? {} : { format }),
      ...(format === undefined ? {} : { labelExpr: ZERO_AS_IT_IS }),
    },
  })
}

/**
 * Lines of text. They travel as values of a data set: no text of a user's ever stands where Vega looks for an expression,
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

/** How a line looks; what is left out is unbroken and 1 pixel wide. */
export interface LineStyle {
  readonly color: string
  readonly dash?: readonly number[]
  readonly width?: number
}

/** What a mark of lines is in Vega-Lite. */
export function stroke({ color, dash = [], width = 1 }: LineStyle) {
  return { color, strokeDash: [...dash], strokeWidth: width }
}

/** Straight lines between two places. */
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

/** How a point looks. */
export interface PointStyle {
  readonly color: string
  readonly shape: string
  readonly filled?: boolean
  /** In square pixels. */
  readonly size?: number
}

/** What a mark of points is in Vega-Lite. */
export function pointMark({ color, shape, filled = true, size = 56 }: PointStyle) {
  return { type: 'point', shape, filled, color, size, opacity: 1, strokeWidth: filled ? 0 : 1.8 } as const
}

/** Points, each with its place. */
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
