import { parseDate, parseInstant } from '../catalog/iso-time.ts'
import type { Cell } from './grouping.ts'
import type { Group } from './result.ts'
import { numberOf, type Scope } from './scope.ts'
import type { ComparisonOperator, Expression, SortKey, Statement } from './statement.ts'

/** A value of a group: one by which rows are grouped, or that of an aggregate. */
export type Slot = { readonly key: number } | { readonly measure: number }

/** Finds the value of an expression; throws a refusal for other expressions. */
export type Slots = (expression: Expression) => Slot

export function valueIn({ keys, measured }: Group, slot: Slot): Cell {
  return 'key' in slot ? (keys[slot.key] ?? null) : (measured[slot.measure]?.value ?? null)
}

/** TRUE, FALSE, or null for unknown. */
type Truth = boolean | null
type Condition = (group: Group) => Truth

/**
 * Compiles a HAVING clause, in the three-valued logic of SQL.
 * @throws Refusal `sql-not-supported` for other expressions than comparisons of aggregates or keys with constants
 */
export function compileHaving(scope: Scope, slots: Slots, expression: Expression): Condition {
  const compile = (part: Expression) => compileHaving(scope, slots, part)
  switch (expression.kind) {
    case 'and':
    case 'or': {
      const parts = expression.parts.map(compile)
      const decisive = expression.kind === 'or'
      return (group) => {
        const truths = parts.map((part) => part(group))
        if (truths.includes(decisive)) return decisive
        return truths.includes(null) ? null : !decisive
      }
    }
    case 'not':
      return negate(compile(expression.part))
    case 'comparison': {
      const { op, left, right } = expression
      const [leftOf, rightOf] = [operand(scope, slots, left), operand(scope, slots, right)]
      return (group) => compare(op, leftOf(group), rightOf(group))
    }
    case 'between': {
      const [value, lower, upper] = [expression.value, expression.lower, expression.upper].map((part) =>
        operand(scope, slots, part),
      )
      if (value === undefined || lower === undefined || upper === undefined)
        throw new RangeError('three operands')
      const within: Condition = (group) => {
        const [below, above] = [
          compare('>=', value(group), lower(group)),
          compare('<=', value(group), upper(group)),
        ]
        if (below === false || above === false) return false
        return below === null || above === null ? null : true
      }
      return expression.negated ? negate(within) : within
    }
    case 'in': {
      const value = operand(scope, slots, expression.value)
      const list = expression.list.map((part) => operand(scope, slots, part))
      const member: Condition = (group) => {
        const truths = list.map((each) => compare('=', value(group), each(group)))
        if (truths.includes(true)) return true
        return truths.includes(null) ? null : false
      }
      return expression.negated ? negate(member) : member
    }
    case 'isNull': {
      const value = operand(scope, slots, expression.value)
      return (group) => (value(group) === null) !== expression.negated
    }
    default:
      throw scope.unsupported(expression.at, 'HAVING compares aggregates with constants.')
  }
}

function negate(condition: Condition): Condition {
  return (group) => {
    const truth = condition(group)
    return truth === null ? null : !truth
  }
}

function operand(scope: Scope, slots: Slots, expression: Expression): (group: Group) => Cell {
  switch (expression.kind) {
    case 'number': {
      const value = numberOf(scope, expression, 'the value')
      return () => value
    }
    case 'text': {
      const { value } = expression
      return () => value
    }
    case 'boolean': {
      const { value } = expression
      return () => value
    }
    case 'null':
      return () => null
    default: {
      const slot = slots(expression)
      return (group) => valueIn(group, slot)
    }
  }
}

/** Compares two values. Values of different types are neither equal nor ordered. */
function compare(op: ComparisonOperator, left: Cell, right: Cell): Truth {
  if (left === null || right === null) return null
  const order = orderOf(left, right)
  if (order === undefined) return op === '<>'
  switch (op) {
    case '=':
      return order === 0
    case '<>':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Negative, 0 or positive, as a comparison function of a sort returns it; undefined for different types. */
function orderOf(left: NonNullable<Cell>, right: NonNullable<Cell>): number | undefined {
  if (typeof left !== typeof right) return undefined
  if (typeof left !== 'string' || typeof right !== 'string') return Number(left) - Number(right)
  const [leftTime, rightTime] = [timeOf(left), timeOf(right)]
  if (leftTime !== undefined && rightTime !== undefined)
    return leftTime < rightTime ? -1 : leftTime > rightTime ? 1 : 0
  return left < right ? -1 : left > right ? 1 : 0
}

/** The nanoseconds of a date or an instant, in any spelling. */
function timeOf(text: string): bigint | undefined {
  return parseDate(text) === undefined && !text.includes('T') ? undefined : parseInstant(text)
}

/** Compiles ORDER BY to a function that compares groups. Groups that are equal keep their order. */
export function compileOrder(
  keys: readonly { readonly slot: Slot; readonly key: Pick<SortKey, 'descending' | 'nullsFirst'> }[],
): (left: Group, right: Group) => number {
  return (left, right) => {
    for (const { slot, key } of keys) {
      const order = orderOfCells(valueIn(left, slot), valueIn(right, slot), key)
      if (order !== 0) return order
    }
    return 0
  }
}

function orderOfCells(
  left: Cell,
  right: Cell,
  { descending, nullsFirst }: Pick<SortKey, 'descending' | 'nullsFirst'>,
): number {
  if (left === null || right === null) {
    if (left === right) return 0
    return (left === null) === nullsFirst ? -1 : 1
  }
  const order = orderOf(left, right) ?? 0
  return descending ? -order : order
}

/**
 * Returns the numbers of rows that LIMIT and OFFSET keep and leave out.
 * @throws Refusal `sql-not-supported` for anything but whole numbers
 */
export function sliceOf(
  scope: Scope,
  { limit, offset }: Pick<Statement, 'limit' | 'offset'>,
): { readonly from: number; readonly count: number } {
  const count = (part: Expression | undefined, clause: string, absent: number): number => {
    // LIMIT ALL and LIMIT NULL keep all rows.
    if (part === undefined || part.kind === 'null') return absent
    const value = numberOf(scope, part, clause)
    if (Number.isSafeInteger(value) && value >= 0) return value
    throw scope.unsupported(part.at, `${clause} must be a whole number, at least 0.`)
  }
  return { from: count(offset, 'OFFSET', 0), count: count(limit, 'LIMIT', Number.POSITIVE_INFINITY) }
}
