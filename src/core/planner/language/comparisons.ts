import type { QueryPredicate } from '../../../../schemas/answers/query.ts'
import { didYouMean } from '../../../privacy/did-you-mean.ts'
import { entry, must } from '../../../privacy/must.ts'
import { divideRoundingDown, divideRoundingUp } from '../../../privacy/rational.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import {
  type CategoryColumn,
  type GridColumn,
  isGrid,
  isNumeric,
  type QueryableColumn,
} from '../../dataset/dataset.ts'
import { parseGridValue } from '../../dataset/grid-value.ts'
import type { Predicate } from './aggregate.ts'

type Literal = number | string | boolean
type Comparison = Extract<QueryPredicate, { value: unknown }>

/** Finds a column by its name. @throws Refusal naming the field */
export type FindColumn = (name: string, field: string) => QueryableColumn

/**
 * Translates a query's predicate into the language of aggregates: numbers and times become grid indexes, categories
 * become indexes into the declared list, and every column is one of the dataset's own. See decision 3.
 *
 * @param find finds a column by its name, or refuses the name with the path of the field
 * @param field path of the predicate in the request, for refusals
 * @throws Refusal `query-does-not-fit` for an unknown column or category, a value whose type is not the column's, or an
 * operator that the column's type does not support.
 */
export function planPredicateOver(predicate: QueryPredicate, find: FindColumn, field: string): Predicate {
  switch (predicate.op) {
    case 'and':
    case 'or': {
      const predicates = predicate.predicates.map((part, position) =>
        planPredicateOver(part, find, `${field}.predicates.${position}`),
      )
      return { kind: predicate.op, predicates: predicate.op === 'or' ? joinLists(predicates) : predicates }
    }
    case 'not':
      return { kind: 'not', predicate: planPredicateOver(predicate.predicate, find, `${field}.predicate`) }
    case 'isNull':
      return { kind: 'is-null', column: find(predicate.column, `${field}.column`).name }
    case 'between': {
      const column = find(predicate.column, `${field}.column`)
      const grid = requireGrid(column, 'between', `${field}.op`)
      return {
        kind: 'index-between',
        column: column.name,
        lower: indexAtLeast(grid, nanoOf(grid, predicate.lower, `${field}.lower`)),
        upper: indexAtMost(grid, nanoOf(grid, predicate.upper, `${field}.upper`)),
      }
    }
    case 'in': {
      const column = find(predicate.column, `${field}.column`)
      return planMembership(column, predicate.values, (position) => `${field}.values.${position}`)
    }
    case '=':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return planComparison(predicate, find(predicate.column, `${field}.column`), field)
  }
}

type Membership = Extract<Predicate, { readonly kind: 'index-in' | 'category-in' | 'string-in' }>

/**
 * Joins the lists of values of each column, of which any may contain the value. A database looks a value up in one list; with
 * several lists it compares the value with each of theirs, which takes seconds for thousands of them.
 */
function joinLists(predicates: readonly Predicate[]): readonly Predicate[] {
  const parts = predicates.flatMap((part) => (part.kind === 'or' ? part.predicates : [part]))
  const lists = Map.groupBy(parts.filter(isMembership), ({ column }) => column)
  return [
    ...Array.from(lists.values(), (each) => (each.length === 1 ? entry(each, 0) : joined(each))),
    ...parts.filter((part) => !isMembership(part)),
  ]
}

function isMembership(predicate: Predicate): predicate is Membership {
  return ['index-in', 'category-in', 'string-in'].includes(predicate.kind)
}

/** Joins the lists of one column, which are of one kind. */
function joined(lists: readonly Membership[]): Membership {
  const first = entry(lists, 0)
  const valuesOf = <Value>(values: (list: Membership) => readonly Value[] | undefined): readonly Value[] => [
    ...new Set(lists.flatMap((list) => must(values(list), 'a list of the same kind'))),
  ]
  switch (first.kind) {
    case 'index-in':
      return { ...first, indexes: valuesOf((list) => (list.kind === first.kind ? list.indexes : undefined)) }
    case 'category-in':
      return { ...first, indexes: valuesOf((list) => (list.kind === first.kind ? list.indexes : undefined)) }
    case 'string-in':
      return { ...first, values: valuesOf((list) => (list.kind === first.kind ? list.values : undefined)) }
  }
}

function planComparison(comparison: Comparison, column: QueryableColumn, field: string): Predicate {
  const equals = () => planMembership(column, [comparison.value], () => `${field}.value`)
  const between = (
    endsOf: (grid: GridColumn, nano: bigint) => Partial<Record<'lower' | 'upper', bigint>>,
  ) => {
    const grid = requireGrid(column, comparison.op, `${field}.op`)
    const ends = endsOf(grid, nanoOf(grid, comparison.value, `${field}.value`))
    return { kind: 'index-between', column: column.name, ...ends } as const
  }
  switch (comparison.op) {
    case '=':
      return equals()
    case '!=':
      // "Different from" implies a value: rows without one are not counted.
      return {
        kind: 'and',
        predicates: [
          { kind: 'not', predicate: { kind: 'is-null', column: column.name } },
          { kind: 'not', predicate: equals() },
        ],
      }
    case '<':
      return between((grid, nano) => ({ upper: indexAtLeast(grid, nano) - 1n }))
    case '<=':
      return between((grid, nano) => ({ upper: indexAtMost(grid, nano) }))
    case '>':
      return between((grid, nano) => ({ lower: indexAtMost(grid, nano) + 1n }))
    case '>=':
      return between((grid, nano) => ({ lower: indexAtLeast(grid, nano) }))
  }
}

function planMembership(
  column: QueryableColumn,
  values: readonly Literal[],
  field: (position: number) => string,
): Predicate {
  const mistyped = (position: number): never => {
    throw wrongType(column, field(position))
  }
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return {
        kind: 'index-in',
        column: column.name,
        indexes: values.map((value, position) => exactIndex(column, value, field(position))),
      }
    case 'category':
      return {
        kind: 'category-in',
        column: column.name,
        indexes: values.map((value, position) =>
          categoryIndex(column, typeof value === 'string' ? value : mistyped(position), field(position)),
        ),
      }
    case 'boolean': {
      const wanted = new Set(
        values.map((value, position) => (typeof value === 'boolean' ? value : mistyped(position))),
      )
      const predicates = [...wanted].map(
        (value) => ({ kind: 'boolean-is', column: column.name, value }) as const,
      )
      return { kind: 'or', predicates }
    }
    case 'string':
      return {
        kind: 'string-in',
        column: column.name,
        values: values.map((value, position) => (typeof value === 'string' ? value : mistyped(position))),
      }
  }
}

function wrongType(column: QueryableColumn, field: string) {
  const expected = {
    integer: 'a number',
    number: 'a number',
    date: 'an ISO 8601 text',
    timestamp: 'an ISO 8601 text',
    category: 'a string',
    string: 'a string',
    boolean: 'true or false',
  }[column.type]
  return refuseQuery(field, `must be ${expected}, because ${column.name} is of type ${column.type}`)
}

function requireGrid(column: QueryableColumn, op: string, field: string): GridColumn {
  if (isGrid(column)) return column
  throw refuseQuery(field, `"${op}" needs a column of numbers, dates or timestamps`)
}

/**
 * Parses a value that is compared with a grid column, in 1e-9 of the column's unit.
 * @throws Refusal `query-does-not-fit` for a value of another type, too many fractional digits or a date that
 * does not exist.
 */
export function nanoOf(column: GridColumn, value: Literal, field: string): bigint {
  if (typeof value !== (isNumeric(column) ? 'number' : 'string')) throw wrongType(column, field)
  const parsed = parseGridValue(column.type, value)
  if ('nano' in parsed) return parsed.nano
  throw refuseQuery(field, parsed.rule)
}

function exactIndex(column: GridColumn, value: Literal, field: string): bigint {
  const nano = nanoOf(column, value, field)
  if (nano % column.stepNano === 0n) return withinReach(column, nano / column.stepNano)
  throw refuseQuery(field, `is not on the grid of ${column.name}, so no row has this value`)
}

function categoryIndex(column: CategoryColumn, category: string, field: string): number {
  const index = column.categories.indexOf(category)
  if (index !== -1) return index
  const advice = didYouMean(category, column.categories)
  throw refuseQuery(field, `"${category}" is not a declared category of ${column.name}${advice}`)
}

/** Returns the smallest index whose value is at least this. */
export function indexAtLeast(column: GridColumn, nano: bigint): bigint {
  return withinReach(column, divideRoundingUp(nano, column.stepNano))
}

function indexAtMost(column: GridColumn, nano: bigint): bigint {
  return withinReach(column, divideRoundingDown(nano, column.stepNano))
}

/** Clamps an index to one step beyond the bounds, which selects the same rows and always fits the engine's integers. */
function withinReach(column: GridColumn, index: bigint): bigint {
  if (index < column.lowerIndex) return column.lowerIndex - 1n
  return index > column.upperIndex ? column.upperIndex + 1n : index
}
