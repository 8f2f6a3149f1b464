import { defined } from '../../../privacy/defined.ts'
import type { Refusal } from '../../../privacy/refusal.ts'
import { isAggregate } from '../measures.ts'
import { contains, isWindow, mapParts, nameOf, withoutPlaces } from '../parsing/expressions.ts'
import { fold } from '../parsing/identifiers.ts'
import type {
  Expression,
  ExpressionOf,
  Select,
  SortKey,
  Statement,
  Subquery,
  Target,
} from '../parsing/statement.ts'

/*
 * Tools wrap what they send: SELECT ... FROM (SELECT ...) AS source, or WITH source AS (SELECT ...). A wrapper is replaced by
 * what it wraps: its columns are the expressions of the inner SELECT, and its WHERE is that of the inner SELECT, or its HAVING if
 * that has groups; where it also has windows, which HAVING comes before, it is a condition after these. What means more than one SELECT over the table is refused.
 */

/** What unwrapping needs to know. */
export interface Unwrapping {
  /** Creates the refusal of a part that is not supported. */
  readonly refuse: (at: number | undefined, rule: string) => Refusal
  /** Returns the expressions of GROUP BY, of which some are given by a place or a name in the SELECT list. */
  readonly groupsOf: (statement: Statement) => readonly Expression[]
}

type Named = Select['named']

/**
 * Returns the one SELECT over a table that a statement means.
 * @throws Refusal `sql-not-supported` for a wrapper that means more
 */
export function unwrapped(select: Select, context: Unwrapping, around: Named = {}): Statement {
  const { from, named: own, joins, ...parts } = select
  const named = { ...around, ...own }
  if ('select' in from)
    return wrap({ ...parts, joins }, unwrapped(from.select, context, named), from, context)
  const source = Object.hasOwn(named, from.name) ? named[from.name] : undefined
  if (source === undefined) return { ...parts, joins, from }
  if (joins.length > 0)
    throw context.refuse(from.at, 'a SELECT of WITH cannot be joined. Join the tables of the dataset in it.')
  // A SELECT of WITH sees those before it only.
  const entries = Object.entries(named)
  const others = Object.fromEntries(
    entries.slice(
      0,
      entries.findIndex(([name]) => name === from.name),
    ),
  )
  const aliased = { ...source, alias: from.alias ?? from.name }
  return wrap({ ...parts, joins }, unwrapped(source.select, context, others), aliased, context)
}

type Outer = Omit<Statement, 'from'>

function wrap(
  outer: Outer,
  wrapped: Statement,
  { alias, at }: Subquery,
  { refuse, groupsOf }: Unwrapping,
): Statement {
  const hasGroups =
    wrapped.groupBy.length > 0 ||
    wrapped.having !== undefined ||
    wrapped.targets.some(({ expression }) => hasAggregate(expression))
  const columns = { targets: wrapped.targets, alias, refuse }
  return hasGroups
    ? wrapGroups(outer, { ...wrapped, groupBy: groupsOf(wrapped) }, columns, at)
    : wrapRows(outer, wrapped, columns, at)
}

/** A SELECT over rows: both conditions hold for the rows that count. */
function wrapRows(outer: Outer, wrapped: Statement, columns: Columns, at: number): Statement {
  if (wrapped.limit !== undefined || wrapped.offset !== undefined) {
    const rule = 'LIMIT and OFFSET of rows are not supported: answers are about all rows. Leave them out.'
    throw columns.refuse(wrapped.limit?.at ?? at, rule)
  }
  const { targets, orderBy } = outer
  const shown = targetsOver(targets, columns)
  const over = (expression: Expression | undefined) => expression && substituted(expression, columns)
  // As in PostgreSQL: a column comes before a name of the SELECT list in GROUP BY, and after it in ORDER BY.
  const grouped = (expression: Expression) =>
    (isColumnOf(columns, expression)
      ? undefined
      : targetNamed(shown, expression, columns.refuse)?.expression) ?? substituted(expression, columns)
  return defined({
    ...outer,
    from: wrapped.from,
    joins: wrapped.joins,
    targets: shown,
    where: both(wrapped.where, over(outer.where)),
    groupBy: outer.groupBy.map(grouped),
    having: over(outer.having),
    orderBy: orderBy.map((key) => sortedOver(key, shown, columns)),
  })
}

/** A SELECT over groups: it can keep, sort, cut and compute with groups, but not aggregate them again. */
function wrapGroups(outer: Outer, wrapped: Statement, columns: Columns, at: number): Statement {
  const again = outer.targets.find(({ expression }) => hasAggregate(expression))
  if (again !== undefined || outer.groupBy.length > 0 || outer.having !== undefined) {
    const place = again?.expression.at ?? outer.groupBy[0]?.at ?? outer.having?.at
    throw columns.refuse(place, 'groups cannot be aggregated again. Aggregate the rows of the dataset.')
  }
  const targets = targetsOver(outer.targets, columns)
  const isCut = wrapped.limit !== undefined || wrapped.offset !== undefined
  const cutAgain = outer.limit !== undefined || outer.offset !== undefined || outer.orderBy.length > 0
  if (isCut && (outer.where !== undefined || cutAgain)) {
    const rule =
      'groups that LIMIT has cut cannot be filtered, sorted or cut again. Leave the inner LIMIT out.'
    throw columns.refuse(wrapped.limit?.at ?? at, rule)
  }
  const { limit, offset } = isCut ? wrapped : outer
  const where = outer.where && substituted(outer.where, columns)
  const seesWindows = contains(wrapped, isWindow)
  if (isCut || wrapped.qualify !== undefined || (seesWindows && where !== undefined))
    contains(outer, (part) => {
      if (!isWindow(part)) return false
      const rule = 'windows over groups that were cut or chosen by a window are not supported.'
      throw columns.refuse(part.at, rule)
    })
  return defined({
    ...wrapped,
    targets,
    having: seesWindows ? wrapped.having : both(wrapped.having, where),
    qualify: seesWindows ? both(wrapped.qualify, where) : undefined,
    orderBy:
      outer.orderBy.length > 0
        ? outer.orderBy.map((key) => sortedOver(key, targets, columns))
        : wrapped.orderBy.map((key) => sorted(key, wrapped.targets, columns.refuse)),
    limit,
    offset,
  })
}

/** A key of ORDER BY as an expression over the table, where it is a place or a name of the SELECT list. */
function sorted(key: SortKey, targets: readonly Target[], refuse: Unwrapping['refuse']): SortKey {
  const { expression, isResolved } = key
  if (isResolved) return key
  if (expression.kind !== 'number') {
    const named = targetNamed(targets, expression, refuse)
    return { ...key, expression: named?.expression ?? expression, isResolved: true }
  }
  const target = expression.signed === true ? undefined : targets[Number(expression.text) - 1]
  if (target !== undefined) return { ...key, expression: target.expression, isResolved: true }
  throw refuse(expression.at, `ORDER BY names a place in the SELECT list, which has ${targets.length}.`)
}

function both(one: Expression | undefined, other: Expression | undefined): Expression | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return { kind: 'and', parts: [one, other], at: other.at }
}

/** The columns of a wrapped SELECT. */
interface Columns {
  readonly targets: readonly Target[]
  readonly alias: string | undefined
  readonly refuse: Unwrapping['refuse']
}

/** The SELECT list of a wrapper: `*` is all columns, and every column keeps the name that it has outside. */
function targetsOver(targets: readonly Target[], columns: Columns): readonly Target[] {
  return targets.flatMap((target): readonly Target[] => {
    const { expression } = target
    if (expression.kind === 'star') return columns.targets
    const name = target.alias ?? (expression.kind === 'column' ? expression.name : undefined)
    return [defined({ expression: substituted(expression, columns), alias: name })]
  })
}

function sortedOver(key: SortKey, targets: readonly Target[], columns: Columns): SortKey {
  if (key.expression.kind === 'number') return sorted(key, targets, columns.refuse)
  const named = targetNamed(targets, key.expression, columns.refuse)?.expression
  return { ...key, expression: named ?? substituted(key.expression, columns), isResolved: true }
}

/** The column of a SELECT list that a name without a table means. */
function targetNamed(
  targets: readonly Target[],
  expression: Expression,
  refuse: Unwrapping['refuse'],
): Target | undefined {
  if (expression.kind !== 'column' || expression.table !== undefined) return undefined
  const [first, ...others] = targets.filter((target) => nameOf(target) === expression.name)
  if (
    others.some(
      (other) => first !== undefined && withoutPlaces(other.expression) !== withoutPlaces(first.expression),
    )
  )
    throw ambiguous(expression, refuse)
  return first
}

function ambiguous(
  { at, name }: { readonly at: number; readonly name: string },
  refuse: Unwrapping['refuse'],
) {
  return refuse(at, `"${name}" is the name of several columns of the SELECT list. Give each its own name.`)
}

function isColumnOf(columns: Columns, expression: Expression): boolean {
  return expression.kind !== 'column' || columnOver(columns, expression) !== undefined
}

/** The expression of a column of a wrapped SELECT; that of the table below a `*`. */
function columnOver(
  { targets, alias, refuse }: Columns,
  column: ExpressionOf<'column'>,
): Expression | undefined {
  const { table, name, at } = column
  if (table !== undefined && table !== alias) return undefined
  const named = (spelling: (own: string) => string) => {
    const [found, other] = targets.filter((target) => spelling(nameOf(target) ?? '') === name)
    if (other !== undefined) throw ambiguous(column, refuse)
    return found?.expression
  }
  const found = named((own) => own) ?? named(fold)
  if (found !== undefined) return found
  const star = targets.find(({ expression }) => expression.kind === 'star')?.expression
  return star?.kind === 'star' ? defined({ kind: 'column', table: star.table, name, at }) : undefined
}

/** An expression over the columns of a wrapped SELECT, as one over its table. */
function substituted(expression: Expression, columns: Columns): Expression {
  if (expression.kind === 'column') {
    const found = columnOver(columns, expression)
    if (found !== undefined && sizeOf(found) > MOST_PARTS)
      throw columns.refuse(
        expression.at,
        `with its subqueries this column has more than ${MOST_PARTS} parts.`,
      )
    if (found !== undefined) return found
    const names = columns.targets.flatMap((target) => nameOf(target) ?? [])
    throw columns.refuse(
      expression.at,
      `the subquery has no column "${expression.name}"; it has ${names.join(', ')}.`,
    )
  }
  return mapParts(expression, (part) => substituted(part, columns))
}

/** Largest number of parts of a column, with the columns of subqueries that it is made from. */
const MOST_PARTS = 1_000

const sizes = new WeakMap<Expression, number>()

/** Number of the parts of an expression. A subexpression that occurs several times is visited once. */
function sizeOf(expression: Expression): number {
  const known = sizes.get(expression)
  if (known !== undefined) return known
  let size = 1
  mapParts(expression, (part) => {
    size += sizeOf(part)
    return part
  })
  sizes.set(expression, size)
  return size
}

/** True if an expression has an aggregate. */
export function hasAggregate(expression: Expression): boolean {
  return contains(
    expression,
    (part) => part.kind === 'call' && part.over === undefined && isAggregate(part.name),
  )
}
