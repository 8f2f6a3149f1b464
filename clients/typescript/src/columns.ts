import { type Json, wire } from './decimal.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']

/** A value that a column can be compared with. A `Date` is sent as ISO 8601 in UTC. */
export type Value = number | bigint | string | boolean | Date

/** Part of the calendar that divides a column of dates or timestamps. */
export type Period = Schemas['CalendarColumn']['by']

/** Condition on rows. */
export interface Predicate {
  /** Returns the condition that this one and all others hold. */
  and(...others: readonly Where[]): Predicate
  /** Returns the condition that this one or one of the others holds. */
  or(...others: readonly Where[]): Predicate
  /** Returns the opposite. It also selects the rows where a compared column is NULL. */
  not(): Predicate
  toJSON(): Schemas['Predicate']
}

/** A condition on rows: an expression over `col(name)`, or JSON of the service. */
export type Where = Predicate | Schemas['Predicate']

/** A column divided into cells: `col(name).bins([0, 18, 65])` or `col(name).by('month')`. */
export interface Cells {
  toJSON(): Schemas['BinnedColumn'] | Schemas['CalendarColumn']
}

/** A column of a dataset. Comparisons are false where the column is NULL. */
export interface Column {
  eq(value: Value): Predicate
  ne(value: Value): Predicate
  lt(value: Value): Predicate
  lte(value: Value): Predicate
  gt(value: Value): Predicate
  gte(value: Value): Predicate
  in(values: Iterable<Value>): Predicate
  /** `lower <= column <= upper` */
  between(lower: number | bigint | string | Date, upper: number | bigint | string | Date): Predicate
  isNull(): Predicate
  /** Divides by increasing edges. A bin contains its lower edge; the last one also contains its upper edge. */
  bins(edges: Iterable<number | bigint | string | Date>): Cells
  /** Divides by the calendar, in UTC, over the declared bounds or from the cell of `from` through the cell of `to`. */
  by(period: Period, ends?: { readonly from?: string | Date; readonly to?: string | Date }): Cells
  /** Name of the column. */
  toJSON(): string
}

/** A column, by its name or as `col(name)`. */
export type ColumnName = string | Column

/** A column whose values, bins or periods are groups. */
export type Grouping = ColumnName | Cells | Schemas['BinnedColumn'] | Schemas['CalendarColumn']

/** Returns a column, for conditions such as `col('Age').gte(65)` and cells such as `col('visited').by('month')`. */
export function col(column: string): Column {
  const compared = (op: string) => (value: Value) => predicate({ column, op, value })
  const cells = (facts: object): Cells => {
    const json = wire({ column, ...facts })
    return { toJSON: () => json as ReturnType<Cells['toJSON']> }
  }
  return {
    eq: compared('='),
    ne: compared('!='),
    lt: compared('<'),
    lte: compared('<='),
    gt: compared('>'),
    gte: compared('>='),
    in: (values) => predicate({ column, op: 'in', values: [...values] }),
    between: (lower, upper) => predicate({ column, op: 'between', lower, upper }),
    isNull: () => predicate({ column, op: 'isNull' }),
    bins: (edges) => cells({ edges: [...edges] }),
    by: (by, ends = {}) => cells({ by, ...ends }),
    toJSON: () => column,
  }
}

function predicate(tree: object): Predicate {
  const json = wire(tree)
  return {
    and: (...others) => combined('and', [json, ...others]),
    or: (...others) => combined('or', [json, ...others]),
    not: () => predicate({ op: 'not', predicate: json }),
    toJSON: () => json as Schemas['Predicate'],
  }
}

/** Returns one list for a chain of the same operator, because the service limits the nesting. */
function combined(op: 'and' | 'or', parts: readonly (Where | Json)[]): Predicate {
  const predicates = parts.flatMap((part): readonly Json[] => {
    const json = wire(part) as { readonly op?: string; readonly predicates?: readonly Json[] }
    return json.op === op && json.predicates !== undefined ? json.predicates : [json as Json]
  })
  return predicate({ op, predicates })
}
