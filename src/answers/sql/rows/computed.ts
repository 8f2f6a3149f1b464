import { entry, must } from '../../../privacy/must.ts'
import type { ArithmeticOperator, Call, Expression, ExpressionOf } from '../parsing/statement.ts'
import { numberOf, type Scope } from '../scope.ts'
import {
  type Cell,
  type CellType,
  type Computed,
  type Group,
  type Range,
  type Slot,
  type Slots,
  valueIn,
} from './row-values.ts'

/*
 * Values that are computed from the values of a group: arithmetic, rounding and casts. It is post-processing, and free. The
 * half-width of a computed value holds with the confidence of the answer: each of the n noisy values that it is made from is
 * taken to be within the half-width that it exceeds with 1/n of the remaining probability, and the true result lies between the
 * least and the greatest result of such values.
 */

/** Returns the half-width of a computed value; null if it is not known. */
export function halfWidthOf({ noisy, valueFor, rangeFor }: Computed, group: Group): number | null {
  const value = valueFor(group)
  const range = rangeFor(group, noisy.size)
  if (typeof value !== 'number' || range === undefined) return null
  const halfWidth = Math.max(value - range.lower, range.upper - value)
  return Number.isFinite(halfWidth) ? halfWidth : null
}

/**
 * Compiles an expression over the values of groups.
 * @param slots finds columns of GROUP BY and aggregates
 * @throws Refusal `sql-not-supported` for other expressions, `query-does-not-fit` for values of other types
 */
export function compileValue(scope: Scope, slots: Slots, expression: Expression): Computed {
  const compile = (part: Expression) => compileValue(scope, slots, part)
  switch (expression.kind) {
    case 'number': {
      const value = numberOf(scope, expression, 'the value')
      return constant(value, Number.isInteger(value) ? 'integer' : 'number')
    }
    case 'text': {
      const { value, type = 'text' } = expression
      return constant(value, type === 'timestamptz' ? 'timestamp' : type)
    }
    case 'boolean':
      return constant(expression.value, 'boolean')
    case 'null':
      return constant(null, 'text')
    case 'arithmetic': {
      const [left, right] = [
        numeric(scope, expression.left, compile),
        numeric(scope, expression.right, compile),
      ]
      return calculated(expression.op, left, right)
    }
    case 'cast':
      return cast(scope, expression, compile(expression.value))
    case 'call':
      return isFunction(expression.name) ? called(scope, expression, compile) : ofSlot(slots(expression))
    default:
      return ofSlot(slots(expression))
  }
}

function constant(value: Cell, type: CellType): Computed {
  const range = typeof value === 'number' ? { lower: value, upper: value } : undefined
  return { type, noisy: new Set(), valueFor: () => value, rangeFor: () => range }
}

function ofSlot(slot: Slot): Computed {
  if ('computed' in slot) return slot.computed
  const { type } = slot
  const valueFor = (group: Group) => valueIn(group, slot)
  if ('key' in slot)
    return { type, noisy: new Set(), valueFor, rangeFor: (group) => around(valueFor(group), 0) }
  const { measure, inUnitOfValue } = slot
  return {
    type,
    noisy: new Set([`measure ${measure}`]),
    valueFor,
    rangeFor: (group, parts) =>
      inUnitOfValue ? around(valueFor(group), group.measured[measure]?.among(parts) ?? null) : undefined,
  }
}

function around(value: Cell, halfWidth: number | null): Range | undefined {
  if (typeof value !== 'number' || halfWidth === null) return undefined
  return { lower: value - halfWidth, upper: value + halfWidth }
}

/** Compiles a number. @throws Refusal `query-does-not-fit` for another value */
export function numeric(scope: Scope, part: Expression, compile: Compile): Computed {
  const found = compile(part)
  if (found.type === 'number' || found.type === 'integer') return found
  throw scope.misfit(part.at, `this is of type ${found.type}; arithmetic needs numbers.`)
}

const CALCULATE: Readonly<Record<ArithmeticOperator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
}

/** A division by 0, which stops a statement in PostgreSQL, gives NULL, because the divisor can be 0 by its noise. */
function calculated(op: ArithmeticOperator, left: Computed, right: Computed): Computed {
  const calculate = CALCULATE[op]
  return {
    type: op !== '/' && left.type === 'integer' && right.type === 'integer' ? 'integer' : 'number',
    noisy: new Set([...left.noisy, ...right.noisy]),
    valueFor: (group) => {
      const [one, other] = [left.valueFor(group), right.valueFor(group)]
      if (typeof one !== 'number' || typeof other !== 'number' || (op === '/' && other === 0)) return null
      return finite(calculate(one, other))
    },
    rangeFor: (group, parts) => {
      const [one, other] = [left.rangeFor(group, parts), right.rangeFor(group, parts)]
      if (one === undefined || other === undefined) return undefined
      if (op === '/' && other.lower <= 0 && other.upper >= 0) return undefined
      const ends = [one.lower, one.upper].flatMap((each) => [
        calculate(each, other.lower),
        calculate(each, other.upper),
      ])
      return { lower: Math.min(...ends), upper: Math.max(...ends) }
    },
  }
}

function finite(value: number): number | null {
  // Never -0, which JSON has as 0.
  return Number.isFinite(value) ? value + 0 : null
}

/** Rounds half away from zero, as PostgreSQL rounds decimals. */
function rounded(value: number, digits: number): number {
  const magnitude =
    digits < 0
      ? Math.round(Math.abs(value) / 10 ** -digits) * 10 ** -digits
      : Number(Math.abs(value).toFixed(digits))
  return magnitude * Math.sign(value) + 0
}

/** A function that never decreases: the ends of a range become those of the range of its values. */
function increasing(of: Computed, type: CellType, change: (value: number) => number): Computed {
  return {
    type,
    noisy: of.noisy,
    valueFor: (group) => {
      const value = of.valueFor(group)
      return typeof value === 'number' ? finite(change(value)) : null
    },
    rangeFor: (group, parts) => {
      const range = of.rangeFor(group, parts)
      return range && { lower: change(range.lower), upper: change(range.upper) }
    },
  }
}

/** A function of values that are no numbers. */
function changed(of: Computed, type: CellType, change: (value: Cell) => Cell): Computed {
  return {
    type,
    noisy: of.noisy,
    valueFor: (group) => change(of.valueFor(group)),
    rangeFor: () => undefined,
  }
}

const DATE_LENGTH = 'yyyy-mm-dd'.length

function cast(scope: Scope, { type, digits, at }: ExpressionOf<'cast'>, of: Computed): Computed {
  const isNumber = of.type === 'number' || of.type === 'integer'
  if (type === of.type && digits === undefined) return of
  if (isNumber && type === 'number')
    return digits === undefined ? { ...of, type } : increasing(of, type, (value) => rounded(value, digits))
  if (isNumber && type === 'integer') return increasing(of, type, (value) => rounded(value, 0))
  if (of.type === 'timestamp' && type === 'date')
    return changed(of, type, (value) => (typeof value === 'string' ? value.slice(0, DATE_LENGTH) : value))
  if (of.type === 'date' && type === 'timestamp')
    return changed(of, type, (value) => (typeof value === 'string' ? `${value}T00:00:00Z` : value))
  if (type === 'text' && of.noisy.size === 0)
    return changed(of, type, (value) => (value === null ? null : String(value)))
  throw scope.unsupported(at, `a cast of ${of.type} to ${type} is not supported here.`)
}

/** Compiles the arguments of a function. */
type Compile = (part: Expression) => Computed

/** A function of values of groups, and the number of its arguments. */
interface GroupFunction {
  readonly takes: readonly [fewest: number, most: number]
  readonly compile: (scope: Scope, parts: readonly Expression[], compile: Compile) => Computed
}

const FUNCTIONS: Readonly<Record<string, GroupFunction>> = {
  round: { takes: [1, 2], compile: rounding },
  floor: toWhole(Math.floor),
  ceil: toWhole(Math.ceil),
  ceiling: toWhole(Math.ceil),
  trunc: toWhole(Math.trunc),
  coalesce: { takes: [1, 8], compile: coalesced },
  nullif: { takes: [2, 2], compile: nullIf },
  upper: ofText('upper', (text) => text.toUpperCase()),
  lower: ofText('lower', (text) => text.toLowerCase()),
}

/** True for the name of a function that can be computed from the values of groups. */
export function isFunction(name: string): boolean {
  return Object.hasOwn(FUNCTIONS, name)
}

function called(scope: Scope, { name, at, ...call }: Call, compile: Compile): Computed {
  const { takes, compile: compileCall } = must(FUNCTIONS[name], 'a function of values of groups')
  const [fewest, most] = takes
  const parts = call.arguments
  if (parts.length < fewest || parts.length > most || call.star || call.distinct)
    throw scope.unsupported(at, `${name} has other arguments.`)
  if (call.filter !== undefined || call.over) throw scope.unsupported(at, `${name} is no aggregate.`)
  return compileCall(scope, parts, compile)
}

const MOST_DIGITS = 15

function rounding(scope: Scope, parts: readonly Expression[], compile: Compile): Computed {
  const [value, places] = [entry(parts, 0), parts[1]]
  const digits = places === undefined ? 0 : numberOf(scope, places, 'the number of digits')
  if (!Number.isInteger(digits) || Math.abs(digits) > MOST_DIGITS)
    throw scope.unsupported(
      places?.at,
      `the number of digits must be from -${MOST_DIGITS} to ${MOST_DIGITS}.`,
    )
  const type = digits > 0 ? 'number' : 'integer'
  return increasing(numeric(scope, value, compile), type, (each) => rounded(each, digits))
}

function toWhole(change: (value: number) => number): GroupFunction {
  return {
    takes: [1, 1],
    compile: (scope, parts, compile) =>
      increasing(numeric(scope, entry(parts, 0), compile), 'integer', change),
  }
}

function ofText(name: string, change: (text: string) => string): GroupFunction {
  return {
    takes: [1, 1],
    compile(scope, parts, compile) {
      const part = entry(parts, 0)
      const of = compile(part)
      if (of.type !== 'text') throw scope.misfit(part.at, `${name} needs a text; this is of type ${of.type}.`)
      return changed(of, 'text', (value) => (typeof value === 'string' ? change(value) : value))
    },
  }
}

/** The first value that is not NULL. Aggregates with noise are never NULL, so the range is that of the first. */
function coalesced(scope: Scope, parts: readonly Expression[], compile: Compile): Computed {
  const [one, ...others] = parts
  const first = compile(must(one, 'an argument'))
  const values = [first, ...others.map((part) => sameType(scope, part, first, compile))]
  return {
    type: values.every(({ type }) => type === first.type) ? first.type : 'number',
    noisy: new Set(values.flatMap(({ noisy }) => [...noisy])),
    valueFor: (group) =>
      values.map(({ valueFor }) => valueFor(group)).find((value) => value !== null) ?? null,
    rangeFor: (group, among) => (first.valueFor(group) === null ? undefined : first.rangeFor(group, among)),
  }
}

/** Compiles a value of the type of another one. @throws Refusal `query-does-not-fit` for another value */
export function sameType(scope: Scope, part: Expression, first: Computed, compile: Compile): Computed {
  const isNumber = (type: CellType) => type === 'number' || type === 'integer'
  const value = compile(part)
  if (value.type === first.type || (isNumber(value.type) && isNumber(first.type))) return value
  throw scope.misfit(part.at, `this must be of type ${first.type}, as the first value is.`)
}

function nullIf(scope: Scope, parts: readonly Expression[], compile: Compile): Computed {
  const other = entry(parts, 1)
  const [value, unwanted] = [compile(entry(parts, 0)), compile(other)]
  if (unwanted.noisy.size > 0) throw scope.unsupported(other.at, 'NULLIF compares with a constant.')
  return {
    ...value,
    valueFor: (group) => {
      const found = value.valueFor(group)
      return found === unwanted.valueFor(group) ? null : found
    },
  }
}
