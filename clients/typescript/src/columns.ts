import { type Json, wire, wireNumber } from './decimal.ts'
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
  /** Divides by the calendar, in UTC or by the clock of `timeZone`, over the declared bounds or from the cell of `from` through the cell of `to`. */
  by(
    period: Period,
    ends?: { readonly from?: string | Date; readonly to?: string | Date; readonly timeZone?: string },
  ): Cells
  plus(other: Operand): Column
  minus(other: Operand): Column
  /** Multiplies by a constant. */
  times(factor: Constant): Column
  /** Divides by a constant. */
  over(divisor: Constant): Column
  /** Rounds to a multiple of a step, by default 1, halves upwards. */
  round(step?: Constant): Column
  /** A constant in place of NULL. */
  coalesce(value: Value): Column
  /** A part of a date or timestamp, in UTC. Weekdays are 1 for Monday to 7. */
  part(part: 'date' | 'year' | 'quarter' | 'month' | 'day' | 'weekday' | 'hour'): Column
  /** Name of the column, or an expression. */
  toJSON(): string
}

/** A constant in an expression. */
type Constant = number | bigint

/** A column or a constant in an expression. */
type Operand = Column | Constant

/** A column, by its name or as `col(name)`. */
export type ColumnName = string | Column

/** A column whose values, bins or periods are groups. */
export type Grouping = ColumnName | Cells | Schemas['BinnedColumn'] | Schemas['CalendarColumn']

/**
 * Returns a column, for conditions such as `col('Age').gte(65)` and cells such as `col('visited').by('month')`. The name may be an
 * expression of the service. Arithmetic makes others: `col('arr_delay').minus(col('dep_delay'))`.
 */
export function col(column: string): Column {
  return columnOf(column, writtenName(column))
}

/** @param written the column as it stands in an expression */
function columnOf(column: string, written: string): Column {
  const computed = (text: string) => columnOf(text, `(${text})`)
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
    plus: (other) => computed(`${written} + ${operand(other)}`),
    minus: (other) => computed(`${written} - ${operand(other)}`),
    times: (factor) => computed(`${written} * ${operand(factor)}`),
    over: (divisor) => computed(`${written} / ${operand(divisor)}`),
    round: (step = 1) => computed(`round(${written}, ${operand(step)})`),
    coalesce: (value) => computed(`coalesce(${written}, ${operand(value)})`),
    part: (part) => computed(`${part}(${written})`),
    toJSON: () => column,
    [WRITTEN]: written,
  } as Column
}

/** A column as it stands in an expression. */
const WRITTEN = Symbol('written')

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*$/u
const WORDS = /^(?:and|or|not|in|between|is|null|case|when|then|else|end|true|false)$/i

function writtenName(name: string): string {
  return PLAIN.test(name) && !WORDS.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

function operand(value: Column | Value): string {
  if (typeof value === 'object' && WRITTEN in value) return String(value[WRITTEN])
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = typeof value === 'bigint' ? String(value) : decimalText(value)
    return text.startsWith('-') ? `(${text})` : text
  }
  const text = typeof value === 'string' ? value : String(wire(value))
  return `'${text.replaceAll("'", "''")}'`
}

/** A decimal with at most 9 fractional digits, which the service takes, and without an exponent. */
function decimalText(value: number): string {
  return wireNumber(value)
    .toFixed(9)
    .replace(/\.?0+$/, '')
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
