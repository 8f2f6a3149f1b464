import { entry, must } from '../../privacy/must.ts'
import type { Dataset, QueryableColumn } from '../dataset/dataset.ts'
import { contains, domainOf, type Values, valuesOf } from '../planner/identity/column-values.ts'
import {
  type Aggregate,
  type GroupKey,
  groupKeySize,
  type Predicate,
  type Statistic,
} from '../planner/language/aggregate.ts'
import { columnNamed } from '../planner/language/columns.ts'
import { comparisonsIn } from '../planner/language/formula.ts'

/*
 * Elementary cells: the comparisons and group keys of several aggregates cut every column into classes of values that none
 * of them tells apart. A combination of classes, one of each column, is an elementary cell: every condition of these
 * aggregates holds for all rows of a cell or for none.
 */

/** A value that stands for its class: an index, a text, a text that no comparison lists, or NULL. */
type Representative = bigint | string | typeof OTHER_TEXT | null

const OTHER_TEXT = Symbol('a text that no comparison lists')

/** A group key about one column. */
export type ColumnKey = Extract<GroupKey, { readonly column: string }>

/** What tells the values of one column apart, by its text. */
interface Cuts {
  readonly comparisons: ReadonlyMap<string, Values>
  readonly keys: ReadonlyMap<string, ColumnKey>
}

/** The conditions of aggregates, by the columns that they are about. */
export type Conditions = ReadonlyMap<string, Cuts>

/** The part of an aggregate that decides which rows count where. */
type Selecting = Pick<Aggregate, 'where' | 'groupBy' | 'statistics'>

/** A property of the rows of an elementary cell. */
type OfCell<Value> = (cell: number) => Value

/** Elementary cells of several aggregates. The number of a cell is `constant part * varying + varying part`. */
export interface ElementaryCells {
  /** Number of combinations of classes of the columns that are constant per person. */
  readonly constant: number
  /** Number of combinations of classes of the other columns. */
  readonly varying: number
  /** Which cells have the rows that satisfy a predicate. Every row satisfies an absent one. */
  readonly satisfying: (predicate: Predicate | undefined) => OfCell<boolean>
  /** Which cells have the rows with a value in a column. */
  readonly withValue: (column: string) => OfCell<boolean>
  /** In which cell of an aggregate the rows of an elementary cell are; `undefined` if they are in none. */
  readonly placed: (groupBy: readonly GroupKey[]) => OfCell<number | undefined>
}

/**
 * Adds the conditions of an aggregate to others. The number of a person's rows is no condition on a row.
 * @returns `undefined` for an aggregate whose comparisons are not about single values
 */
export function withConditions(
  conditions: Conditions,
  { where, groupBy, statistics }: Selecting,
  dataset: Dataset,
): Conditions | undefined {
  const comparisons = [
    ...[where, ...groupBy.map(predicateOfKey), ...statistics.map(predicateOf)].flatMap((predicate) =>
      predicate === undefined ? [] : comparisonsIn(predicate),
    ),
    ...statistics.flatMap(columnsOf).map((column) => ({ kind: 'is-null', column }) as const),
  ]
  const added = new Map(conditions)
  for (const comparison of comparisons) {
    const values = valuesOf(comparison, columnOf(comparison.column, dataset))
    if (values === undefined) return undefined
    const { comparisons = new Map(), keys = new Map() } = added.get(comparison.column) ?? {}
    added.set(comparison.column, {
      comparisons: new Map([...comparisons, [textOf(comparison), values]]),
      keys,
    })
  }
  for (const key of groupBy) {
    if (!('column' in key)) continue
    const { comparisons = new Map(), keys = new Map() } = added.get(key.column) ?? {}
    added.set(key.column, { comparisons, keys: new Map([...keys, [textOf(key), key]]) })
  }
  return added
}

/** The elementary cells that conditions make; `undefined` if there are more than `most`. */
export function elementaryCells(
  conditions: Conditions,
  dataset: Dataset,
  most: number,
): ElementaryCells | undefined {
  const all = [...conditions].map(([name, cuts]) => {
    const column = columnOf(name, dataset)
    return { column, representatives: representativesOf(column, cuts) }
  })
  const sizeOf = (columns: typeof all) =>
    columns.reduce((product, { representatives }) => product * representatives.length, 1)
  if (sizeOf(all) > most) return undefined
  const [constant, varying] = [true, false].map((wanted) =>
    all.filter(({ column }) => isConstant(column, dataset) === wanted),
  ) as [typeof all, typeof all]
  const strides = new Map<
    string,
    { readonly stride: number; readonly representatives: readonly Representative[] }
  >()
  let stride = 1
  for (const { column, representatives } of [...constant, ...varying].reverse()) {
    strides.set(column.name, { stride, representatives })
    stride *= representatives.length
  }
  /** A property of the values of one column. */
  function ofColumn<Value>(name: string, property: (value: Representative) => Value): OfCell<Value> {
    const { stride, representatives } = must(strides.get(name), 'the classes of a column')
    const values = representatives.map(property)
    return (cell) => values[Math.floor(cell / stride) % values.length] as Value
  }
  const satisfying = (predicate: Predicate | undefined): OfCell<boolean> => {
    if (predicate === undefined) return () => true
    switch (predicate.kind) {
      case 'and': {
        const all = predicate.predicates.map(satisfying)
        return (cell) => all.every((test) => test(cell))
      }
      case 'or': {
        const any = predicate.predicates.map(satisfying)
        return (cell) => any.some((test) => test(cell))
      }
      case 'not': {
        const test = satisfying(predicate.predicate)
        return (cell) => !test(cell)
      }
      default: {
        const values = must(valuesOf(predicate, columnOf(predicate.column, dataset)), 'values')
        return ofColumn(predicate.column, (value) => isAmong(values, value))
      }
    }
  }
  return {
    constant: sizeOf(constant),
    varying: sizeOf(varying),
    satisfying,
    withValue: (column) => ofColumn(column, (value) => value !== null),
    placed(groupBy) {
      const places = groupBy.map((key): OfCell<number | undefined> => {
        if ('column' in key) return ofColumn(key.column, (value) => placeIn(key, value))
        if (key.kind !== 'predicate') throw new RangeError('the cells of a key are not made from values')
        const test = satisfying(key.predicate)
        return (cell) => (test(cell) ? 1 : 0)
      })
      return (cell) => {
        let whole = 0
        for (const [position, placeOf] of places.entries()) {
          const place = placeOf(cell)
          if (place === undefined) return undefined
          whole = whole * groupKeySize(entry(groupBy, position)) + place
        }
        return whole
      }
    },
  }
}

/** True for a column that has one value in all rows of a privacy unit, if units have several rows. */
export function isConstant(column: QueryableColumn, { privacyUnit }: Dataset): boolean {
  return privacyUnit.kind === 'person' && column.constantPerPerson === true
}

/** Returns the column of a condition. */
export function columnOf(name: string, dataset: Dataset): QueryableColumn {
  return must(columnNamed(dataset, name), 'a column')
}

/** A text that is equal for equal values, such as conditions. */
export function textOf(value: object): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each))
}

function predicateOfKey(key: GroupKey): Predicate | undefined {
  return key.kind === 'predicate' ? key.predicate : undefined
}

/** The condition on the rows that a statistic counts, if it has one of its own. */
export function predicateOf(statistic: Statistic): Predicate | undefined {
  return 'where' in statistic ? statistic.where : undefined
}

/** The columns whose values a statistic needs: rows without one do not count. */
export function columnsOf(statistic: Statistic): readonly string[] {
  switch (statistic.kind) {
    case 'count':
    case 'count-people':
    case 'count-distinct-values':
      return statistic.column === undefined ? [] : [statistic.column]
    case 'affine-sum':
    case 'affine-square-sum': {
      const column = statistic.column ?? statistic.perPerson?.column
      return column === undefined ? [] : [column]
    }
    case 'affine-product-sum':
      return statistic.terms.map(({ column }) => column)
    case 'affine-count':
    case 'count-distinct':
      return []
  }
}

/** An upper bound of the number of elementary cells that conditions make, which is quickly computed. */
export function mostElementaryCells(conditions: Conditions, dataset: Dataset): number {
  return [...conditions].reduce(
    (product, [name, cuts]) => product * candidatesOf(columnOf(name, dataset), cuts).length,
    1,
  )
}

/** The first integers of the stretches that conditions cut a column into. */
export function cutsOf(conditions: Conditions, column: QueryableColumn): ReadonlySet<bigint> {
  const cuts = conditions.get(column.name)
  const candidates = cuts === undefined ? [] : candidatesOf(column, cuts)
  return new Set(candidates.filter((value): value is bigint => typeof value === 'bigint'))
}

/** One value of each class that a column's comparisons and keys make. */
function representativesOf(column: QueryableColumn, cuts: Cuts): readonly Representative[] {
  const { comparisons, keys } = cuts
  const sets = [...comparisons.values()]
  const classes = new Map<string, Representative>()
  for (const value of candidatesOf(column, cuts)) {
    const tests = [
      ...sets.map((set) => isAmong(set, value)),
      ...[...keys.values()].map((key) => placeIn(key, value)),
    ]
    const text = tests.join()
    if (!classes.has(text)) classes.set(text, value)
  }
  return [...classes.values()]
}

/** Values among which there is one of each class. */
function candidatesOf(column: QueryableColumn, { comparisons, keys }: Cuts): readonly Representative[] {
  const sets = [...comparisons.values()]
  const present = column.type === 'string' ? textsIn(sets) : integersIn(column, sets, [...keys.values()])
  return column.nullable ? [...present, null] : present
}

function textsIn(sets: readonly Values[]): Representative[] {
  const listed = sets.flatMap(({ present }) => (present.kind === 'texts' ? [...present.listed] : []))
  return [...new Set(listed), OTHER_TEXT]
}

/** The first integer of each stretch between two cuts. */
function integersIn(
  column: Exclude<QueryableColumn, { type: 'string' }>,
  sets: readonly Values[],
  keys: readonly ColumnKey[],
): Representative[] {
  const [lowest, highest] = domainOf(column)
  const starts = new Set([lowest])
  const cut = (start: bigint) => {
    if (start > lowest && start <= highest) starts.add(start)
  }
  for (const { present } of sets) {
    if (present.kind !== 'integers') continue
    for (const [start, end] of present.intervals) {
      cut(start)
      cut(end + 1n)
    }
  }
  for (const key of keys) {
    if (key.kind === 'bins') key.edges.forEach(cut)
    else for (let each = lowest; each <= highest; each += 1n) cut(each)
  }
  return [...starts]
}

function isAmong(values: Values, value: Representative): boolean {
  if (value === null) return values.missing
  if (typeof value === 'bigint')
    return contains(values, { missing: false, present: { kind: 'integers', intervals: [[value, value]] } })
  const { present } = values
  if (present.kind !== 'texts') throw new RangeError('a column holds integers or texts')
  return typeof value === 'string' && present.listed.has(value) ? !present.allBut : present.allBut
}

/** The cell of a key that a value is in. */
function placeIn(key: ColumnKey, value: Representative): number | undefined {
  if (value === null) return key.nullCell ? groupKeySize(key) - 1 : undefined
  if (typeof value !== 'bigint') throw new RangeError('texts are in no cell of a key')
  if (key.kind !== 'bins') return Number(value)
  const { edges, cycle } = key
  const bin = edges.findLastIndex((edge) => edge <= value)
  if (bin === -1 || bin === edges.length - 1) return undefined
  return cycle === undefined ? bin : (cycle.first + bin) % cycle.length
}
