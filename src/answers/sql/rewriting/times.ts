import { dateText, instantText, parseDate, parseInstant } from '../../../core/dataset/iso-time.ts'
import { periodAt, startOf } from '../../../core/planner/language/calendar.ts'
import { must } from '../../../privacy/must.ts'
import { divideRoundingDown } from '../../../privacy/rational.ts'
import type { Refusal } from '../../../privacy/refusal.ts'
import { isUnit, SHORT_UNITS } from '../grouping.ts'
import { mapParts } from '../parsing/expressions.ts'
import type { Call, CastType, Expression, ExpressionOf, Statement } from '../parsing/statement.ts'
import { instantOf } from '../scope.ts'

/*
 * Constant times: now(), CURRENT_DATE, and what is computed from constants by date_trunc, casts, and intervals. They become
 * literals of a stated time before anything else is translated, all in UTC. A statement with now() that is sent again later is
 * therefore another question.
 */

type Text = ExpressionOf<'text'>
type Refuse = (at: number | undefined, rule: string) => Refusal

interface Clock {
  readonly now: bigint
  readonly refuse: Refuse
  /** Called with the time of each now() and CURRENT_DATE. */
  readonly state: (name: string, text: string) => void
}

/** Replaces constant times by literals, and states which time now() means. */
export function resolveTimes(
  statement: Statement,
  nowMs: number,
  refuse: Refuse,
): { readonly statement: Statement; readonly notes: readonly string[] } {
  const stated = new Map<string, string>()
  const clock: Clock = {
    now: BigInt(Math.floor(nowMs / 1_000)) * ONE_SECOND,
    refuse,
    state: (name, text) => stated.set(name, text),
  }
  const withLiterals = mapParts(statement, (part) => resolved(part, clock))
  const notes = Array.from(stated, ([name, text]) => {
    const stays = name === 'now()' ? " date_trunc('day', now()) stays the same for a day." : ''
    return `${name} is ${text}. At another time the statement is another question, with a price of its own.${stays}`
  })
  return { statement: withLiterals, notes }
}

function resolved(expression: Expression, clock: Clock): Expression {
  const { at } = expression
  const parts = mapParts(expression, (part) => resolved(part, clock))
  switch (parts.kind) {
    case 'call':
      return resolvedCall(parts, clock)
    case 'arithmetic':
      return resolvedSum(parts, clock)
    case 'cast': {
      const nano = parts.value.kind === 'text' ? nanoOf(parts.value) : undefined
      if (nano === undefined || (parts.type !== 'date' && parts.type !== 'timestamp')) return parts
      return timeOf(nano, parts.type === 'date' ? 'date' : 'timestamptz', at)
    }
    default:
      return parts
  }
}

const SECONDS_PER_DAY = 86_400n
const ONE_SECOND = 1_000_000_000n

/** A literal of an instant, in nanoseconds since 1970-01-01T00:00:00Z. */
function timeOf(nano: bigint, type: CastType, at: number): Text {
  const seconds = divideRoundingDown(nano, ONE_SECOND)
  if (type === 'date') return { kind: 'text', value: dateText(BigInt(periodAt('day', seconds))), type, at }
  const fraction = nano - seconds * ONE_SECOND
  const digits = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`
  return { kind: 'text', value: instantText(seconds).replace('Z', `${digits}Z`), type, at }
}

/** The nanoseconds of a constant that is cast to a date or a timestamp; `undefined` for other texts. */
function nanoOf({ value, type }: Text): bigint | undefined {
  if (type === undefined) return undefined
  const days = parseDate(value)
  if (days !== undefined) return days * SECONDS_PER_DAY * ONE_SECOND
  const instant = instantOf(value, type)
  return instant === undefined ? undefined : parseInstant(instant)
}

const CLOCKS: readonly string[] = ['now', 'statement_timestamp', 'transaction_timestamp', 'clock_timestamp']

function resolvedCall(call: Call, clock: Clock): Expression {
  const { name, at } = call
  const [first, second, third] = call.arguments
  if (first === undefined && CLOCKS.includes(name)) {
    const now = timeOf(clock.now, 'timestamptz', at)
    clock.state('now()', now.value)
    return now
  }
  if (name === 'current_date' && first === undefined) {
    const today = timeOf(clock.now, 'date', at)
    clock.state('CURRENT_DATE', today.value)
    return today
  }
  if (first?.kind !== 'text' || second?.kind !== 'text' || third !== undefined) return call
  if (name === 'date_trunc') {
    const nano = nanoOf(second)
    const unit = first.value.toLowerCase()
    const short = SHORT_UNITS.get(unit)
    if (nano !== undefined && short !== undefined)
      return timeOf(divideRoundingDown(nano, short * ONE_SECOND) * short * ONE_SECOND, 'timestamptz', at)
    if (nano === undefined || !isUnit(unit)) return call
    const period = periodAt(unit, divideRoundingDown(nano, ONE_SECOND))
    return timeOf(startOf(unit, period) * ONE_SECOND, 'timestamptz', at)
  }
  if (name === 'to_date' || name === 'to_timestamp') return formatted(call, first, second, clock)
  return call
}

const FORMATS: readonly string[] = ['YYYY-MM-DD', 'YYYY-MM-DD HH24:MI:SS', 'YYYY-MM-DD HH24:MI:SS.US']

/** TO_DATE and TO_TIMESTAMP of a constant. */
function formatted({ name, at }: Call, text: Text, format: Text, { refuse }: Clock): Expression {
  const type = name === 'to_date' ? 'date' : 'timestamptz'
  const whole = text.value.replace(/\.0+$/, '')
  const found = FORMATS.includes(format.value.toUpperCase())
    ? nanoOf({ ...text, value: whole, type })
    : undefined
  if (found !== undefined) return timeOf(found, type, at)
  throw refuse(at, `${name} reads a constant in one of the formats ${FORMATS.join(', ')}.`)
}

/** A time plus or minus an interval, and a date plus or minus a number of days. */
function resolvedSum(sum: ExpressionOf<'arithmetic'>, clock: Clock): Expression {
  const { op, at } = sum
  const swapped = op === '+' && sum.right.kind === 'text'
  const [left, right] = swapped ? [sum.right, sum.left] : [sum.left, sum.right]
  if (left.kind === 'interval' && right.kind === 'number' && op === '*') return longer(left, right, clock)
  if (left.kind !== 'text' || (op !== '+' && op !== '-')) return sum
  const nano = nanoOf(left)
  if (nano === undefined) return sum
  const sign = op === '-' ? -1 : 1
  const moved = (seconds: number | bigint) => BigInt(sign) * BigInt(seconds) * ONE_SECOND
  if (right.kind === 'number' && left.type === 'date' && /^-?\d{1,6}$/.test(right.text))
    return timeOf(written(nano + moved(BigInt(right.text) * SECONDS_PER_DAY), at, clock), 'date', at)
  if (right.kind !== 'interval') return sum
  const later = addMonths(nano, sign * right.months)
  return timeOf(
    written(later === undefined ? later : later + moved(right.seconds), at, clock),
    'timestamptz',
    at,
  )
}

const FIRST = must(parseInstant('0001-01-01T00:00:00Z'), 'the first instant')
const LAST = must(parseInstant('9999-12-31T23:59:59.999999999Z'), 'the last instant')

/** Returns an instant that a text of four digits for the year can state. */
function written(nano: bigint | undefined, at: number, { refuse }: Clock): bigint {
  if (nano !== undefined && nano >= FIRST && nano <= LAST) return nano
  throw refuse(at, 'computed times must be of the years 1 to 9999.')
}

function longer(
  { months, seconds, at }: ExpressionOf<'interval'>,
  { text }: ExpressionOf<'number'>,
  { refuse }: Clock,
): Expression {
  const times = Number(text)
  if (!Number.isSafeInteger(times) || Math.abs(times) > 100_000)
    throw refuse(at, 'an interval is multiplied by a whole number.')
  return { kind: 'interval', months: months * times, seconds: seconds * times, at }
}

const MOST_MONTHS = 12 * 9_999

/** As in PostgreSQL, the 31st becomes the last day of a shorter month. `undefined` for a month far outside the years of texts. */
function addMonths(nano: bigint, months: number): bigint | undefined {
  if (months === 0) return nano
  if (Math.abs(months) > MOST_MONTHS) return undefined
  const month = periodAt('month', divideRoundingDown(nano, ONE_SECOND))
  const startAt = (later: number) => startOf('month', month + later) * ONE_SECOND
  const [start, next] = [startAt(months), startAt(months + 1)]
  const within = nano - startAt(0)
  const day = SECONDS_PER_DAY * ONE_SECOND
  const lastDay = next - day - start + (within % day)
  return start + (within < lastDay ? within : lastDay)
}
