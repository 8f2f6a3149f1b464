/** Mapping between the values of an axis or slider and positions between 0 and 1. */
export interface Scale {
  /** A logarithmic scale needs bounds greater than 0. */
  readonly kind: 'linear' | 'log'
  readonly lower: number
  readonly upper: number
}

/** Steps into which a scale is divided for the keyboard. */
const KEYBOARD_STEPS = 100

/** Returns the position of a value: 0 at the lower bound, 1 at the upper. Values outside have positions outside. */
export function positionOf({ kind, lower, upper }: Scale, value: number): number {
  if (lower === upper) return 0
  if (kind === 'linear') return (value - lower) / (upper - lower)
  return value <= 0 ? -1 : Math.log(value / lower) / Math.log(upper / lower)
}

/** Returns the value at a position, which is first clamped to the range from 0 to 1. */
export function valueAt({ kind, lower, upper }: Scale, position: number): number {
  if (position <= 0) return lower
  if (position >= 1) return upper
  return kind === 'linear' ? lower + position * (upper - lower) : lower * (upper / lower) ** position
}

/**
 * Returns the value at a position, rounded to a short decimal that differs from it by at most a 200th of a linear
 * scale, and by less than a half of the keyboard's step of a logarithmic scale. With `multiplesOf` it is rounded to the
 * next multiple of that.
 */
export function shortValueAt(scale: Scale, position: number, multiplesOf?: number): number {
  const value = valueAt(scale, position)
  if (multiplesOf !== undefined) return clamp(scale, Math.round(value / multiplesOf) * multiplesOf)
  if (value === scale.lower || value === scale.upper) return value
  if (scale.kind === 'log') {
    const growth = (scale.upper / scale.lower) ** (1 / KEYBOARD_STEPS) - 1
    const digits = 1 + Math.max(1, Math.ceil(-Math.log10(growth)))
    return clamp(scale, Number(value.toPrecision(digits)))
  }
  const step = 10 ** Math.floor(Math.log10((scale.upper - scale.lower) / KEYBOARD_STEPS))
  return clamp(scale, Number((Math.round(value / step) * step).toPrecision(12)))
}

/**
 * Returns the value after a key was pressed on a value of the scale, or undefined for keys without a meaning. An arrow
 * moves by a hundredth of the scale, but at least by `multiplesOf`.
 */
export function valueAfterKey(
  scale: Scale,
  value: number,
  key: string,
  multiplesOf?: number,
): number | undefined {
  const steps = stepsOf(key)
  if (steps === undefined) return undefined
  const position = Math.min(1, Math.max(0, positionOf(scale, value)))
  const next = shortValueAt(scale, position + steps / KEYBOARD_STEPS, multiplesOf)
  if (multiplesOf === undefined || next !== value || !Number.isFinite(steps)) return next
  return clamp(scale, value + Math.sign(steps) * multiplesOf)
}

function stepsOf(key: string): number | undefined {
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return 1
    case 'ArrowLeft':
    case 'ArrowDown':
      return -1
    case 'PageUp':
      return 10
    case 'PageDown':
      return -10
    case 'Home':
      return Number.NEGATIVE_INFINITY
    case 'End':
      return Number.POSITIVE_INFINITY
    default:
      return undefined
  }
}

function clamp({ lower, upper }: Scale, value: number): number {
  return Math.min(upper, Math.max(lower, value))
}

export type Tick = readonly [value: number, text: string]

/** Axis whose ticks are round numbers unless it says otherwise. */
interface TickedAxis {
  readonly scale: Scale
  readonly format: (value: number) => string
  readonly ticks?: ((count: number) => readonly Tick[]) | undefined
}

/** Returns about `count` ticks of an axis with their texts. Of neighbours with the same text only the first is kept. */
export function labelledTicks({ scale, format, ticks }: TickedAxis, count: number): readonly Tick[] {
  const all = ticks?.(count) ?? ticksOf(scale, count).map((value): Tick => [value, format(value)])
  return all.filter(([, text], place) => text !== all[place - 1]?.[1])
}

/** Returns round values in the range of a scale, about `count` of them, for the ticks of an axis. */
export function ticksOf(scale: Scale, count: number): readonly number[] {
  return scale.kind === 'linear' ? linearTicks(scale, count) : logTicks(scale, count)
}

function linearTicks({ lower, upper }: Scale, count: number): readonly number[] {
  if (!(upper > lower)) return [lower]
  const step = roundStep((upper - lower) / Math.max(1, count))
  const first = Math.ceil(lower / step - 1e-9)
  const last = Math.floor(upper / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  )
}

/** Returns the smallest of 1, 2 and 5 times a power of 10 that is at least about `step`. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step))
  const factor = [1, 2, 5, 10].find((each) => each * power >= step * 0.8) ?? 10
  return factor * power
}

function logTicks({ lower, upper }: Scale, count: number): readonly number[] {
  const factorSets = [[1, 2, 5], [1, 3], [1]] as const
  for (const factors of factorSets) {
    const ticks = powerTicks(lower, upper, factors, 1)
    if (ticks.length <= count) return ticks
  }
  const powers = powerTicks(lower, upper, [1], 1)
  return powerTicks(lower, upper, [1], Math.ceil(powers.length / count))
}

function powerTicks(
  lower: number,
  upper: number,
  factors: readonly number[],
  every: number,
): readonly number[] {
  const ticks: number[] = []
  for (let power = Math.floor(Math.log10(lower)); power <= Math.ceil(Math.log10(upper)); power += every)
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12))
      if (tick >= lower * (1 - 1e-9) && tick <= upper * (1 + 1e-9)) ticks.push(tick)
    }
  return ticks
}

/** Point of a line. */
export interface LinePoint {
  readonly x: number
  readonly y: number
}

/** Colour of a line or band. */
export type CurveLook = 'accent' | 'cost' | 'third' | 'fourth' | 'fifth' | 'sixth' | 'danger' | 'muted'

export interface CurveLine {
  readonly name: string
  /** Ordered by `x`. */
  readonly points: readonly LinePoint[]
  readonly look?: CurveLook
  readonly dashed?: boolean
}

/** Area between two heights, or over the whole height between two values of the x axis. */
export interface CurveBand {
  readonly name: string
  readonly points: readonly { readonly x: number; readonly lower: number; readonly upper: number }[]
  readonly look?: CurveLook
}

/** Returns the height of a line at `x`, between points that are ordered by `x`; undefined outside of them. */
export function heightAt(points: readonly LinePoint[], x: number): number | undefined {
  const after = points.findIndex((point) => point.x >= x)
  const right = points[after]
  if (right === undefined) return undefined
  if (right.x === x) return right.y
  const left = points[after - 1]
  if (left === undefined) return undefined
  return left.y + ((x - left.x) / (right.x - left.x)) * (right.y - left.y)
}
