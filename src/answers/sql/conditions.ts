import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import type { QueryableColumn } from '../../core/dataset/dataset.ts'
import type { ComparisonOperator, Expression } from './parsing/statement.ts'
import { columnOf, literalOf, type Scope } from './scope.ts'

const COMPLEMENTS: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}
const MIRRORED: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/**
 * Receives each predicate with the place of the expression that it comes from, and each list of values with the places
 * of the values. Returns it.
 */
export type Placing = <Part extends QueryPredicate | readonly unknown[]>(
  part: Part,
  at: Part extends readonly unknown[] ? readonly number[] : number,
) => Part

/** The statement that a condition is part of. */
interface Context {
  readonly scope: Scope
  readonly place: Placing
}

/**
 * Translates the condition of a WHERE clause. SQL has three truth values and the predicates of queries have two. So each
 * expression becomes one of two predicates, which no row satisfies both of: that the expression is TRUE, or that it is
 * FALSE. A row for which it is unknown, because a value is NULL, satisfies neither.
 */
export function conditionOf(scope: Scope, place: Placing, expression: Expression): QueryPredicate {
  return predicateOf({ scope, place }, expression, true)
}

/** @param truth the truth value that the expression must have */
function predicateOf(context: Context, expression: Expression, truth: boolean): QueryPredicate {
  const { scope, place } = context
  const { at } = expression
  switch (expression.kind) {
    case 'and':
    case 'or': {
      const parts = expression.parts.map((part) => predicateOf(context, part, truth))
      // De Morgan: a conjunction is FALSE if one part is FALSE.
      return place(combine((expression.kind === 'and') === truth ? 'and' : 'or', parts), at)
    }
    case 'not':
      return predicateOf(context, expression.part, !truth)
    case 'column': {
      const column = columnOf(scope, expression)
      if (column.type !== 'boolean')
        throw scope.misfit(at, `${column.name} is of type ${column.type}: compare it with a value.`)
      return place({ column: column.name, op: '=', value: truth }, at)
    }
    case 'comparison':
      return comparison(context, expression, truth)
    case 'distinct': {
      const same = equality(context, expression)
      return expression.negated === truth ? same : place({ op: 'not', predicate: same }, at)
    }
    case 'between':
      return between(context, expression, expression.negated ? !truth : truth)
    case 'in':
      return membership(context, expression, expression.negated ? !truth : truth)
    case 'isNull': {
      const column = requireColumn(context, expression.value, 'IS NULL')
      const missing = place({ column: column.name, op: 'isNull' }, at)
      return expression.negated === truth ? place({ op: 'not', predicate: missing }, at) : missing
    }
    case 'truth':
      return truthTest(context, expression, expression.negated ? !truth : truth)
    case 'boolean':
      throw scope.unsupported(at, 'a condition is about a column. Leave TRUE and FALSE out.')
    case 'call':
      throw scope.unsupported(at, adviceForCall(expression.name))
    default:
      throw scope.unsupported(at, 'a condition compares a column with constants.')
  }
}

function requireColumn({ scope }: Context, expression: Expression, construct: string): QueryableColumn {
  if (expression.kind === 'column') return columnOf(scope, expression)
  if (expression.kind === 'call') throw scope.unsupported(expression.at, adviceForCall(expression.name))
  throw scope.unsupported(expression.at, `${construct} needs a column.`)
}

/** The column and the constant of a comparison, in either order. */
function sides(context: Context, { left, right, at }: { left: Expression; right: Expression; at: number }) {
  const { scope } = context
  if (left.kind === 'column' && right.kind === 'column')
    throw scope.unsupported(
      at,
      'columns cannot be compared with each other. Compare a column with a constant.',
    )
  const mirrored = left.kind !== 'column' && right.kind === 'column'
  const [named, constant] = mirrored ? [right, left] : [left, right]
  const column = requireColumn(context, named, 'a comparison')
  return { column, mirrored, constant }
}

function comparison(
  context: Context,
  expression: Extract<Expression, { kind: 'comparison' }>,
  truth: boolean,
): QueryPredicate {
  const { scope, place } = context
  const { column, mirrored, constant } = sides(context, expression)
  const value = literalOf(scope, column, constant)
  const direct = mirrored ? MIRRORED[expression.op] : expression.op
  return place({ column: column.name, op: truth ? direct : COMPLEMENTS[direct], value }, constant.at)
}

/** IS NOT DISTINCT FROM. */
function equality(context: Context, expression: Extract<Expression, { kind: 'distinct' }>): QueryPredicate {
  const { scope, place } = context
  const { column, constant } = sides(context, expression)
  if (constant.kind === 'null') return place({ column: column.name, op: 'isNull' }, expression.at)
  return place({ column: column.name, op: '=', value: literalOf(scope, column, constant) }, constant.at)
}

function between(
  context: Context,
  expression: Extract<Expression, { kind: 'between' }>,
  truth: boolean,
): QueryPredicate {
  const { scope, place } = context
  const column = requireColumn(context, expression.value, 'BETWEEN')
  const [lower, upper] = [expression.lower, expression.upper].map((end) => literalOf(scope, column, end))
  const { name } = column
  if (typeof lower === 'boolean' || typeof upper === 'boolean' || lower === undefined || upper === undefined)
    throw scope.misfit(expression.at, `BETWEEN needs a column of numbers, dates or timestamps.`)
  if (truth) return place({ column: name, op: 'between', lower, upper }, expression.at)
  const outside: readonly QueryPredicate[] = [
    place({ column: name, op: '<', value: lower }, expression.lower.at),
    place({ column: name, op: '>', value: upper }, expression.upper.at),
  ]
  return place(combine('or', outside), expression.at)
}

function membership(
  context: Context,
  expression: Extract<Expression, { kind: 'in' }>,
  truth: boolean,
): QueryPredicate {
  const { scope, place } = context
  const column = requireColumn(context, expression.value, 'IN')
  const values = place(
    expression.list.map((element) => literalOf(scope, column, element)),
    expression.list.map(({ at }) => at),
  )
  const { name } = column
  const [only, second] = values
  if (only !== undefined && second === undefined) {
    const [element = expression] = expression.list
    return place({ column: name, op: truth ? '=' : '!=', value: only }, element.at)
  }
  const member = place({ column: name, op: 'in', values }, expression.at)
  if (truth) return member
  // A row without a value is neither in the list nor outside of it.
  const absent: readonly QueryPredicate[] = [
    place({ op: 'not', predicate: member }, expression.at),
    { op: 'not', predicate: place({ column: name, op: 'isNull' }, expression.at) },
  ]
  return place(combine('and', absent), expression.at)
}

function truthTest(
  context: Context,
  { is, value, at }: Extract<Expression, { kind: 'truth' }>,
  truth: boolean,
): QueryPredicate {
  const { scope, place } = context
  if (is === 'unknown') {
    // Of a condition it would double the size of the predicate, again for each level of nesting.
    const column = requireColumn(context, value, 'IS UNKNOWN')
    if (column.type !== 'boolean')
      throw scope.misfit(value.at, 'IS UNKNOWN needs a boolean column. Write IS NULL.')
    const missing = place({ column: column.name, op: 'isNull' }, at)
    return truth ? missing : place({ op: 'not', predicate: missing }, at)
  }
  const holds = predicateOf(context, value, is === 'true')
  return truth ? holds : place({ op: 'not', predicate: holds }, at)
}

/** Combines predicates. Parts that are combined in the same way are joined, so that parentheses do not nest. */
export function combine(op: 'and' | 'or', parts: readonly QueryPredicate[]): QueryPredicate {
  const predicates = parts.flatMap((part) => (part.op === op ? part.predicates : [part]))
  const [only, second] = predicates
  return only !== undefined && second === undefined ? only : { op, predicates }
}

const CALENDAR_FUNCTIONS: readonly string[] = ['date_trunc', 'date_part', 'extract']

function adviceForCall(name: string): string {
  if (CALENDAR_FUNCTIONS.includes(name))
    return `${name} is supported in GROUP BY only. Compare the column with dates: d >= '2024-01-01' AND d < '2025-01-01'.`
  return 'functions are not supported in conditions. A condition compares a column with constants.'
}
