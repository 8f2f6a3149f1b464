import type { QueryPredicate } from '../../schemas/query.ts'
import type { QueryableColumn } from '../catalog/dataset.ts'
import { columnOf, literalOf, type Scope } from './scope.ts'
import type { ComparisonOperator, Expression } from './statement.ts'

type Operator = Extract<QueryPredicate, { value: unknown }>['op']

const OPERATORS: Readonly<Record<ComparisonOperator, Operator>> = {
  '=': '=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}
const COMPLEMENTS: Readonly<Record<Operator, Operator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}
const MIRRORED: Readonly<Record<Operator, Operator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/** Receives each predicate with the place of the expression that it comes from. */
export type Placing = <Predicate extends QueryPredicate>(predicate: Predicate, at: number) => Predicate

/**
 * Translates the conditions of a WHERE clause. SQL has three truth values and the predicates of queries have two. So each
 * expression becomes one of two predicates, which no row satisfies both of: that the expression is TRUE, or that it is
 * FALSE. A row for which it is unknown, because a value is NULL, satisfies neither.
 */
export function createConditions(scope: Scope, place: Placing) {
  const { unsupported } = scope

  function whenTrue(expression: Expression): QueryPredicate {
    return predicateOf(expression, true)
  }

  /** @param truth the truth value that the expression must have */
  function predicateOf(expression: Expression, truth: boolean): QueryPredicate {
    const { at } = expression
    switch (expression.kind) {
      case 'and':
      case 'or': {
        const parts = expression.parts.map((part) => predicateOf(part, truth))
        // De Morgan: a conjunction is FALSE if one part is FALSE.
        return place(combine((expression.kind === 'and') === truth ? 'and' : 'or', parts), at)
      }
      case 'not':
        return predicateOf(expression.part, !truth)
      case 'column': {
        const column = columnOf(scope, expression)
        if (column.type !== 'boolean')
          throw scope.misfit(at, `${column.name} is of type ${column.type}: compare it with a value.`)
        return place({ column: column.name, op: '=', value: truth }, at)
      }
      case 'comparison':
        return comparison(expression, truth)
      case 'distinct': {
        const same = equality(expression)
        return expression.negated === truth ? same : place({ op: 'not', predicate: same }, at)
      }
      case 'between':
        return between(expression, expression.negated ? !truth : truth)
      case 'in':
        return membership(expression, expression.negated ? !truth : truth)
      case 'isNull': {
        const column = requireColumn(expression.value, 'IS NULL')
        const missing = place({ column: column.name, op: 'isNull' }, at)
        return expression.negated === truth ? place({ op: 'not', predicate: missing }, at) : missing
      }
      case 'truth':
        return truthTest(expression, expression.negated ? !truth : truth)
      case 'boolean':
        throw unsupported(at, 'a condition is about a column. Leave TRUE and FALSE out.')
      case 'call':
        throw unsupported(at, adviceForCall(expression.name))
      default:
        throw unsupported(at, 'a condition compares a column with constants.')
    }
  }

  function requireColumn(expression: Expression, construct: string): QueryableColumn {
    if (expression.kind === 'column') return columnOf(scope, expression)
    if (expression.kind === 'call') throw unsupported(expression.at, adviceForCall(expression.name))
    throw unsupported(expression.at, `${construct} needs a column.`)
  }

  /** The column and the constant of a comparison, in either order. */
  function sides({ left, right, at }: { left: Expression; right: Expression; at: number }) {
    if (left.kind === 'column' && right.kind === 'column')
      throw unsupported(at, 'columns cannot be compared with each other. Compare a column with a constant.')
    const mirrored = left.kind !== 'column' && right.kind === 'column'
    const [named, constant] = mirrored ? [right, left] : [left, right]
    const column = requireColumn(named, 'a comparison')
    return { column, mirrored, constant }
  }

  function comparison(
    expression: Extract<Expression, { kind: 'comparison' }>,
    truth: boolean,
  ): QueryPredicate {
    const { column, mirrored, constant } = sides(expression)
    const value = literalOf(scope, column, constant)
    const written = OPERATORS[expression.op]
    const direct = mirrored ? MIRRORED[written] : written
    return place({ column: column.name, op: truth ? direct : COMPLEMENTS[direct], value }, constant.at)
  }

  /** IS NOT DISTINCT FROM. */
  function equality(expression: Extract<Expression, { kind: 'distinct' }>): QueryPredicate {
    const { column, constant } = sides(expression)
    if (constant.kind === 'null') return place({ column: column.name, op: 'isNull' }, expression.at)
    return place({ column: column.name, op: '=', value: literalOf(scope, column, constant) }, constant.at)
  }

  function between(expression: Extract<Expression, { kind: 'between' }>, truth: boolean): QueryPredicate {
    const column = requireColumn(expression.value, 'BETWEEN')
    const [lower, upper] = [expression.lower, expression.upper].map((end) => literalOf(scope, column, end))
    const { name } = column
    if (
      typeof lower === 'boolean' ||
      typeof upper === 'boolean' ||
      lower === undefined ||
      upper === undefined
    )
      throw scope.misfit(expression.at, `BETWEEN needs a column of numbers, dates or timestamps.`)
    if (truth) return place({ column: name, op: 'between', lower, upper }, expression.at)
    const outside: readonly QueryPredicate[] = [
      place({ column: name, op: '<', value: lower }, expression.lower.at),
      place({ column: name, op: '>', value: upper }, expression.upper.at),
    ]
    return place(combine('or', outside), expression.at)
  }

  function membership(expression: Extract<Expression, { kind: 'in' }>, truth: boolean): QueryPredicate {
    const column = requireColumn(expression.value, 'IN')
    const values = expression.list.map((element) => literalOf(scope, column, element))
    const { name } = column
    const [only, second] = values
    if (only !== undefined && second === undefined)
      return place({ column: name, op: truth ? '=' : '!=', value: only }, expression.at)
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
    { is, value, at }: Extract<Expression, { kind: 'truth' }>,
    truth: boolean,
  ): QueryPredicate {
    if (is === 'unknown') {
      const known = combine('or', [predicateOf(value, true), predicateOf(value, false)])
      return place(truth ? { op: 'not', predicate: known } : known, at)
    }
    const holds = predicateOf(value, is === 'true')
    return truth ? holds : place({ op: 'not', predicate: holds }, at)
  }

  return { whenTrue }
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
