import { mapParts } from '../parsing/expressions.ts'
import type { Call, Expression, Statement } from '../parsing/statement.ts'

/*
 * Tools write one function of the calendar in many ways. Each becomes a call over the column itself:
 *
 *   CAST(instant AS date)                                             CAST(date_trunc('day', instant) AS date)
 *   date_trunc('month', CAST(day AS timestamp))                       date_trunc('month', day)
 *   date_trunc('week', day + interval '1 day') - interval '1 day'     date_trunc('week', day, - interval '1 day')
 *
 * The third argument, which statements themselves cannot have, is the time from a Monday to the first day of a week.
 */

type Column = Extract<Expression, { kind: 'column' }>

/** Returns the type of a column of dates or timestamps; undefined for another column. */
type TypeOf = (column: Column) => 'date' | 'timestamp' | undefined

/** Writes the functions of the calendar over the columns themselves. */
export function plainCalendar(statement: Statement, typeOf: TypeOf): Statement {
  return mapParts(statement, (part) => plain(part, typeOf))
}

function plain(expression: Expression, typeOf: TypeOf): Expression {
  const part = mapParts(expression, (inner) => plain(inner, typeOf))
  switch (part.kind) {
    case 'call':
      return plainCall(part, typeOf)
    case 'cast':
      return part.type === 'date' ? dayOf(part.value, part, typeOf) : part
    case 'arithmetic':
      return movedWeek(part, typeOf) ?? part
    default:
      return part
  }
}

function plainCall(call: Call, typeOf: TypeOf): Expression {
  const [first, second, third] = call.arguments
  if (call.name === 'date' && first !== undefined && second === undefined)
    return first.kind === 'text'
      ? { ...first, type: 'date' }
      : dayOf(first, { kind: 'cast', type: 'date', value: first, at: call.at }, typeOf)
  if (!['date_trunc', 'extract', 'date_part'].includes(call.name)) return call
  if (first?.kind !== 'text' || second === undefined || third !== undefined) return call
  const column = columnIn(second, OF_DAYS.includes(first.value.toLowerCase()), typeOf)
  return column === undefined ? call : { ...call, arguments: [first, column] }
}

/** Fields and units that depend on the day alone. */
const OF_DAYS: readonly string[] = ['year', 'quarter', 'month', 'week', 'day', 'dow', 'isodow']

/** The column of dates or timestamps within casts. The time of day is dropped only if nothing depends on it. */
function columnIn(expression: Expression, dropsTime: boolean, typeOf: TypeOf): Column | undefined {
  if (expression.kind === 'column') return typeOf(expression) === undefined ? undefined : expression
  // As lubridate's wday() is written for weeks from Sunday.
  if (isPlusZero(expression)) return columnIn(expression.left, dropsTime, typeOf)
  const drops = (expression.kind === 'cast' && expression.type === 'date') || isTruncated(expression, 'day')
  const within = expression.kind === 'cast' ? expression.value : isTruncated(expression, 'day')
  const isTime = expression.kind === 'cast' && expression.type === 'timestamp'
  if (within === undefined || !(isTime || (drops && dropsTime))) return undefined
  return columnIn(within, dropsTime, typeOf)
}

function isPlusZero(expression: Expression): expression is Extract<Expression, { kind: 'arithmetic' }> {
  if (expression.kind !== 'arithmetic' || expression.op !== '+') return false
  return expression.right.kind === 'number' && Number(expression.right.text) === 0
}

/** What is truncated to a unit; undefined for another expression. */
function isTruncated(expression: Expression, unit: string): Expression | undefined {
  if (expression.kind !== 'call' || expression.name !== 'date_trunc') return undefined
  const [first, second, third] = expression.arguments
  return first?.kind === 'text' && first.value.toLowerCase() === unit && third === undefined
    ? second
    : undefined
}

/** The day of an instant. A date is its own day. */
function dayOf(value: Expression, cast: Extract<Expression, { kind: 'cast' }>, typeOf: TypeOf): Expression {
  const column = columnIn(value, false, typeOf)
  if (column === undefined) return cast
  return typeOf(column) === 'date' ? column : { ...cast, value: truncated('day', column, cast.at) }
}

function truncated(unit: string, column: Column, at: number, ...others: readonly Expression[]): Call {
  const parts = [{ kind: 'text', value: unit, at } as const, column, ...others]
  return { kind: 'call', name: 'date_trunc', star: false, distinct: false, arguments: parts, at }
}

const SECONDS_PER_DAY = 86_400
const DAYS_PER_WEEK = 7

/** A week of another first day than Monday. */
function movedWeek(sum: Extract<Expression, { kind: 'arithmetic' }>, typeOf: TypeOf): Expression | undefined {
  const found = backToSunday(sum, typeOf) ?? weekBetweenMoves(sum, typeOf)
  if (found === undefined) return undefined
  const { column, seconds } = found
  const days = Math.abs(seconds) / SECONDS_PER_DAY
  if (!Number.isInteger(days) || days === 0 || days >= DAYS_PER_WEEK) return undefined
  return truncated('week', column, sum.at, { kind: 'interval', months: 0, seconds, at: sum.at })
}

interface MovedWeek {
  readonly column: Column
  readonly seconds: number
}

/** `date_trunc('week', day + interval '1 day') - interval '1 day'`, also with casts between. */
function weekBetweenMoves(
  sum: Extract<Expression, { kind: 'arithmetic' }>,
  typeOf: TypeOf,
): MovedWeek | undefined {
  const seconds = moveOf(sum)
  const inner = isTruncated(withoutCasts(sum.left), 'week')
  const moved = inner && withoutCasts(inner)
  if (seconds === undefined || moved?.kind !== 'arithmetic' || moveOf(moved) !== -seconds) return undefined
  const column = columnIn(moved.left, true, typeOf)
  return column && { column, seconds }
}

/** `date_trunc('day', day) + -extract(dow from day) * interval '1 day'`. */
function backToSunday(
  { op, left, right }: Extract<Expression, { kind: 'arithmetic' }>,
  typeOf: TypeOf,
): MovedWeek | undefined {
  const day = isTruncated(withoutCasts(left), 'day')
  const column = day && columnIn(day, true, typeOf)
  if (op !== '+' || column === undefined || right.kind !== 'arithmetic' || right.op !== '*') return undefined
  const { left: negative, right: one } = right
  if (one.kind !== 'interval' || one.months !== 0 || one.seconds !== SECONDS_PER_DAY) return undefined
  if (negative.kind !== 'arithmetic' || negative.op !== '-' || negative.left.kind !== 'number')
    return undefined
  const { right: dow } = negative
  if (Number(negative.left.text) !== 0 || dow.kind !== 'call' || dow.name !== 'extract') return undefined
  const [field, of] = dow.arguments
  const isSame = of?.kind === 'column' && of.name === column.name && of.table === column.table
  return field?.kind === 'text' && field.value.toLowerCase() === 'dow' && isSame
    ? { column, seconds: -SECONDS_PER_DAY }
    : undefined
}

/** The seconds by which an instant is moved; undefined for another sum. */
function moveOf({ op, right }: Extract<Expression, { kind: 'arithmetic' }>): number | undefined {
  if (right.kind !== 'interval' || right.months !== 0) return undefined
  return op === '+' ? right.seconds : op === '-' ? -right.seconds : undefined
}

function withoutCasts(expression: Expression): Expression {
  const isTime = expression.kind === 'cast' && (expression.type === 'date' || expression.type === 'timestamp')
  return isTime ? withoutCasts(expression.value) : expression
}
