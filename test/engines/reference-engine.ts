import type { Dataset } from '../../src/catalog/dataset.ts'
import type { Engine } from '../../src/engines/engine.ts'
import {
  type Aggregate,
  type GroupKey,
  groupKeySize,
  type Predicate,
  type Statistic,
} from '../../src/planner/aggregate.ts'

/** A value as it is stored: a grid index, a category's index, a boolean, a text or NULL. */
export type StoredValue = bigint | number | boolean | string | null

/** A row as it is stored. */
export type StoredRow = Readonly<Record<string, StoredValue>>

/** What an aggregate means, in the plainest words: one row after the other, no cleverness, no floating point. */
export function aggregateRows(aggregate: Aggregate, rows: readonly StoredRow[]): bigint[][] {
  const cells = aggregate.groupBy.reduce((product, key) => product * groupKeySize(key), 1)
  const result = aggregate.statistics.map(() => new Array<bigint>(cells).fill(0n))
  for (const row of rows) {
    if (aggregate.where !== undefined && !holds(aggregate.where, row)) continue
    const cell = cellOf(aggregate.groupBy, row)
    if (cell === undefined) continue
    for (const [index, statistic] of aggregate.statistics.entries()) {
      const target = result[index] ?? []
      target[cell] = (target[cell] ?? 0n) + contribution(statistic, row)
    }
  }
  return result
}

/** An engine over rows in memory. */
export function referenceEngine(rowsOf: (dataset: Dataset) => readonly StoredRow[]): Engine {
  return {
    aggregate: async (dataset, aggregate) => aggregateRows(aggregate, rowsOf(dataset)),
    healthy: async () => true,
    close: async () => undefined,
  }
}

function storedValue(row: StoredRow, column: string): StoredValue {
  const value = row[column]
  if (value === undefined) throw new Error(`no column ${column}`)
  return value
}

function contribution(statistic: Statistic, row: StoredRow): bigint {
  if (statistic.kind === 'count') {
    return statistic.column === undefined || storedValue(row, statistic.column) !== null ? 1n : 0n
  }
  const value = storedValue(row, statistic.column)
  return typeof value === 'bigint' ? statistic.factor * value + statistic.offset : 0n
}

function cellOf(keys: readonly GroupKey[], row: StoredRow): number | undefined {
  let cell = 0
  for (const key of keys) {
    const place = placeOf(key, storedValue(row, key.column))
    if (place === undefined) return undefined
    cell = cell * groupKeySize(key) + place
  }
  return cell
}

function placeOf(key: GroupKey, value: StoredValue): number | undefined {
  if (value === null) return key.nullCell ? groupKeySize(key) - 1 : undefined
  switch (key.kind) {
    case 'category':
      return Number(value)
    case 'boolean':
      return value === true ? 1 : 0
    case 'bins': {
      const bin = key.edges.findLastIndex((edge) => edge <= BigInt(value))
      return bin === -1 || bin === key.edges.length - 1 ? undefined : bin
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
