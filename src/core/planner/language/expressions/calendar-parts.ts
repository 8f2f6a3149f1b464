import { Temporal } from 'temporal-polyfill'
import { divideRoundingDown, divideRoundingUp, greatestCommonDivisor } from '../../../../privacy/rational.ts'
import {
  type DateColumn,
  isTemporal,
  type NumericColumn,
  type QueryableColumn,
  type TemporalColumn,
  type TimestampColumn,
} from '../../../dataset/dataset.ts'
import { ONE_NANO } from '../../../dataset/grid-value.ts'
import { LONGEST_SPAN_SECONDS, SECONDS_PER_DAY, timeZoneNamed } from '../../../dataset/iso-time.ts'
import { type Period, periodAt, startOf } from '../calendar.ts'
import type { Formula } from '../formula.ts'
import { columnText, requireIndexes } from './linear.ts'
import { ExpressionError } from './parse.ts'

/* Parts of dates and timestamps in UTC, with weeks from Monday. A timestamp has the parts of its date, and its hour. */

const PARTS = ['date', 'year', 'quarter', 'month', 'day', 'weekday', 'hour'] as const

type DatePart = (typeof PARTS)[number]

/** 1970-01-01 was a Thursday: the number of days since the Monday before it. */
const DAYS_SINCE_MONDAY = 3n
/** Largest number of periods among which engines search. */
const MOST_PERIODS = 2_000

export function isDatePart(name: string): name is DatePart {
  return PARTS.some((part) => part === name)
}

/** @throws ExpressionError for a column of another type, or with more periods than engines can search */
export function datePart(part: DatePart, column: QueryableColumn): DateColumn | NumericColumn {
  if (!isTemporal(column))
    throw new ExpressionError(
      `must give ${part} a date or timestamp; ${column.name} is of type ${column.type}`,
    )
  const name = `${part}(${columnText(column)})`
  if (part === 'hour') {
    if (column.type === 'timestamp') return numbers(name, column, [0n, 23n], hours(column))
    throw new ExpressionError(`must not take the hour of ${column.name}, which is a column of dates`)
  }
  const date = column.type === 'date' ? column : dateOf(column)
  switch (part) {
    case 'date':
      return date
    case 'weekday':
      return numbers(name, date, [1n, 7n], weekdays(date))
    case 'day':
      return dayOfMonth(name, date)
    case 'year':
      return numbered(name, date, 'year', BigInt)
    case 'quarter':
      return numbered(name, date, 'quarter', (quarter) => 1n + remainder(BigInt(quarter), 4n))
    case 'month':
      return numbered(name, date, 'month', (month) => 1n + remainder(BigInt(month), 12n))
  }
}

function remainder(dividend: bigint, divisor: bigint): bigint {
  return ((dividend % divisor) + divisor) % divisor
}

/** The whole units of an index: days of a date, seconds of a timestamp. */
function unitsOf({ stepNano }: TemporalColumn, index: bigint): bigint {
  return (index * stepNano) / ONE_NANO
}

/** Whole units of a column, divided. */
function quotient(
  column: TemporalColumn,
  offset: bigint,
  divisor: bigint,
): Extract<Formula, { kind: 'sum' }> {
  const lowest = divideRoundingDown(unitsOf(column, column.lowerIndex) + offset, divisor)
  const terms = [{ column: column.name, factor: column.stepNano / ONE_NANO }]
  return { kind: 'sum', terms, offset, divisor, lowest }
}

function dateOf(column: TimestampColumn): DateColumn {
  const day = (index: bigint) => divideRoundingDown(unitsOf(column, index), SECONDS_PER_DAY)
  const { nullable, invalidValue, constantPerPerson, dateFormat } = column
  return {
    name: `date(${columnText(column)})`,
    type: 'date',
    dateFormat,
    nullable,
    invalidValue,
    ...(constantPerPerson ? { constantPerPerson } : {}),
    stepNano: ONE_NANO,
    lowerIndex: day(column.lowerIndex),
    upperIndex: day(column.upperIndex),
    formula: quotient(column, 0n, SECONDS_PER_DAY),
  }
}

function hours(column: TimestampColumn): Formula {
  return { ...quotient(column, 0n, 3_600n), cycle: { length: 24n, plus: 0n } }
}

function weekdays(date: DateColumn): Formula {
  return { ...quotient(date, DAYS_SINCE_MONDAY, 1n), cycle: { length: 7n, plus: 1n } }
}

function numbers(
  name: string,
  { nullable, invalidValue, constantPerPerson }: TemporalColumn,
  [lowerIndex, upperIndex]: readonly [bigint, bigint],
  formula: Formula,
): NumericColumn {
  return {
    name,
    type: 'integer',
    nullable,
    invalidValue,
    ...(constantPerPerson ? { constantPerPerson } : {}),
    stepNano: ONE_NANO,
    lowerIndex,
    upperIndex,
    formula,
  }
}

interface Periods {
  readonly numbers: readonly number[]
  /** Indexes of the first days of all periods but the first. */
  readonly edges: readonly bigint[]
}

function periodsOf(date: DateColumn, period: Period): Periods {
  const at = (index: bigint) => periodAt(period, unitsOf(date, index) * SECONDS_PER_DAY)
  const [first, last] = [at(date.lowerIndex), at(date.upperIndex)]
  if (last - first >= MOST_PERIODS)
    throw new ExpressionError(
      `spans ${last - first + 1} periods of one ${period}; at most ${MOST_PERIODS} are supported`,
    )
  const found = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  const step = date.stepNano / ONE_NANO
  const edges = found
    .slice(1)
    .map((number) => divideRoundingUp(startOf(period, number) / SECONDS_PER_DAY, step))
  return { numbers: found, edges }
}

/** A number for each period. */
function numbered(
  name: string,
  date: DateColumn,
  period: Period,
  numberOf: (period: number) => bigint,
): NumericColumn {
  const { numbers: found, edges } = periodsOf(date, period)
  const plus = found.map(numberOf)
  const { lowerIndex, upperIndex } = requireIndexes(plus)
  return numbers(name, date, [lowerIndex, upperIndex], {
    kind: 'steps',
    column: date.name,
    edges,
    plus,
    factor: 0n,
  })
}

function dayOfMonth(name: string, date: DateColumn): NumericColumn {
  if (date.stepNano !== ONE_NANO)
    throw new ExpressionError(`must not take the day of ${date.name}, whose step is not one day`)
  const { numbers: found, edges } = periodsOf(date, 'month')
  const plus = found.map((month) => 1n - startOf('month', month) / SECONDS_PER_DAY)
  return numbers(name, date, [1n, 31n], { kind: 'steps', column: date.name, edges, plus, factor: 1n })
}

/**
 * The time on the clock of a zone, as if it were UTC. Before and after a change of the clock the offset is another constant, so
 * that days have 23 or 25 hours there, and a repeated hour is one on the clock.
 * @throws ExpressionError for a column of another type, and for a name of no zone
 */
export function localTime(column: QueryableColumn, named: string): TimestampColumn {
  if (column.type !== 'timestamp')
    throw new ExpressionError(`must give local a timestamp; ${column.name} is of type ${column.type}`)
  const timeZone = timeZoneNamed(named)
  if (timeZone === undefined)
    throw new ExpressionError(`has "${named}", which is no IANA time zone, such as 'Europe/Berlin'`)
  if (timeZone === 'UTC') return column
  const { lowerIndex, upperIndex, nullable, invalidValue, constantPerPerson, dateFormat } = column
  const [first, last] = [unitsOf(column, lowerIndex), unitsOf(column, upperIndex)]
  if (last - first > LONGEST_SPAN_SECONDS)
    throw new ExpressionError(
      `must not give local ${column.name}, whose bounds are more than 400 years apart`,
    )
  const offsets = offsetsBetween(timeZone, first, last)
  const step = column.stepNano / ONE_NANO
  const unit = offsets.reduce((common, { seconds }) => greatestCommonDivisor(common, seconds), step)
  const [factor, plus] = [step / unit, offsets.map(({ seconds }) => seconds / unit)]
  const edges = offsets.slice(1).map(({ from }) => divideRoundingUp(from, step))
  const ends = plus.flatMap((added, interval) => {
    const [start, end] = [edges[interval - 1] ?? lowerIndex, (edges[interval] ?? upperIndex + 1n) - 1n]
    return [start, end].map((index) => factor * index + added)
  })
  return {
    name: `local(${columnText(column)}, '${timeZone}')`,
    type: 'timestamp',
    dateFormat,
    timeZone: 'UTC',
    nullable,
    invalidValue,
    ...(constantPerPerson ? { constantPerPerson } : {}),
    stepNano: unit * ONE_NANO,
    ...requireIndexes(ends),
    formula: { kind: 'steps', column: column.name, edges, plus, factor },
  }
}

/** The offsets of a zone for the instants between two, with the first instant of each. */
function offsetsBetween(timeZone: string, first: bigint, last: bigint) {
  const found: { readonly from: bigint; readonly seconds: bigint }[] = []
  let here: Temporal.ZonedDateTime | null = Temporal.Instant.fromEpochMilliseconds(
    Number(first) * 1000,
  ).toZonedDateTimeISO(timeZone)
  while (here !== null && here.epochMilliseconds <= Number(last) * 1000) {
    const [from, seconds] = [here.epochMilliseconds / 1000, here.offsetNanoseconds / 1e9]
    found.push({ from: BigInt(from), seconds: BigInt(seconds) })
    here = here.getTimeZoneTransition('next')
  }
  return found
}
