import { defined } from '../../../privacy/defined.ts'
import { entry } from '../../../privacy/must.ts'
import { OF_SAMPLES } from '../measures.ts'
import { mapParts, nameOf, UNNAMED, withoutPlaces } from '../parsing/expressions.ts'
import type { Call, Expression, ExpressionOf, Statement, Target } from '../parsing/statement.ts'
import { hasAggregate } from './wrappers.ts'

/*
 * Aggregates of constants and of CASE are other spellings of counts, shares, and aggregates with FILTER:
 *
 *   SUM(CASE WHEN c THEN 1 ELSE 0 END)    COUNT(*) FILTER (WHERE c)
 *   AVG(CASE WHEN c THEN 1 ELSE 0 END)    the share of the rows for which c is true
 *   AVG(CASE WHEN c THEN x END)           AVG(x) FILTER (WHERE c)
 */

type Case = ExpressionOf<'case'>

/**
 * Returns the other spelling of an aggregate; `undefined` for one that has none.
 */
export function rewritten(call: Call): Expression | undefined {
  const [argument, second] = call.arguments
  const ofPopulation = OF_SAMPLES.get(call.name)
  if (ofPopulation !== undefined) return { ...call, name: ofPopulation }
  if (call.name === 'median' && argument !== undefined && second === undefined)
    return medianOf(call, argument)
  if (argument === undefined || second !== undefined || call.withinGroup !== undefined) return undefined
  const of = withoutCast(argument)
  if (of.kind === 'case') return aggregateOfCase(call, of)
  if (of.kind !== 'number' || call.distinct) return undefined
  if (call.name === 'count') return countOf(call)
  return call.name === 'sum' ? times(of, countOf(call)) : undefined
}

function medianOf({ at, filter }: Call, value: Expression): Call {
  const half: Expression = { kind: 'number', text: '0.5', at }
  return defined({
    kind: 'call',
    name: 'percentile_cont',
    star: false,
    distinct: false,
    arguments: [half],
    withinGroup: { value, descending: false },
    filter,
    at,
  })
}

/** A number of any type is the same number. */
function withoutCast(expression: Expression): Expression {
  const isNumber =
    expression.kind === 'cast' && expression.type === 'number' && expression.digits === undefined
  return isNumber ? withoutCast(expression.value) : expression
}

/** Another CASE is a column that is computed for each row. */
function aggregateOfCase(call: Call, { whens, otherwise }: Case): Expression | undefined {
  const [only, second] = whens
  if (only === undefined || second !== undefined) return undefined
  const [result, otherValue] = [withoutCast(only.result), otherwise && withoutCast(otherwise)]
  const withoutOther = otherValue === undefined || otherValue.kind === 'null'
  const orZero = otherValue?.kind === 'number' && Number(otherValue.text) === 0
  const filtered = { ...call, filter: both(call.filter, only.condition) }
  if (call.name === 'sum' && (withoutOther || orZero))
    return result.kind === 'number' && !call.distinct
      ? times(result, countOf(filtered))
      : { ...filtered, arguments: [result] }
  if (call.name === 'avg' && orZero && result.kind === 'number')
    return times(result, { ...call, arguments: [isTrue(only.condition)] })
  if (!withoutOther) return undefined
  const isLiteral = result.kind === 'number' || result.kind === 'text' || result.kind === 'boolean'
  return isLiteral && call.name === 'count' && !call.distinct
    ? countOf(filtered)
    : { ...filtered, arguments: [result] }
}

function countOf(call: Call): Call {
  return { ...call, name: 'count', star: true, arguments: [] }
}

/** A condition that is FALSE where it would be unknown. */
function isTrue(value: Expression): Expression {
  return { kind: 'truth', is: 'true', value, at: value.at }
}

function times(factor: ExpressionOf<'number'>, of: Call): Expression {
  if (Number(factor.text) === 1) return of
  return { kind: 'arithmetic', op: '*', left: factor, right: of, at: of.at }
}

function both(one: Expression | undefined, other: Expression): Expression {
  return one === undefined ? other : { kind: 'and', parts: [one, other], at: other.at }
}

/** Reads `CASE WHEN x = 0 THEN NULL ELSE x END` over an aggregate, which tools write around divisors, as NULLIF. */
export function plainDivisors<Whole extends Expression | Statement>(whole: Whole): Whole {
  return mapParts(whole, (part) => {
    const inner = plainDivisors(part)
    return (inner.kind === 'case' ? nullIfOf(inner) : undefined) ?? inner
  })
}

function nullIfOf({ whens, otherwise, at }: Case): Expression | undefined {
  const [only, second] = whens
  if (only?.condition.kind !== 'comparison' || second !== undefined || otherwise === undefined)
    return undefined
  const { op, left, right } = only.condition
  if (op !== '=' || right.kind === 'text') return undefined
  if (only.result.kind !== 'null' || !hasAggregate(otherwise)) return undefined
  if (withoutPlaces(left) !== withoutPlaces(otherwise)) return undefined
  return { kind: 'call', name: 'nullif', star: false, distinct: false, arguments: [otherwise, right], at }
}

/** Keeps the names of the columns of the result, which follow from what was written. */
export function withNamesOf(written: Statement, plain: Statement): Statement {
  const named = (target: Target, place: number): Target => {
    const before = entry(written.targets, place)
    const isSame = withoutPlaces(before.expression) === withoutPlaces(target.expression)
    return isSame ? target : { ...target, alias: nameOf(before) ?? UNNAMED }
  }
  return { ...plain, targets: plain.targets.map(named) }
}
