import { parseInstant } from '../../../core/dataset/iso-time.ts'
import { entry } from '../../../privacy/must.ts'
import type {
  ComparisonOperator,
  Expression,
  ExpressionOf,
  SortKey,
  Statement,
} from '../parsing/statement.ts'
import { literalOf, numberOf, type Scope } from '../scope.ts'
import { memoized } from './memoized.ts'
import { patternOf } from './pattern.ts'
import { type Cell, type CellType, type Group, type Slot, type Slots, valueIn } from './row-values.ts'

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
    case 'or':
      return combine(expression.kind === 'or', expression.parts.map(compile))
    case 'not':
      return negate(compile(expression.part))
    case 'comparison': {
      const { op, left, right } = expression
      const operandOf = operands(scope, slots, [left, right])
      return compare(op, operandOf(left), operandOf(right))
    }
    case 'between': {
      const { value, lower, upper } = expression
      const operandOf = operands(scope, slots, [value, lower, upper])
      const ends = [
        compare('>=', operandOf(value), operandOf(lower)),
        compare('<=', operandOf(value), operandOf(upper)),
      ]
      return combine(false, ends)
    }
    case 'in': {
      const { value, list } = expression
      const operandOf = operands(scope, slots, [value, ...list])
      return combine(
        true,
        list.map((element) => compare('=', operandOf(value), operandOf(element))),
      )
    }
    case 'like':
      return like(scope, slots, expression)
    case 'isNull': {
      const slot = slots(expression.value)
      return (group) => valueIn(group, slot) === null
    }
    default:
      throw scope.unsupported(expression.at, HAVING)
  }
}

/** Combines conditions: one that is decisive decides, TRUE for OR and FALSE for AND; otherwise an unknown one does. */
function combine(decisive: boolean, conditions: readonly Condition[]): Condition {
  return (group) => {
    const truths = conditions.map((condition) => condition(group))
    if (truths.includes(decisive)) return decisive
    return truths.includes(null) ? null : !decisive
  }
}

function negate(condition: Condition): Condition {
  return (group) => {
    const truth = condition(group)
    return truth === null ? null : !truth
  }
}

/** LIKE: % stands for any characters, _ for one, and a backslash makes the next character itself. */
function like(scope: Scope, slots: Slots, { value, pattern, anyCase }: ExpressionOf<'like'>): Condition {
  const slot = slots(value)
  if (slot.type !== 'text') throw scope.misfit(value.at, `LIKE needs a text; this is of type ${slot.type}.`)
  if (pattern.kind !== 'text' || pattern.type !== undefined)
    throw scope.unsupported(pattern.at, "the pattern of LIKE is a constant such as 'a%'.")
  const spelled = (text: string) => (anyCase ? text.toLowerCase() : text)
  const matches = patternOf(spelled(pattern.value))
  return (group) => {
    const text = valueIn(group, slot)
    return typeof text === 'string' ? matches(spelled(text)) : null
  }
}

const HAVING = 'HAVING compares aggregates and columns of GROUP BY with constants.'

/** A value that can be ordered: a number, 0 or 1 for a boolean, the instant of a time, or the bytes of a text. */
export type Comparable = number | bigint | Uint8Array | null
type Operand = (group: Group) => Comparable

const CONSTANTS: readonly Expression['kind'][] = ['number', 'text', 'boolean', 'null']

/**
 * Compiles the sides of a comparison. Constants are read as values of the type that they are compared with.
 * @throws Refusal `sql-not-supported` if all are constants, `query-does-not-fit` for values of different types
 */
function operands(scope: Scope, slots: Slots, parts: readonly Expression[]): (part: Expression) => Operand {
  const found = new Map(parts.flatMap((part) => (CONSTANTS.includes(part.kind) ? [] : [[part, slots(part)]])))
  const [known] = found
  if (known === undefined) throw scope.unsupported(entry(parts, 0).at, HAVING)
  const [first, { type }] = known
  const name = first.kind === 'column' || first.kind === 'call' ? first.name : 'the value'
  return memoized((part) => {
    const slot = found.get(part)
    if (part.kind === 'null') return () => null
    if (slot === undefined) {
      const value = comparableOf(literalOf(scope, { name, type }, part), type)
      return () => value
    }
    if (FAMILIES[slot.type] !== FAMILIES[type])
      throw scope.misfit(
        part.at,
        `values of type ${slot.type} cannot be compared with those of type ${type}.`,
      )
    return (group) => comparableOf(valueIn(group, slot), slot.type)
  })
}

/** Types whose values can be compared with each other. */
const FAMILIES: Readonly<Record<CellType, 'number' | 'text' | 'boolean' | 'time'>> = {
  number: 'number',
  integer: 'number',
  date: 'time',
  timestamp: 'time',
  text: 'text',
  boolean: 'boolean',
}

/** Returns a value in a form that can be ordered. */
export function comparableOf(cell: Cell, type: CellType): Comparable {
  if (cell === null) return null
  if (typeof cell !== 'string') return Number(cell)
  return FAMILIES[type] === 'time' ? (parseInstant(cell) ?? null) : Buffer.from(cell)
}

/** Holds if the order of the left side to the right one satisfies an operator. */
const HOLDS: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

function compare(op: ComparisonOperator, ofLeft: Operand, ofRight: Operand): Condition {
  return (group) => {
    const [left, right] = [ofLeft(group), ofRight(group)]
    return left === null || right === null ? null : HOLDS[op](orderOf(left, right))
  }
}

/** Negative, 0 or positive, as a comparison function of a sort returns it. Texts are in the order of their code points. */
export function orderOf(left: NonNullable<Comparable>, right: NonNullable<Comparable>): number {
  if (typeof left === 'object' && typeof right === 'object') return Buffer.compare(left, right)
  return left < right ? -1 : left > right ? 1 : 0
}

/** A value by which groups are sorted. */
export interface OrderKey {
  readonly slot: Slot
  readonly key: Pick<SortKey, 'descending' | 'nullsFirst'>
}

/** Returns the order of two groups by the keys of ORDER BY, as a comparison function of a sort. */
export function orderBy(keys: readonly OrderKey[]): (left: Group, right: Group) => number {
  const valuesOf = memoized((group: Group) =>
    keys.map(({ slot }) => comparableOf(valueIn(group, slot), slot.type)),
  )
  return (one, other) => {
    const [left, right] = [valuesOf(one), valuesOf(other)]
    for (const [place, { key }] of keys.entries()) {
      const order = orderOfCells(left[place] ?? null, right[place] ?? null, key)
      if (order !== 0) return order
    }
    return 0
  }
}

function orderOfCells(
  left: Comparable,
  right: Comparable,
  { descending, nullsFirst }: Pick<SortKey, 'descending' | 'nullsFirst'>,
): number {
  if (left === null || right === null) {
    if (left === right) return 0
    return (left === null) === nullsFirst ? -1 : 1
  }
  const order = orderOf(left, right)
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
