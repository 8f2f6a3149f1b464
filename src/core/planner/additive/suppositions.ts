import type { Query, Suppositions } from '../../../../schemas/answers/query.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { MeasuredColumn } from '../language/measured-column.ts'
import { columnRange } from './estimates/estimator.ts'
import { type AdditiveQuery, type AdditiveShape, columnsOf } from './shape.ts'

/** Returns the suppositions of a query; an empty object if it has none. */
export function suppositionsOf(query: Query): Suppositions {
  return 'supposed' in query ? (query.supposed ?? {}) : {}
}

/**
 * Checks the supposed mean and standard deviation against the bounds of the column that they are about.
 * @throws Refusal `query-does-not-fit` for a query without such a column or with several, and for values that no data
 * within the bounds can have.
 */
export function requireSuppositionsFit(query: AdditiveQuery, { estimates }: AdditiveShape): void {
  const { mean, standardDeviation } = suppositionsOf(query)
  if (mean === undefined && standardDeviation === undefined) return
  const columns = new Map(estimates.flatMap(columnsOf).map((column) => [column.name, column]))
  const [column, ...others] = columns.values()
  const field = mean === undefined ? 'supposed.standardDeviation' : 'supposed.mean'
  if (column === undefined) throw refuseQuery(field, 'requires a query over a numeric column')
  if (others.length > 0)
    throw refuseQuery(field, `applies to one column, but the statistics use ${columns.size}; omit it`)
  requireMomentsFit(column, mean, standardDeviation)
}

/**
 * With mean m within [L, U], the variance is at most (U - m) (m - L) (Bhatia and Davis 2000, "A Better Bound on the
 * Variance"), and at most (U - L)^2 / 4 for any mean.
 */
function requireMomentsFit(
  column: MeasuredColumn,
  mean: number | undefined,
  standardDeviation: number | undefined,
): void {
  if (column.type === 'date' || column.type === 'timestamp') {
    const field = mean === undefined ? 'supposed.standardDeviation' : 'supposed.mean'
    const rule = `applies to a column of numbers, and ${column.name} is of type ${column.type}; omit it`
    throw refuseQuery(field, rule)
  }
  const { lower, middle, upper } = columnRange(column)
  if (mean !== undefined && !(mean >= lower && mean <= upper))
    throw refuseQuery('supposed.mean', `must lie within the bounds of ${column.name}, ${lower} and ${upper}`)
  if (standardDeviation === undefined) return
  const largest = Math.sqrt((upper - (mean ?? middle)) * ((mean ?? middle) - lower))
  if (standardDeviation >= 0 && standardDeviation <= largest * (1 + 1e-9)) return
  const rule = `must be at most ${largest}: values within the bounds of ${column.name} cannot vary more`
  throw refuseQuery('supposed.standardDeviation', rule)
}
