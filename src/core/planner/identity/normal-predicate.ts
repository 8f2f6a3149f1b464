import type { QueryPredicate } from '../../../../schemas/answers/query.ts'
import { entry, must } from '../../../privacy/must.ts'
import { type Dataset, type GridColumn, isGrid, type QueryableColumn } from '../../dataset/dataset.ts'
import { parseGridValue, valueOfIndex } from '../../dataset/grid-value.ts'
import type { Predicate } from '../language/aggregate.ts'
import { columnNamed } from '../language/columns.ts'
import { planPredicate } from '../language/predicate.ts'
import {
  complement,
  contains,
  type Interval,
  isEmpty,
  type Values,
  valuesInAny,
  valuesOf,
} from './column-values.ts'

/*
 * The normal form of predicates. Predicates are two-valued: a comparison with NULL is false, and its negation is true.
 * So boolean algebra is exact, NULL included. A predicate becomes alternating conjunctions and disjunctions without
 * negations, whose operands are sorted and different, with one set of values for each column; a set is then written in
 * one way. Equal normal forms therefore select the same rows. Not every two predicates that select the same rows have
 * one normal form, because finding all of them needs exponential work.
 */

/** Rows that satisfy a predicate. */
export type Rows =
  | { readonly kind: 'every' }
  | { readonly kind: 'none' }
  /** The rows whose value of a column is in a set, which is neither empty nor complete. */
  | { readonly kind: 'values'; readonly column: QueryableColumn; readonly values: Values }
  /** At least two operands: sets of different columns, and combinations of the other kind. */
  | { readonly kind: 'and'; readonly operands: readonly Operand[] }
  | { readonly kind: 'or'; readonly operands: readonly Operand[] }

type SetOfValues = Extract<Rows, { kind: 'values' }>

/** An operand with its predicate as a query writes it, and the JSON text of that, by which operands are sorted. */
interface Operand {
  readonly rows: Rows
  readonly predicate: QueryPredicate
  readonly text: string
}

type Combination = 'and' | 'or'
type Constant = Extract<Rows, { kind: 'every' | 'none' }>

/** Limits of a predicate in a query, as the schema of queries has them. */
const DEEPEST = 12
const LONGEST_LIST = 1_000
/** Intervals that a predicate can list: each that is not a range adds a value to a list, and each range is an operand. */
const MOST_INTERVALS = 2 * LONGEST_LIST

/**
 * Returns the normal form of a predicate.
 *
 * A predicate whose normal form a query could not contain is its own normal form: one that would be nested too deep or
 * have too long lists, or that compares with a grid point that no JSON number denotes.
 *
 * @returns the normal form, as a query writes it, and `every` if all rows of the dataset satisfy it
 * @throws Refusal as {@link planPredicate}.
 */
export function normalPredicate(
  where: QueryPredicate,
  dataset: Dataset,
): { readonly predicate: QueryPredicate; readonly every: boolean } {
  const rows = rowsOf(planPredicate(where, dataset, 'where'), dataset)
  const predicate = writtenRows(rows, dataset)
  const exact = predicate !== undefined && isWithinLimits(predicate)
  return { predicate: exact ? predicate : where, every: rows.kind === 'every' }
}

/**
 * Returns the rows that satisfy a predicate.
 * @throws RangeError for a text that is not well-formed Unicode, which requests cannot contain.
 */
export function rowsOf(predicate: Predicate, dataset: Dataset): Rows {
  return rowsWhere(predicate, true, dataset)
}

function rowsWhere(predicate: Predicate, holds: boolean, dataset: Dataset): Rows {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = predicate.predicates.map((operand) => rowsWhere(operand, holds, dataset))
      // De Morgan.
      return combined((predicate.kind === 'and') === holds ? 'and' : 'or', operands)
    }
    case 'not':
      return rowsWhere(predicate.predicate, !holds, dataset)
    default: {
      const column = columnNamed(dataset, predicate.column)
      const values = column && valuesOf(predicate, column)
      if (column === undefined || values === undefined)
        throw new RangeError('a predicate compares a column with well-formed values of its type')
      return rowsWith(column, holds ? values : complement(values, column))
    }
  }
}

function rowsWith(column: QueryableColumn, values: Values): Rows {
  if (isEmpty(values)) return { kind: 'none' }
  return isEmpty(complement(values, column)) ? { kind: 'every' } : { kind: 'values', column, values }
}

/** Combines rows: those in all operands, or those in any. Each level takes work in proportion to its operands. */
function combined(kind: Combination, parts: readonly Rows[]): Rows {
  const [neutral, absorbing] = kind === 'and' ? (['every', 'none'] as const) : (['none', 'every'] as const)
  const flat = parts.flatMap((part) =>
    part.kind === kind ? part.operands.map(({ rows }) => rows) : part.kind === neutral ? [] : [part],
  )
  const merged = mergedByColumn(kind, flat)
  if ([...flat, ...merged].some((rows) => rows.kind === absorbing)) return { kind: absorbing }
  const [only, ...others] = [...merged.filter(isSet), ...flat.filter((rows) => !isSet(rows))]
  if (only === undefined) return { kind: neutral }
  if (others.length === 0) return only
  const sets = merged.filter(isSet).map(operandOf)
  const isAbsorbed = absorption(kind, merged.filter(isSet))
  const combinations = new Map<string, Operand>()
  for (const rows of flat) {
    if (rows.kind !== 'and' && rows.kind !== 'or') continue
    if (isAbsorbed(rows)) continue
    const operand = operandOf(rows)
    combinations.set(operand.text, operand)
  }
  const operands = [...sets, ...combinations.values()].sort((a, b) =>
    a.text < b.text ? -1 : a.text > b.text ? 1 : 0,
  )
  const [first] = operands
  return operands.length === 1 && first !== undefined ? first.rows : { kind, operands }
}

/**
 * Returns a test of the combinations that sets of values make redundant: `a and (b or c)` is `a` if all rows of `a` are in
 * `b`, and `a or (b and c)` is `a` if all rows of `b` are in `a`. Comparing `a` and `b` for equality would depend on the
 * nesting: a set that is merged with others later makes the same combinations redundant, and more.
 */
function absorption(kind: Combination, sets: readonly SetOfValues[]) {
  // De Morgan: a is in b if all other values than those of b are others than those of a.
  const turned = ({ values, column }: SetOfValues) => (kind === 'or' ? values : complement(values, column))
  const absorbing = new Map(sets.map((set) => [set.column.name, turned(set)]))
  return ({ operands }: Extract<Rows, { kind: Combination }>): boolean =>
    operands.some(({ rows }) => {
      const set = isSet(rows) ? absorbing.get(rows.column.name) : undefined
      return set !== undefined && isSet(rows) && contains(set, turned(rows))
    })
}

function isSet(rows: Rows): rows is SetOfValues {
  return rows.kind === 'values'
}

/** Merges the sets of each column into one. */
function mergedByColumn(kind: Combination, parts: readonly Rows[]): readonly Rows[] {
  const sets = parts.filter(isSet)
  return [...Map.groupBy(sets, ({ column }) => column.name).values()].map((same) => {
    const [first, others] = [entry(same, 0), same.slice(1)]
    const { column } = first
    if (others.length === 0) return first
    if (kind === 'or')
      return rowsWith(column, valuesInAny([first.values, ...others.map(({ values }) => values)]))
    // De Morgan.
    const outside = (rows: SetOfValues) => complement(rows.values, column)
    return rowsWith(column, complement(valuesInAny([outside(first), ...others.map(outside)]), column))
  })
}

function operandOf(rows: Exclude<Rows, Constant>): Operand {
  if (rows.kind === 'values') {
    const predicate = writtenValues(rows.values, rows.column)
    return { rows, predicate, text: JSON.stringify(predicate) }
  }
  const { kind, operands } = rows
  const predicates = operands.map(({ predicate }) => predicate)
  const texts = operands.map(({ text }) => text)
  return {
    rows,
    predicate: { op: kind, predicates },
    text: `{"op":"${kind}","predicates":[${texts.join()}]}`,
  }
}

/** Writes rows as a predicate of a query; `undefined` if a value cannot be written exactly. */
function writtenRows(rows: Rows, dataset: Dataset): QueryPredicate | undefined {
  if (!isExact(rows)) return undefined
  if (rows.kind === 'every' || rows.kind === 'none') {
    const [column] = dataset.columns.filter((each) => each.type !== 'identifier')
    if (column === undefined) return undefined
    const missing = { column: column.name, op: 'isNull' } as const
    const predicates = [missing, { op: 'not', predicate: missing } as const]
    return { op: rows.kind === 'every' ? 'or' : 'and', predicates }
  }
  return operandOf(rows).predicate
}

/** True if a predicate can list the rows' intervals, and JSON numbers and texts denote every end of them. */
function isExact(rows: Rows): boolean {
  switch (rows.kind) {
    case 'every':
    case 'none':
      return true
    case 'and':
    case 'or':
      return rows.operands.every((operand) => isExact(operand.rows))
    case 'values': {
      const { column, values } = rows
      // Timestamps and dates are whole numbers of their unit, and always have a text.
      if (column.type !== 'number' && column.type !== 'integer') return true
      return [values, complement(values, column)].every(
        ({ present }) =>
          present.kind === 'texts' ||
          (present.intervals.length <= MOST_INTERVALS &&
            present.intervals.every((ends) => ends.every((index) => isWritable(column, index)))),
      )
    }
  }
}

function isWritable(column: GridColumn, index: bigint): boolean {
  const parsed = parseGridValue(column.type, valueOfIndex(column, index))
  return 'nano' in parsed && parsed.nano === index * column.stepNano
}

/** A part of a written set, and the number of values that it names. */
interface Part {
  readonly predicate: QueryPredicate
  readonly named: number
}

/**
 * Writes a set of values as a predicate. Of the set and the negation of all other values it takes the one that names
 * fewer values.
 */
function writtenValues(values: Values, column: QueryableColumn): QueryPredicate {
  const outside = complement(values, column)
  const [direct, opposite] = [partsOf(values, column), partsOf(outside, column)]
  const named = (parts: readonly Part[] | undefined) =>
    parts?.reduce((sum, part) => sum + part.named, 0) ?? Number.POSITIVE_INFINITY
  const excluded = values.missing ? undefined : onlyValue(outside, column)
  if (excluded !== undefined && named(direct) > 1) return { column: column.name, op: '!=', value: excluded }
  const negated = named(opposite) < named(direct)
  const parts = must(negated ? opposite : direct, 'a form of the set')
  const predicates = parts.map(({ predicate }) => predicate)
  const any: QueryPredicate = predicates.length > 1 ? { op: 'or', predicates } : entry(predicates, 0)
  return negated ? { op: 'not', predicate: any } : any
}

/** The one value of a set apart from NULL; `undefined` if there are several, or none. */
function onlyValue({ present }: Values, column: QueryableColumn) {
  if (present.kind === 'texts') {
    const [text, ...texts] = present.listed
    return present.allBut || texts.length > 0 ? undefined : text
  }
  const [interval, ...intervals] = present.intervals
  if (interval === undefined || intervals.length > 0 || interval[0] !== interval[1]) return undefined
  return valueAt(interval[0], column)
}

/** Conditions of which a row in the set satisfies one; `undefined` for all texts but some, which none can list. */
function partsOf({ missing, present }: Values, column: QueryableColumn): readonly Part[] | undefined {
  const ofNull: readonly Part[] = missing
    ? [{ predicate: { column: column.name, op: 'isNull' }, named: 1 }]
    : []
  if (present.kind === 'texts')
    return present.allBut ? undefined : [...membership([...present.listed].sort(), column), ...ofNull]
  const { intervals } = present
  const [only] = intervals
  if (isGrid(column) && intervals.length === 1 && only !== undefined) return [range(only, column), ...ofNull]
  const isShort = ([lowest, highest]: Interval) => !isGrid(column) || highest - lowest <= 1n
  const points = intervals.filter(isShort).flatMap(([lowest, highest]) => pointsBetween(lowest, highest))
  const ranges = isGrid(column)
    ? intervals.filter((interval) => !isShort(interval)).map((interval) => range(interval, column))
    : []
  const listed = points.map((point) => valueAt(point, column))
  return [...membership(listed, column), ...ranges, ...ofNull]
}

function pointsBetween(lowest: bigint, highest: bigint): readonly bigint[] {
  return Array.from({ length: Number(highest - lowest) + 1 }, (_, place) => lowest + BigInt(place))
}

function membership(
  values: readonly (string | number | boolean)[],
  { name }: QueryableColumn,
): readonly Part[] {
  const [value, ...others] = values
  if (value === undefined) return []
  const predicate: QueryPredicate =
    others.length === 0 ? { column: name, op: '=', value } : { column: name, op: 'in', values: [...values] }
  return [{ predicate, named: values.length }]
}

function range([lowest, highest]: Interval, column: GridColumn): Part {
  const { name, lowerIndex, upperIndex } = column
  const [lower, upper] = [valueOfIndex(column, lowest), valueOfIndex(column, highest)]
  if (lowest === highest) return { predicate: { column: name, op: '=', value: lower }, named: 1 }
  if (lowest === lowerIndex && highest !== upperIndex)
    return { predicate: { column: name, op: '<=', value: upper }, named: 1 }
  if (highest === upperIndex && lowest !== lowerIndex)
    return { predicate: { column: name, op: '>=', value: lower }, named: 1 }
  return { predicate: { column: name, op: 'between', lower, upper }, named: 2 }
}

/** The value at an index, as a query writes it. */
function valueAt(index: bigint, column: QueryableColumn): string | number | boolean {
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return valueOfIndex(column, index)
    case 'boolean':
      return index === 1n
    case 'category':
      return entry(column.categories, Number(index))
    case 'string':
      throw new RangeError('a text has no index')
  }
}

function isWithinLimits(predicate: QueryPredicate, depth = DEEPEST): boolean {
  if (depth === 0) return false
  switch (predicate.op) {
    case 'and':
    case 'or':
      return (
        predicate.predicates.length <= LONGEST_LIST &&
        predicate.predicates.every((operand) => isWithinLimits(operand, depth - 1))
      )
    case 'not':
      return isWithinLimits(predicate.predicate, depth - 1)
    case 'in':
      return predicate.values.length <= LONGEST_LIST
    default:
      return true
  }
}
