import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import { type GridColumn, isGrid, type QueryableColumn } from '../../core/dataset/dataset.ts'
import { valueOfIndex } from '../../core/dataset/grid-value.ts'
import type { GroupKey } from '../../core/planner/language/aggregate.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { TURNED } from '../../core/planner/language/expressions/derive.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import { entry } from '../../privacy/must.ts'
import { computedColumn, namesIn, needsComputing } from './computed-columns.ts'
import { isGroupingFunction } from './grouping.ts'
import { type CellValues, valuesOfCells } from './keys.ts'
import { contains, withoutPlaces } from './parsing/expressions.ts'
import type { ComparisonOperator, Expression, ExpressionOf } from './parsing/statement.ts'
import { isFunction } from './rows/computed.ts'
import { compileHaving } from './rows/post-processing.ts'
import { NO_GROUPS, type Slots } from './rows/row-values.ts'
import { columnOf, literalOf, type Scope } from './scope.ts'

const COMPLEMENTS: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}

/**
 * Translates the condition of a WHERE clause. SQL has three truth values and the predicates of queries have two. So each
 * expression becomes one of two predicates, which no row satisfies both of: that the expression is TRUE, or that it is
 * FALSE. A row for which it is unknown, because a value is NULL, satisfies neither.
 */
export function conditionOf(scope: Scope, expression: Expression): QueryPredicate {
  return predicateOf(scope, expression, true)
}

/** @param truth the truth value that the expression must have */
function predicateOf(scope: Scope, expression: Expression, truth: boolean): QueryPredicate {
  const { at } = expression
  switch (expression.kind) {
    case 'and':
    case 'or': {
      const parts = expression.parts.map((part) => predicateOf(scope, part, truth))
      // De Morgan: a conjunction is FALSE if one part is FALSE.
      return scope.place(combine((expression.kind === 'and') === truth ? 'and' : 'or', parts), at)
    }
    case 'not':
      return predicateOf(scope, expression.part, !truth)
    case 'column': {
      const column = columnOf(scope, expression)
      if (column.type !== 'boolean')
        throw scope.misfit(at, `${column.name} is of type ${column.type}: compare it with a value.`)
      return scope.place({ column: column.name, op: '=', value: truth }, at)
    }
    case 'comparison': {
      const { left, right } = expression
      if (namesIn(left).size > 0 && namesIn(right).size > 0) return ofColumns(scope, expression, truth)
      const isOverCells = isOfCells(left) || isOfCells(right)
      return (isOverCells ? overCells : comparison)(scope, expression, truth)
    }
    case 'like':
      return overCells(scope, expression, truth)
    case 'same':
      return opposite(scope, equality(scope, expression), !truth, at)
    case 'between':
      return (isOfCells(expression.value) ? overCells : between)(scope, expression, truth)
    case 'in':
      return (isOfCells(expression.value) ? overCells : membership)(scope, expression, truth)
    case 'isNull': {
      const column = requireColumn(scope, expression.value, 'IS NULL')
      return opposite(scope, scope.place({ column: column.name, op: 'isNull' }, at), !truth, at)
    }
    case 'truth':
      return truthTest(scope, expression, truth)
    case 'boolean':
      throw scope.unsupported(at, 'a condition is about a column. Leave TRUE and FALSE out.')
    case 'call':
      throw scope.unsupported(at, NO_FUNCTIONS)
    default:
      throw scope.unsupported(at, 'a condition compares a column with constants.')
  }
}

function requireColumn(scope: Scope, expression: Expression, construct: string): QueryableColumn {
  if (expression.kind === 'column' || needsComputing(expression)) return computedColumn(scope, expression)
  if (expression.kind === 'call') throw scope.unsupported(expression.at, NO_FUNCTIONS)
  throw scope.unsupported(expression.at, `${construct} needs a column.`)
}

/** The column and the constant of a comparison, in either order. */
function sides(scope: Scope, { left, right, at }: { left: Expression; right: Expression; at: number }) {
  const isOperand = (side: Expression) => side.kind === 'column' || needsComputing(side)
  if (isOperand(left) && isOperand(right))
    throw scope.unsupported(
      at,
      'columns are compared by =, <> and order only. Compare a column with a constant.',
    )
  const mirrored = !isOperand(left) && isOperand(right)
  const [named, constant] = mirrored ? [right, left] : [left, right]
  const column = requireColumn(scope, named, 'a comparison')
  return { column, mirrored, constant }
}

function comparison(scope: Scope, expression: ExpressionOf<'comparison'>, truth: boolean): QueryPredicate {
  const { column, mirrored, constant } = sides(scope, expression)
  const { value, op } = onDays(scope, column, constant, mirrored ? TURNED[expression.op] : expression.op)
  return scope.place({ column: column.name, op: truth ? op : COMPLEMENTS[op], value }, constant.at)
}

/** Two columns are compared by their difference with 0, which is NULL if one of them is. */
function ofColumns(scope: Scope, expression: ExpressionOf<'comparison'>, truth: boolean): QueryPredicate {
  const { op, left, right, at } = expression
  requireColumns(scope, left)
  if (withoutPlaces(left) === withoutPlaces(right)) throw scope.unsupported(at, sameOnBothSides(op))
  const columns = [left, right].map((side) => computedColumn(scope, side))
  if (new Set(columns.map(({ name }) => name)).size === 1) throw scope.unsupported(at, sameOnBothSides(op))
  const other = columns.find((column) => !isGrid(column))
  if (other !== undefined) {
    const rule = `columns of numbers, dates and timestamps can be compared; ${other.name} is of type ${other.type}. Compare it with a constant.`
    throw scope.unsupported(at, rule)
  }
  const difference: Expression = { kind: 'arithmetic', op: '-', left, right, at }
  if (!needsComputing(difference))
    throw scope.unsupported(at, 'both sides are computed from one column. Compare it with a constant.')
  const { name } = computedColumn(scope, difference)
  return scope.place({ column: name, op: truth ? op : COMPLEMENTS[op], value: 0 }, at)
}

/** @throws Refusal for a column that queries cannot use */
function requireColumns(scope: Scope, expression: Expression): void {
  contains(expression, (part) => {
    if (part.kind === 'column') columnOf(scope, part)
    return false
  })
}

function sameOnBothSides(op: ComparisonOperator): string {
  return op === '=' || op === '<=' || op === '>='
    ? 'both sides are the same, so this holds wherever they have a value. Write IS NOT NULL, or leave it out.'
    : 'both sides are the same, so this never holds. Leave it out.'
}

function isTimestamp(constant: Expression): boolean {
  return constant.kind === 'text' && constant.type !== undefined && constant.type !== 'date'
}

/**
 * The constant of a comparison. A date that is compared with a timestamp is compared with the day that contains it: before noon
 * of a day is the same as up to this day.
 */
function onDays(scope: Scope, column: QueryableColumn, constant: Expression, op: ComparisonOperator) {
  if (column.type !== 'date' || !isTimestamp(constant))
    return { value: literalOf(scope, column, constant), op }
  const instant = literalOf(scope, { name: column.name, type: 'timestamp' }, constant)
  const [day = '', time = ''] = String(instant).split('T')
  if (/^(00:00(:00(\.0+)?)?Z?)?$/.test(time)) return { value: day, op }
  if (!time.endsWith('Z') || op === '=' || op === '!=')
    throw scope.misfit(
      constant.at,
      `${column.name} is of type date: compare it with a date, or with a time in UTC.`,
    )
  return { value: day, op: op === '<' || op === '<=' ? ('<=' as const) : ('>' as const) }
}

/** The opposite of a predicate that is never unknown, if it is wanted. */
function opposite({ place }: Scope, predicate: QueryPredicate, isWanted: boolean, at: number) {
  return isWanted ? place({ op: 'not', predicate }, at) : predicate
}

/** IS NOT DISTINCT FROM. */
function equality(scope: Scope, expression: ExpressionOf<'same'>): QueryPredicate {
  const { column, constant } = sides(scope, expression)
  if (constant.kind === 'null') return scope.place({ column: column.name, op: 'isNull' }, expression.at)
  return scope.place({ column: column.name, op: '=', value: literalOf(scope, column, constant) }, constant.at)
}

function between(scope: Scope, expression: ExpressionOf<'between'>, truth: boolean): QueryPredicate {
  const column = requireColumn(scope, expression.value, 'BETWEEN')
  if (column.type === 'date' && [expression.lower, expression.upper].some(isTimestamp)) {
    const { value: left, lower: least, upper: most, at } = expression
    const ends = [
      comparison(scope, { kind: 'comparison', op: '>=', left, right: least, at }, truth),
      comparison(scope, { kind: 'comparison', op: '<=', left, right: most, at }, truth),
    ]
    return scope.place(combine(truth ? 'and' : 'or', ends), at)
  }
  const lower = literalOf(scope, column, expression.lower)
  const upper = literalOf(scope, column, expression.upper)
  const { name } = column
  if (typeof lower === 'boolean' || typeof upper === 'boolean')
    throw scope.misfit(expression.at, `BETWEEN needs a column of numbers, dates or timestamps.`)
  if (truth) return scope.place({ column: name, op: 'between', lower, upper }, expression.at)
  const outside: readonly QueryPredicate[] = [
    scope.place({ column: name, op: '<', value: lower }, expression.lower.at),
    scope.place({ column: name, op: '>', value: upper }, expression.upper.at),
  ]
  return scope.place(combine('or', outside), expression.at)
}

function membership(scope: Scope, expression: ExpressionOf<'in'>, truth: boolean): QueryPredicate {
  const column = requireColumn(scope, expression.value, 'IN')
  const values = scope.place(
    expression.list.map((element) => literalOf(scope, column, element)),
    expression.list.map(({ at }) => at),
  )
  const { name } = column
  const [only, second] = values
  if (only !== undefined && second === undefined) {
    const [element = expression] = expression.list
    return scope.place({ column: name, op: truth ? '=' : '!=', value: only }, element.at)
  }
  const member = scope.place({ column: name, op: 'in', values }, expression.at)
  if (truth) return member
  // A row without a value is neither in the list nor outside of it.
  const absent: readonly QueryPredicate[] = [
    scope.place({ op: 'not', predicate: member }, expression.at),
    { op: 'not', predicate: scope.place({ column: name, op: 'isNull' }, expression.at) },
  ]
  return scope.place(combine('and', absent), expression.at)
}

function truthTest(scope: Scope, { is, value, at }: ExpressionOf<'truth'>, truth: boolean): QueryPredicate {
  if (is === 'unknown') {
    // Of a condition it would double the size of the predicate, again for each level of nesting.
    const column = requireColumn(scope, value, 'IS UNKNOWN')
    if (column.type !== 'boolean')
      throw scope.misfit(value.at, 'IS UNKNOWN needs a boolean column. Write IS NULL.')
    return opposite(scope, scope.place({ column: column.name, op: 'isNull' }, at), !truth, at)
  }
  return opposite(scope, predicateOf(scope, value, is === 'true'), !truth, at)
}

/** Combines predicates. Parts that are combined in the same way are joined, so that parentheses do not nest. */
export function combine(op: 'and' | 'or', parts: readonly QueryPredicate[]): QueryPredicate {
  const predicates = parts.flatMap((part) => (part.op === op ? part.predicates : [part]))
  const [only, second] = predicates
  return only !== undefined && second === undefined ? only : { op, predicates }
}

/** True for a value that is computed from a column. */
function isOfCells(expression: Expression): boolean {
  const { kind } = expression
  return (kind === 'call' || kind === 'cast' || kind === 'arithmetic') && !needsComputing(expression)
}

/**
 * Translates a condition on a value that is computed from one column: those cells of the column count for which it has the
 * truth value.
 */
function overCells(scope: Scope, expression: Expression, truth: boolean): QueryPredicate {
  scope.countComputed(expression.at)
  const found: CellValues[] = []
  const slots: Slots = (part) => {
    if (part.kind === 'call' && !isGroupingFunction(part.name) && !isFunction(part.name))
      throw scope.unsupported(part.at, NO_FUNCTIONS)
    const values = valuesOfCells(scope, part)
    if (found.push(values) > 1)
      throw scope.unsupported(part.at, 'a condition compares one column with constants.')
    return { key: 0, type: values.type }
  }
  const condition = compileHaving(scope, slots, expression)
  const { grouping, values } = entry(found, 0)
  const holds = values.map((value) => condition({ keys: [value], measured: [], all: NO_GROUPS }) === truth)
  return scope.place(rowsInCells(scope, grouping.key, grouping.labels, holds, expression.at), expression.at)
}

/** The rows in the cells of a column for which `holds` is true. */
function rowsInCells(
  { dataset, misfit, unsupported }: Scope,
  key: GroupKey,
  labels: readonly CellLabel[],
  holds: readonly boolean[],
  at: number,
): QueryPredicate {
  switch (key.kind) {
    case 'category':
    case 'boolean': {
      const values = labels.filter((label, cell) => holds[cell] === true && label !== null) as (
        | string
        | boolean
      )[]
      const [only, second] = values
      if (only === undefined) throw misfit(at, `no declared value of ${key.column} satisfies this.`)
      if (second === undefined) return { column: key.column, op: '=', value: only }
      return { column: key.column, op: 'in', values }
    }
    case 'bins': {
      const column = columnNamed(dataset, key.column)
      if (column === undefined || !isGrid(column))
        throw new RangeError('bins are those of a column on a grid')
      const ranges = rangesOf(key, column, holds)
      if (ranges.length > MOST_RANGES)
        throw unsupported(
          at,
          `this is ${ranges.length} ranges of ${column.name}; at most ${MOST_RANGES} are supported.`,
        )
      return ranges.length > 0 ? combine('or', ranges) : never(key.column)
    }
    case 'predicate':
    case 'rows-of-person':
      throw new RangeError('a condition is about a column')
  }
}

/** Largest number of ranges that a condition becomes. */
const MOST_RANGES = 1_000

/** A condition that no row satisfies. */
function never(column: string): QueryPredicate {
  const missing = { column, op: 'isNull' } as const
  return { op: 'and', predicates: [missing, { op: 'not', predicate: missing }] }
}

/** The bins for which `holds` is true. Those side by side are one range. */
function rangesOf(
  { edges, cycle }: Extract<GroupKey, { kind: 'bins' }>,
  column: GridColumn,
  holds: readonly boolean[],
): QueryPredicate[] {
  const { name, lowerIndex, upperIndex } = column
  const isIn = (bin: number) => holds[cycle === undefined ? bin : (cycle.first + bin) % cycle.length] === true
  const ranges: QueryPredicate[] = []
  const bins = edges.length - 1
  for (let bin = 0; bin < bins; bin += 1) {
    if (!isIn(bin)) continue
    let last = bin
    while (last + 1 < bins && isIn(last + 1)) last += 1
    const [start, end] = [entry(edges, bin), entry(edges, last + 1) - 1n]
    const lower = valueOfIndex(column, start > lowerIndex ? start : lowerIndex)
    const upper = valueOfIndex(column, end < upperIndex ? end : upperIndex)
    ranges.push({ column: name, op: 'between', lower, upper })
    bin = last
  }
  return ranges
}

const NO_FUNCTIONS =
  'functions are not supported in conditions, except date_trunc, EXTRACT, width_bucket, upper and lower. A condition compares ' +
  'a column with constants.'
