import type { Dataset } from '../../src/core/dataset/dataset.ts'
import {
  type AffineTerm,
  type Aggregate,
  type CellCounting,
  type Clamp,
  cellCount,
  type GroupKey,
  groupKeySize,
  type Predicate,
  type Statistic,
  type Summand,
  type ValueCounting,
} from '../../src/core/planner/language/aggregate.ts'
import type { IndexCounts, TextCounts } from '../../src/core/planner/language/reading.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { boundedRows, byPerson, clampedIndex, countedTexts, personValueOf } from './reference-people.ts'

/** A stored value: a grid index, a category's index, a boolean, a text or NULL. */
export type StoredValue = bigint | number | boolean | string | null

/** A stored row. */
export type StoredRow = Readonly<Record<string, StoredValue>>

/** Computes an aggregate by its definition: one row after the other, without optimisation or floating point. */
export function aggregateRows(aggregate: Aggregate, rows: readonly StoredRow[]): bigint[][] {
  const cells = aggregate.groupBy.reduce((product, key) => product * groupKeySize(key), 1)
  const [only] = aggregate.groupBy
  if (only?.kind === 'rows-of-person') return [peopleByRows(only.edges, aggregate.where, rows)]
  const rowsOfCells = Array.from({ length: cells }, (): StoredRow[] => [])
  const placed = rows.flatMap((row) => {
    if (aggregate.where !== undefined && !holds(aggregate.where, row)) return []
    const cell = cellOf(aggregate.groupBy, row)
    return cell === undefined ? [] : [{ row, cell }]
  })
  for (const { row, cell } of boundedRows(aggregate.bounding, placed)) rowsOfCells[cell]?.push(row)
  return aggregate.statistics.map((statistic) =>
    rowsOfCells.map((rowsOfCell) => statisticOf(statistic, rowsOfCell)),
  )
}

/** Counts the people in each bin of the number of their rows. */
function peopleByRows(
  edges: readonly bigint[],
  where: Predicate | undefined,
  rows: readonly StoredRow[],
): bigint[] {
  const counts = edges.slice(1).map(() => 0n)
  const kept = rows.filter((row) => where === undefined || holds(where, row))
  for (const own of byPerson(kept, (row) => row)) {
    const bin = edges.findLastIndex((edge) => edge <= BigInt(own.length))
    const count = counts[bin]
    if (count === undefined) throw new Error('a person is in no bin')
    counts[bin] = count + 1n
  }
  return counts
}

/** Counts the values of a numeric column by definition. */
export function countIndexesOf(counting: ValueCounting, rows: readonly StoredRow[]): IndexCounts {
  const counts = new Map<number, number>()
  for (const value of countedValues(counting, rows)) {
    if (typeof value !== 'bigint') throw new Error('no index')
    counts.set(Number(value), (counts.get(Number(value)) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([a], [b]) => a - b)
  return {
    indexes: Float64Array.from(sorted, ([index]) => index),
    counts: Float64Array.from(sorted, ([, count]) => count),
  }
}

/** Counts the values of a column in each cell by definition. */
export function countCellIndexesOf(
  { where, groupBy, column, clamp, bounding }: CellCounting,
  rows: readonly StoredRow[],
): IndexCounts[] {
  const placed = rows
    .filter((row) => (where === undefined || holds(where, row)) && storedValue(row, column) !== null)
    .map((row) => ({ row, cell: cellOf(groupBy, row) }))
    .filter(({ cell }) => cell !== undefined)
  const bounded = boundedRows(bounding, placed)
  const counting = { column, ...(clamp && { clamp }), bounding: { kind: 'one-row-each' } } as const
  return Array.from({ length: cellCount({ groupBy }) }, (_, cell) =>
    countIndexesOf(
      counting,
      bounded.filter((each) => each.cell === cell).map(({ row }) => row),
    ),
  )
}

/** Counts the texts of a free-text column by definition, in the order in which they first appear. */
export function countTextsOf(counting: ValueCounting, rows: readonly StoredRow[]): TextCounts {
  const counts = new Map<string, number>()
  for (const value of countedValues(counting, rows)) {
    if (typeof value !== 'string') throw new Error('no text')
    counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  return { texts: [...counts.keys()], counts: Float64Array.from(counts.values()) }
}

/** An engine over rows in memory. */
export function referenceEngine(rowsOf: (dataset: Dataset) => readonly StoredRow[]): Engine {
  return {
    aggregate: async (dataset, aggregate) => aggregateRows(aggregate, rowsOf(dataset)),
    countIndexes: async (dataset, counting) => countIndexesOf(counting, rowsOf(dataset)),
    countIndexesInCells: async (dataset, counting) => countCellIndexesOf(counting, rowsOf(dataset)),
    countTexts: async (dataset, counting) => countTextsOf(counting, rowsOf(dataset)),
    healthy: async () => true,
    close: async () => undefined,
  }
}

function storedValue(row: StoredRow, column: string): StoredValue {
  const value = row[column]
  if (value === undefined) throw new Error(`no column ${column}`)
  return value
}

/** Values, each as many times as it counts. */
function countedValues(counting: ValueCounting, rows: readonly StoredRow[]): StoredValue[] {
  const { where, bounding, perPerson } = counting
  const kept = rows.filter((row) => where === undefined || holds(where, row))
  if (perPerson !== undefined) {
    const placed = boundedRows(
      bounding,
      kept.map((row) => ({ row, cell: 0 })),
    )
    return byPerson(placed, ({ row }) => row).flatMap(
      (own) =>
        personValueOf(
          perPerson,
          own.map(({ row }) => row),
        ) ?? [],
    )
  }
  const { column, clamp } = counting
  const counted = (row: StoredRow) =>
    clamp === undefined ? storedValue(row, column) : indexOf(column, row, clamp)
  const placed = boundedRows(
    bounding,
    kept.map((row) => ({ row, cell: counted(row) ?? null })).filter(({ cell }) => cell !== null),
  )
  if (counting.people !== true) return placed.map(({ cell }) => cell)
  return byPerson(placed, ({ row }) => row).flatMap((own) => [...new Set(own.map(({ cell }) => cell))])
}

/** A statistic of the bounded rows in one cell. */
function statisticOf(statistic: Statistic, rows: readonly StoredRow[]): bigint {
  switch (statistic.kind) {
    case 'count':
      return BigInt(rows.filter((row) => counts(statistic, row)).length)
    case 'count-people': {
      const counted = rows.filter((row) => counts(statistic, row))
      return BigInt(byPerson(counted, (row) => row).length)
    }
    case 'count-distinct': {
      const places = new Set(rows.map((row) => cellOf([statistic.of], row)))
      places.delete(undefined)
      return BigInt(places.size)
    }
    case 'count-distinct-values':
      return BigInt(countedTexts(statistic.column, statistic.valuesEach, rows).size)
    case 'affine-sum':
    case 'affine-square-sum':
      return summands(statistic, rows).reduce((sum, index) => {
        const affine = statistic.factor * index + statistic.offset
        return sum + (statistic.kind === 'affine-sum' ? affine : affine * affine)
      }, 0n)
    case 'affine-count': {
      const { where, factor, offset } = statistic
      return rows.reduce((sum, row) => sum + (holds(where, row) ? factor : 0n) + offset, 0n)
    }
    case 'affine-product-sum':
      return rows.reduce((sum, row) => sum + productOf(statistic.terms, row), 0n)
  }
}

function counts(
  { column, where }: { readonly column?: string; readonly where?: Predicate },
  row: StoredRow,
): boolean {
  return (
    (column === undefined || storedValue(row, column) !== null) && (where === undefined || holds(where, row))
  )
}

/** The integers that a sum adds up, of rows or of people. */
function summands({ column, clamp, perPerson }: Summand, rows: readonly StoredRow[]): bigint[] {
  if (perPerson !== undefined)
    return byPerson(rows, (row) => row).flatMap((own) => personValueOf(perPerson, own) ?? [])
  return rows.flatMap((row) => indexOf(column, row, clamp) ?? [])
}

/** The product of two terms in a row; 0 if either has no value. */
function productOf(terms: readonly AffineTerm[], row: StoredRow): bigint {
  const values = terms.map(({ column, clamp, factor, offset }) => {
    const index = indexOf(column, row, clamp)
    return index === undefined ? undefined : factor * index + offset
  })
  return values.reduce<bigint>((product, value) => product * (value ?? 0n), 1n)
}

/** The index of a row in a column, clamped; `undefined` for NULL. A boolean is 0 or 1. */
function indexOf(column: string, row: StoredRow, clamp?: Clamp): bigint | undefined {
  const value = storedValue(row, column)
  const index = typeof value === 'boolean' ? BigInt(value) : value
  return typeof index === 'bigint' ? clampedIndex(index, clamp) : undefined
}

function cellOf(keys: readonly GroupKey[], row: StoredRow): number | undefined {
  let cell = 0
  for (const key of keys) {
    const place = placeOf(key, row)
    if (place === undefined) return undefined
    cell = cell * groupKeySize(key) + place
  }
  return cell
}

function placeOf(key: GroupKey, row: StoredRow): number | undefined {
  if (key.kind === 'predicate') return holds(key.predicate, row) ? 1 : 0
  if (key.kind === 'rows-of-person') throw new Error('a row alone is in no bin')
  const value = storedValue(row, key.column)
  if (value === null) return key.nullCell ? groupKeySize(key) - 1 : undefined
  switch (key.kind) {
    case 'category':
      return Number(value)
    case 'boolean':
      return value === true ? 1 : 0
    case 'bins': {
      const bin = key.edges.findLastIndex((edge) => edge <= BigInt(value))
      if (bin === -1 || bin === key.edges.length - 1) return undefined
      return key.cycle === undefined ? bin : (key.cycle.first + bin) % key.cycle.length
    }
  }
}

function holds(predicate: Predicate, row: StoredRow): boolean {
  switch (predicate.kind) {
    case 'and':
      return predicate.predicates.every((operand) => holds(operand, row))
    case 'or':
      return predicate.predicates.some((operand) => holds(operand, row))
    case 'not':
      return !holds(predicate.predicate, row)
    case 'is-null':
      return storedValue(row, predicate.column) === null
    case 'index-between': {
      const value = storedValue(row, predicate.column)
      if (typeof value !== 'bigint') return false
      return (
        (predicate.lower === undefined || value >= predicate.lower) &&
        (predicate.upper === undefined || value <= predicate.upper)
      )
    }
    case 'index-in':
      return predicate.indexes.some((index) => index === storedValue(row, predicate.column))
    case 'category-in':
      return predicate.indexes.some((index) => index === storedValue(row, predicate.column))
    case 'boolean-is':
      return storedValue(row, predicate.column) === predicate.value
    case 'string-in':
      return predicate.values.some((value) => value === storedValue(row, predicate.column))
  }
}
