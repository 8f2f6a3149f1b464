import { parseInstant } from '../catalog/iso-time.ts'
import type { Cell, CellType } from './grouping.ts'
import type { Group } from './result.ts'
import { literalOf, numberOf, type Scope } from './scope.ts'
import type { ComparisonOperator, Expression, SortKey, Statement } from './statement.ts'

/** A value of a group: one by which it is grouped, or that of an aggregate. */
export type Slot = { readonly type: CellType } & ({ readonly key: number } | { readonly measure: number })

/** Finds the value of an expression; throws a refusal for other expressions. */
export type Slots = (expression: Expression) => Slot

/** Returns the value of a group in a slot; null if there is none. */
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
      const [ofLeft = ABSENT, ofRight = ABSENT] = operands(scope, slots, [left, right])
      return (group) => compare(op, ofLeft(group), ofRight(group))
    }
    case 'between': {
      const { value, lower, upper } = expression
      const [ofValue = ABSENT, ofLower = ABSENT, ofUpper = ABSENT] = operands(scope, slots, [
        value,
        lower,
        upper,
      ])
      const within: Condition = (group) => {
        const below = compare('>=', ofValue(group), ofLower(group))
        const above = compare('<=', ofValue(group), ofUpper(group))
        if (below === false || above === false) return false
        return below === null || above === null ? null : true
      }
      return expression.negated ? negate(within) : within
    }
    case 'in': {
      const [ofValue = ABSENT, ...list] = operands(scope, slots, [expression.value, ...expression.list])
      const member: Condition = (group) => {
        const truths = list.map((ofElement) => compare('=', ofValue(group), ofElement(group)))
        if (truths.includes(true)) return true
        return truths.includes(null) ? null : false
      }
      return expression.negated ? negate(member) : member
    }
    case 'isNull': {
      const slot = slots(expression.value)
      return (group) => (valueIn(group, slot) === null) !== expression.negated
    }
    default:
      throw scope.unsupported(expression.at, HAVING)
  }
}

function negate(condition: Condition): Condition {
  return (group) => {
    const truth = condition(group)
    return truth === null ? null : !truth
  }
}

const HAVING = 'HAVING compares aggregates and columns of GROUP BY with constants.'

/** A value that can be ordered: a number, 0 or 1 for a boolean, the instant of a time, or the bytes of a text. */
type Comparable = number | bigint | Uint8Array | null
type Operand = (group: Group) => Comparable

const ABSENT: Operand = () => null
const CONSTANTS: readonly Expression['kind'][] = ['number', 'text', 'boolean', 'null']

/**
 * Compiles the sides of a comparison. Constants are read as values of the type that they are compared with.
 * @throws Refusal `sql-not-supported` if all are constants, `query-does-not-fit` for values of different types
 */
function operands(scope: Scope, slots: Slots, parts: readonly Expression[]): readonly Operand[] {
  const sides = parts.map((part) => ({ part, slot: CONSTANTS.includes(part.kind) ? undefined : slots(part) }))
  const known = sides.find(({ slot }) => slot !== undefined)
  if (known?.slot === undefined) throw scope.unsupported(parts[0]?.at ?? 0, HAVING)
  const { type } = known.slot
  const { part } = known
  const name = part.kind === 'column' || part.kind === 'call' ? part.name : 'the value'
  return sides.map(({ part, slot }) => {
    if (part.kind === 'null') return ABSENT
    if (slot === undefined) {
      const value = comparableOf(literalOf(scope, { name, type }, part), type)
      return () => value
    }
    if (familyOf(slot.type) !== familyOf(type))
      throw scope.misfit(
        part.at,
        `values of type ${slot.type} cannot be compared with those of type ${type}.`,
      )
    return (group) => comparableOf(valueIn(group, slot), slot.type)
  })
}

/** Types whose values can be compared with each other. */
function familyOf(type: CellType): 'number' | 'text' | 'boolean' | 'time' {
  switch (type) {
    case 'number':
    case 'integer':
      return 'number'
    case 'date':
    case 'timestamp':
      return 'time'
    case 'text':
    case 'boolean':
      return type
  }
}

function comparableOf(cell: Cell, type: CellType): Comparable {
  if (cell === null) return null
  if (typeof cell !== 'string') return Number(cell)
  return familyOf(type) === 'time' ? (parseInstant(cell) ?? null) : Buffer.from(cell)
}

function compare(op: ComparisonOperator, left: Comparable, right: Comparable): Truth {
  if (left === null || right === null) return null
  const order = orderOf(left, right)
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

/** Negative, 0 or positive, as a comparison function of a sort returns it. Texts are in the order of their code points. */
function orderOf(left: NonNullable<Comparable>, right: NonNullable<Comparable>): number {
  if (typeof left === 'object' && typeof right === 'object') return Buffer.compare(left, right)
  return left < right ? -1 : left > right ? 1 : 0
}

/** Sorts groups by the keys of ORDER BY. Groups that are equal keep their order. */
export function sortGroups(
  groups: readonly Group[],
  keys: readonly { readonly slot: Slot; readonly key: Pick<SortKey, 'descending' | 'nullsFirst'> }[],
): readonly Group[] {
  const rows = groups.map((group) => ({
    group,
    values: keys.map(({ slot }) => comparableOf(valueIn(group, slot), slot.type)),
  }))
  rows.sort((left, right) => {
    for (const [place, { key }] of keys.entries()) {
      const order = orderOfCells(left.values[place] ?? null, right.values[place] ?? null, key)
      if (order !== 0) return order
    }
    return 0
  })
  return rows.map(({ group }) => group)
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
