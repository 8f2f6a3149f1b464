import type { Scale } from './scale.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Distances between ticks that have the same length, in milliseconds. */
const EVEN_STEPS_MS = [
  ...[1, 5, 15].map((seconds) => seconds * SECOND_MS),
  ...[1, 5, 15].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 7, 14].map((days) => days * DAY_MS),
]

/** Longer distances between ticks, in months. */
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200]

/** 1970-01-05, a Monday. Ticks that are weeks apart lie on Mondays. */
const MONDAY_MS = 4 * DAY_MS

/** Share of the ticks for numbers that fit for times, whose texts are longer. */
const FITTING = 0.75

/** Time axis in milliseconds since 1970, whose ticks lie on seconds, minutes, hours, days, months or years in UTC. */
export interface TimeAxis {
  readonly scale: Scale
  readonly ticks: (count: number) => readonly (readonly [atMs: number, text: string])[]
}

/** Returns a time axis of at least a minute between two times in milliseconds since 1970. */
export function timeAxis(fromMs: number, toMs: number): TimeAxis {
  const untilMs = Math.max(toMs, fromMs + MINUTE_MS)
  return {
    scale: { kind: 'linear', lower: fromMs, upper: untilMs },
    ticks: (count) => ticksBetween(fromMs, untilMs, Math.max(2, Math.floor(count * FITTING))),
  }
}

function ticksBetween(fromMs: number, toMs: number, most: number) {
  const even = EVEN_STEPS_MS.find((step) => (toMs - fromMs) / step <= most)
  if (even !== undefined) {
    const offset = even % (7 * DAY_MS) === 0 ? MONDAY_MS : 0
    const format = formatOf(evenFields(even, toMs - fromMs))
    return multiples((fromMs - offset) / even, (toMs - offset) / even).map((place) =>
      labelled(place * even + offset, format),
    )
  }
  const [from, to] = [monthsOf(fromMs), monthsOf(toMs)]
  const months = MONTHS.find((step) => (to - from) / step <= most) ?? to - from
  const format = formatOf(months < 12 ? { month: 'short', year: 'numeric' } : { year: 'numeric' })
  return multiples(from / months, to / months).map((place) =>
    labelled(new Date(0).setUTCMonth(place * months - EPOCH_MONTHS), format),
  )
}

const EPOCH_MONTHS = 1970 * 12

/** Returns a time as months since the year 0, with the part of its month that is over. */
function monthsOf(ms: number): number {
  const date = new Date(ms)
  const part = (date.getUTCDate() - 1 + (ms - Math.floor(ms / DAY_MS) * DAY_MS) / DAY_MS) / 31
  return date.getUTCFullYear() * 12 + date.getUTCMonth() + part
}

function multiples(from: number, to: number): readonly number[] {
  const first = Math.ceil(from)
  return Array.from({ length: Math.max(0, Math.floor(to) - first + 1) }, (_, place) => first + place)
}

/** Fields that tell ticks apart: over more than a day, a time of day alone would occur twice. */
function evenFields(stepMs: number, spanMs: number): Intl.DateTimeFormatOptions {
  const time = { hour: '2-digit', minute: '2-digit' } as const
  if (stepMs < MINUTE_MS) return { ...time, second: '2-digit' }
  if (stepMs >= DAY_MS) return { day: 'numeric', month: 'short' }
  return spanMs > DAY_MS ? { day: 'numeric', month: 'short', ...time } : time
}

function formatOf(fields: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...fields })
}

function labelled(atMs: number, format: Intl.DateTimeFormat): readonly [number, string] {
  return [atMs, format.format(atMs)]
}
