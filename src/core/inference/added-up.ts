import { entry, must } from '../../privacy/must.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { domainOf } from '../planner/identity/column-values.ts'
import { type Aggregate, cellCount, type GroupKey, groupKeySize } from '../planner/language/aggregate.ts'
import {
  type ColumnKey,
  type Conditions,
  columnOf,
  cutsOf,
  isConstant,
  textOf,
  withConditions,
} from './elementary-cells.ts'
import { countsPeople, isUnbounded } from './linear-forms.ts'

/*
 * Tables whose cells are added up over what a question does not tell apart, because a table of many columns has too many elementary
 * cells. Among whole tables nothing is lost over columns that the question is not about: inference.md, "Sums of cells".
 */

/** An aggregate, each of whose cells is the sum of cells of a table. */
export interface AddedUp {
  readonly aggregate: Aggregate
  /** The cells that are added up, for each cell; absent if they are those of the table. */
  readonly groups?: readonly (readonly number[])[]
}

/** What the cells of a table are added up over. */
export interface Sums {
  /** True for a column that is needed: cells are added up over the others, where they have all rows. */
  readonly isNeeded: (column: string) => boolean
  /** Neighbouring bins that these conditions do not tell apart become one. */
  readonly conditions?: Conditions
}

/** Most cells of a table to add up. */
const MOST_CELLS = 100_000

/** Adds up cells of a table. */
export function addedUp(aggregate: Aggregate, { isNeeded, conditions }: Sums, dataset: Dataset): AddedUp {
  if (cellCount(aggregate) > MOST_CELLS) return { aggregate }
  const merged = aggregate.groupBy.map((key): Merged => {
    const kept = { key, places: Array.from({ length: groupKeySize(key) }, (_, place) => place) }
    if (!isSummable(key, aggregate, dataset)) return kept
    if (isNeeded(key.column)) return withFewerBins(key, conditions, dataset) ?? kept
    return isPartition(key, dataset) ? { key: undefined, places: kept.places.map(() => 0) } : kept
  })
  if (merged.every(({ key }, position) => key === aggregate.groupBy[position])) return { aggregate }
  const groupBy = merged.flatMap(({ key }) => (key === undefined ? [] : [key]))
  let places = [0]
  for (const { key, places: own } of merged) {
    const factor = key === undefined ? 1 : groupKeySize(key)
    places = places.flatMap((place) => own.map((each) => place * factor + each))
  }
  const groups = Array.from({ length: cellCount({ groupBy }) }, (): number[] => [])
  for (const [cell, place] of places.entries()) entry(groups, place).push(cell)
  return { aggregate: { ...aggregate, groupBy }, groups }
}

/**
 * The columns over which cells of aggregates cannot be added up without a loss: those that any of them is about other than by a
 * key that has every row in one of its cells, and those with different keys.
 */
export function columnsNeeded(aggregates: readonly Aggregate[], dataset: Dataset): ReadonlySet<string> {
  const needed = new Set<string>()
  const keys = new Map<string, string>()
  for (const aggregate of aggregates) {
    const whole = aggregate.groupBy.filter(
      (key) => isSummable(key, aggregate, dataset) && isPartition(key, dataset),
    )
    const groupBy = aggregate.groupBy.filter((key) => !whole.includes(key))
    const others = withConditions(new Map(), { ...aggregate, groupBy }, dataset) ?? new Map()
    for (const column of others.keys()) needed.add(column)
    for (const key of whole) {
      if (!('column' in key)) continue
      const text = textOf(key)
      if ((keys.get(key.column) ?? text) !== text) needed.add(key.column)
      keys.set(key.column, text)
    }
  }
  return needed
}

/** A key with fewer cells, and in which of them those of another one are; without a key, all are in one cell. */
interface Merged {
  readonly key: GroupKey | undefined
  readonly places: readonly number[]
}

/** True if the sum of a statistic over cells of a key is that of their rows: no person is bounded, or counted, in each of them. */
function isSummable(key: GroupKey, aggregate: Aggregate, dataset: Dataset): key is ColumnKey {
  if (!('column' in key) || !isUnbounded(aggregate, dataset)) return false
  return !aggregate.statistics.some(countsPeople) || isConstant(columnOf(key.column, dataset), dataset)
}

/** True for a key that has every row in one of its cells. */
function isPartition(key: ColumnKey, dataset: Dataset): boolean {
  const column = columnOf(key.column, dataset)
  if (column.type === 'string' || (column.nullable && !key.nullCell)) return false
  if (key.kind !== 'bins') return true
  const [lowest, highest] = domainOf(column)
  return entry(key.edges, 0) <= lowest && must(key.edges.at(-1), 'an edge') > highest
}

/** A key with the bins that conditions tell apart; `undefined` if they tell apart values within a bin. */
function withFewerBins(
  key: ColumnKey,
  conditions: Conditions | undefined,
  dataset: Dataset,
): Merged | undefined {
  if (conditions === undefined || key.kind !== 'bins' || key.cycle !== undefined) return undefined
  const cuts = cutsOf(conditions, columnOf(key.column, dataset))
  const [first, last] = [entry(key.edges, 0), must(key.edges.at(-1), 'an edge')]
  const known = new Set(key.edges)
  if ([...cuts].some((cut) => cut > first && cut < last && !known.has(cut))) return undefined
  const edges = key.edges.filter((edge) => edge === first || edge === last || cuts.has(edge))
  if (edges.length === key.edges.length) return undefined
  const bins = key.edges.slice(0, -1).map((edge) => edges.findLastIndex((start) => start <= edge))
  return { key: { ...key, edges }, places: key.nullCell ? [...bins, edges.length - 1] : bins }
}
