import type { ContributionRequest } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import type { GridColumn } from '../../dataset/dataset.ts'
import { type ClampableColumn, type Clamped, clampedName } from '../language/clamp.ts'
import { planPersonValue } from '../language/person-value.ts'
import type { Moment, Sources } from './shape.ts'

/*
 * Plans the sums of one column that sums, means and variances are made from. If the number of rows is public, a mean is
 * one noisy sum divided by it. Otherwise it is a noisy sum about the middle of the range divided by a noisy count: a row
 * then moves the sum by at most half the range, at any distance of the range from 0.
 */

/** Places the sum of factor * index + offset over the rows where a column is not NULL. */
export function sumOf(
  column: Clamped<GridColumn>,
  factor: bigint,
  offset: bigint,
  { place }: Sources,
): number {
  return place({ kind: 'affine-sum', ...clampedName(column), factor, offset })
}

/** Places the sum of a column about the middle of its range, and the number of its rows. */
export function fromMiddle(column: Clamped<GridColumn>, sources: Sources) {
  return {
    // In half steps, so that the middle of an odd range is a whole number of them too.
    sum: sumOf(column, 2n, -(column.lowerIndex + column.upperIndex), sources),
    rows: rowsOf(column, sources),
  }
}

/** The number of rows where a column is not NULL: a public number, or a count that it places. */
export function rowsOf(column: GridColumn, { dataset, everyRow, place }: Sources): Moment {
  if (dataset.rows !== undefined && everyRow && !column.nullable)
    return { kind: 'public', value: dataset.rows }
  const counted = column.nullable ? column.name : undefined
  return { kind: 'noisy', statistic: place(defined({ kind: 'count', column: counted })), scale: 1 }
}

/**
 * Places the sum of people's clamped totals. A person's total moves the sum by at most the larger clamping bound,
 * whatever the number of rows.
 */
export function clampedTotals(
  { column: name, clamp }: ClampableColumn,
  field: string,
  contribution: ContributionRequest,
  { dataset, bounding, place }: Sources,
) {
  const request = { kind: 'sum', column: name, field, contribution, clamp } as const
  const { value, column } = planPersonValue(request, dataset, bounding)
  const statistic = place({ kind: 'affine-sum', perPerson: value, factor: 1n, offset: 0n })
  return { value, column, statistic }
}
