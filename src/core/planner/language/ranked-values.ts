import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset, GridColumn } from '../../dataset/dataset.ts'
import {
  gridPoints,
  MOST_UNDECLARED_VALUES,
  MOST_VALUES,
  mostDistinctValues,
  mostPeople,
  mostRows,
} from '../../dataset/value-limits.ts'
import { MAX_QUANTILE_POINTS } from '../../mechanisms/selection/quantile.ts'
import { type ClampableColumn, type Clamped, requireClamped } from './clamp.ts'
import { ORDERED } from './column-rules.ts'

/*
 * Columns and values that quantiles may rank. A quantile reads every distinct value with its number of rows, so a limit
 * on them is required by public facts before anything is charged.
 */

/** A column to rank, and the largest number of its distinct values. */
export interface RankedColumn {
  readonly column: Clamped<GridColumn>
  readonly mostValues: number
}

/**
 * Returns a column that quantiles can rank.
 * @throws Refusal `query-does-not-fit` for a column without an order, or one whose number of distinct values has no
 * public limit that is small enough.
 */
export function requireRankable(dataset: Dataset, asked: ClampableColumn, field: string): RankedColumn {
  const column = requireClamped(ORDERED, dataset, asked, field)
  const points = gridPoints(column)
  if (!isWithinMechanism(column)) {
    const rule = `has ${points} grid points between its bounds; quantiles support at most ${MAX_QUANTILE_POINTS}`
    throw refuseQuery(field, rule)
  }
  const mostValues = mostDistinctValues(column, dataset)
  if (mostValues !== undefined) return { column, mostValues }
  const rule =
    `must be declared with "rankable" to be used in quantiles: ${column.name} has ${points} grid points, and at most ` +
    `${MOST_UNDECLARED_VALUES} need no declaration`
  throw refuseQuery(field, rule)
}

/** A text that is the same for two columns whose ranked values are the same. */
export function rankedKey({ name, lowerIndex, upperIndex }: GridColumn): string {
  return `${lowerIndex} ${upperIndex} ${name}`
}

/**
 * Counts the values that quantiles of groups read: those of each column in each group, once for each column.
 * @param cells the number of groups
 * @returns adds a column; it refuses with `query-does-not-fit` if all columns so far may have too many values
 */
export function valuesInGroups(
  cells: number,
  dataset: Dataset,
): (ranked: RankedColumn, field: string) => void {
  const mostOf = new Map<string, number>()
  return ({ column, mostValues }, field) => {
    mostOf.set(rankedKey(column), Math.min(mostValues * cells, mostRows(dataset)))
    const total = mostOf.values().reduce((sum, most) => sum + most, 0)
    if (total <= MOST_VALUES) return
    const rule =
      `must have at most ${MOST_VALUES} values in all groups and columns together, and ${column.name} may have ${mostValues} in ` +
      `each of ${cells} groups: ask for fewer groups, or for a batch with one query for each group`
    throw refuseQuery(field, rule)
  }
}

/**
 * Requires that values per person can be read.
 * @param column the grid of the values
 * @throws Refusal `query-does-not-fit` if there may be too many.
 */
export function requireRankedPeople(column: GridColumn, dataset: Dataset): void {
  const points = gridPoints(column)
  const most = Math.min(Number(points), mostPeople(dataset))
  if (isWithinMechanism(column) && most <= MOST_VALUES) return
  const rule = `must bound the values to at most ${MOST_VALUES} grid points; without it they have ${points}`
  throw refuseQuery('contribution.perPerson', rule)
}

function isWithinMechanism(column: GridColumn): boolean {
  const { lowerIndex, upperIndex } = column
  const within = lowerIndex >= -MAX_QUANTILE_POINTS && upperIndex <= MAX_QUANTILE_POINTS
  return within && gridPoints(column) <= MAX_QUANTILE_POINTS
}
