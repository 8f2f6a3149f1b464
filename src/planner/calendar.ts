import { parseDate } from '../catalog/iso-time.ts'
import { divideRoundingDown } from '../privacy/rational.ts'

/*
 * Periods of the proleptic Gregorian calendar in UTC, with weeks as in ISO 8601. The periods of one kind are numbered
 * in their order, without gaps: a period is all instants from the start of its number to the start of the next.
 */

/** Divisions of time into consecutive periods. */
export type Period = 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour'

/** Divisions of time into consecutive periods, and cycles in which such periods recur. */
export type CalendarUnit = Period | 'dayOfWeek' | 'monthOfYear'

/** A cycle of periods. */
export interface Cycle {
  readonly period: Period
  /** Names of the members, in their order. Their number is the length of the cycle. */
  readonly names: readonly string[]
  /** Returns the position of a period in the cycle, from 0. */
  readonly positionOf: (period: number) => number
}

const SECONDS_PER_HOUR = 3600n
const SECONDS_PER_DAY = 86_400n
const MILLISECONDS_PER_DAY = 86_400_000
const DAYS_PER_WEEK = 7
/** 1970-01-01 was a Thursday: the number of days since the Monday before it. */
const DAYS_SINCE_MONDAY = 3

const DAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const
const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

/** Returns the cycle of a calendar unit; `undefined` for a unit whose periods do not recur. */
export function cycleOf(unit: CalendarUnit): Cycle | undefined {
  switch (unit) {
    case 'dayOfWeek':
      return {
        period: 'day',
        names: DAY_NAMES,
        positionOf: (day) => remainder(day + DAYS_SINCE_MONDAY, DAYS_PER_WEEK),
      }
    case 'monthOfYear':
      return { period: 'month', names: MONTH_NAMES, positionOf: (month) => remainder(month, 12) }
    default:
      return undefined
  }
}

/** Returns the number of the period that contains an instant, given in seconds since 1970-01-01T00:00:00Z. */
export function periodAt(period: Period, seconds: bigint): number {
  const day = Number(divideRoundingDown(seconds, SECONDS_PER_DAY))
  switch (period) {
    case 'hour':
      return Number(divideRoundingDown(seconds, SECONDS_PER_HOUR))
    case 'day':
      return day
    case 'week':
      return Math.floor((day + DAYS_SINCE_MONDAY) / DAYS_PER_WEEK)
    case 'month':
      return monthOfDay(day)
    case 'quarter':
      return Math.floor(monthOfDay(day) / 3)
    case 'year':
      return Math.floor(monthOfDay(day) / 12)
  }
}

/** Returns the first instant of a period, in seconds since 1970-01-01T00:00:00Z. */
export function startOf(period: Period, number: number): bigint {
  switch (period) {
    case 'hour':
      return BigInt(number) * SECONDS_PER_HOUR
    case 'day':
      return BigInt(number) * SECONDS_PER_DAY
    case 'week':
      return BigInt(number * DAYS_PER_WEEK - DAYS_SINCE_MONDAY) * SECONDS_PER_DAY
    case 'month':
      return BigInt(firstDayOfMonth(number)) * SECONDS_PER_DAY
    case 'quarter':
      return BigInt(firstDayOfMonth(number * 3)) * SECONDS_PER_DAY
    case 'year':
      return BigInt(firstDayOfMonth(number * 12)) * SECONDS_PER_DAY
  }
}

/**
 * Returns the name of a period: `2024`, `2024-Q1`, `2024-03`, `2024-W09`, `2024-03-01` or `2024-03-01T05Z`. All but the
 * quarter are ISO 8601 texts.
 */
export function periodName(period: Period, number: number): string {
  const date = new Date(Number(startOf(period, number)) * 1000).toISOString()
  switch (period) {
    case 'hour':
      return `${date.slice(0, 'yyyy-mm-ddThh'.length)}Z`
    case 'day':
      return date.slice(0, 'yyyy-mm-dd'.length)
    case 'week':
      return weekName(number)
    case 'month':
      return date.slice(0, 'yyyy-mm'.length)
    case 'quarter':
      return `${date.slice(0, 'yyyy'.length)}-Q${remainder(number, 4) + 1}`
    case 'year':
      return date.slice(0, 'yyyy'.length)
  }
}

/** Returns the number of the period with this name; `undefined` for a text that names no period of this kind. */
export function parsePeriod(period: Period, name: string): number | undefined {
  const start = startOfName(period, name)
  if (start === undefined) return undefined
  const number = periodAt(period, start)
  return periodName(period, number) === name ? number : undefined
}

/** Returns an instant in the period with this name, if the text has the form of one. */
function startOfName(period: Period, name: string): bigint | undefined {
  const [year = '', rest = ''] = [name.slice(0, 4), name.slice(5)]
  const date = {
    year: `${name}-01-01`,
    quarter: `${year}-${String((Number(rest.slice(1)) - 1) * 3 + 1).padStart(2, '0')}-01`,
    month: `${name}-01`,
    week: `${year}-01-04`,
    day: name,
    hour: name.slice(0, 'yyyy-mm-dd'.length),
  }[period]
  const days = parseDate(date)
  if (days === undefined) return undefined
  // The 4th of January is in the first week of its year.
  if (period === 'week')
    return /^W\d\d$/.test(rest)
      ? (days + 7n * BigInt(Number(rest.slice(1)) - 1)) * SECONDS_PER_DAY
      : undefined
  if (period === 'hour')
    return /^T\d\dZ$/.test(name.slice(10))
      ? days * SECONDS_PER_DAY + BigInt(name.slice(11, 13)) * SECONDS_PER_HOUR
      : undefined
  return days * SECONDS_PER_DAY
}

/** Months are numbered from January of the year 0. */
function monthOfDay(day: number): number {
  const date = new Date(day * MILLISECONDS_PER_DAY)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function firstDayOfMonth(month: number): number {
  const date = new Date(0)
  date.setUTCFullYear(Math.floor(month / 12), remainder(month, 12), 1)
  return date.getTime() / MILLISECONDS_PER_DAY
}

/** The year of an ISO week is that of its Thursday. */
function weekName(week: number): string {
  const thursday = week * DAYS_PER_WEEK
  const year = Math.floor(monthOfDay(thursday) / 12)
  const number = Math.floor((thursday - firstDayOfMonth(year * 12)) / DAYS_PER_WEEK) + 1
  return `${String(year).padStart(4, '0')}-W${String(number).padStart(2, '0')}`
}

/** Remainder that is never negative, for a positive divisor. */
function remainder(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor
}
