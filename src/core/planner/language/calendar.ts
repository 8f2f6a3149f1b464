import { Temporal } from 'temporal-polyfill'
import { entry } from '../../../privacy/must.ts'
import { divideRoundingDown } from '../../../privacy/rational.ts'
import { parseDate, SECONDS_PER_DAY } from '../../dataset/iso-time.ts'

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

/** Writes the name of an hour by the clock of a time zone, with its offset: `2024-11-03T01-04:00`. */
export function localHourName(hour: string, timeZone: string): string {
  const start = Temporal.Instant.from(hour.replace('Z', ':00Z')).toZonedDateTimeISO(timeZone)
  const { offset } = start
  const local = start.toPlainDateTime().toString({ smallestUnit: 'second' })
  return `${local.replace(/(?::00){1,2}$/, '')}${offset}`
}

/** Returns the number of the period with this name; `undefined` for a text that names no period of this kind. */
export function parsePeriod(period: Period, name: string): number | undefined {
  const instant = instantIn(period, name)
  if (instant === undefined) return undefined
  const number = periodAt(period, instant)
  // A year may have no 53rd week, and a day has no 25th hour.
  return periodName(period, number) === name ? number : undefined
}

/** Forms of the names of periods: a year, month or date, and the number of a part of it. */
const NAMES: Readonly<Record<Period, RegExp>> = {
  year: /^(\d{4})$/,
  quarter: /^(\d{4})-Q([1-4])$/,
  month: /^(\d{4}-\d{2})$/,
  week: /^(\d{4})-W(\d{2})$/,
  day: /^(\d{4}-\d{2}-\d{2})$/,
  hour: /^(\d{4}-\d{2}-\d{2})T(\d{2})Z$/,
}

/** Returns an instant in the period with this name, if the text has the form of one. */
function instantIn(period: Period, name: string): bigint | undefined {
  const found = NAMES[period].exec(name)
  if (found === null) return undefined
  // Only some periods have a second part.
  const [, , part = '1'] = found
  const whole = entry(found, 1)
  switch (period) {
    case 'year':
      return secondsOf(`${whole}-01-01`)
    case 'quarter':
      return secondsOf(`${whole}-${String(3 * Number(part)).padStart(2, '0')}-01`)
    case 'month':
      return secondsOf(`${whole}-01`)
    case 'week':
      // The 4th of January is in the first week of its year.
      return secondsOf(`${whole}-01-04`, (BigInt(part) - 1n) * BigInt(DAYS_PER_WEEK) * SECONDS_PER_DAY)
    case 'day':
      return secondsOf(whole)
    case 'hour':
      return secondsOf(whole, BigInt(part) * SECONDS_PER_HOUR)
  }
}

/** The midnight of a date, and some seconds later; `undefined` for a date that does not exist. */
function secondsOf(date: string, later = 0n): bigint | undefined {
  const days = parseDate(date)
  return days === undefined ? undefined : days * SECONDS_PER_DAY + later
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
