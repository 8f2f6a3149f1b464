import type { Query, Suppositions } from '../../schemas/query.ts'
import { refuseField } from '../privacy/refusal.ts'
import { type AdditiveQuery, type AdditiveShape, columnsOf } from './additive.ts'
import { columnRange } from './estimates/estimator.ts'
import type { MeasuredColumn } from './measured-column.ts'

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
  if (column === undefined)
    throw refuseField('query-does-not-fit', field, 'requires a query over a numeric column')
  if (others.length > 0) {
    const rule = `applies to one column, but the statistics use ${columns.size}; omit it`
    throw refuseField('query-does-not-fit', field, rule)
  }
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
    throw refuseField('query-does-not-fit', field, rule)
  }
  const { lower, middle, upper } = columnRange(column)
  if (mean !== undefined && !(mean >= lower && mean <= upper)) {
    const rule = `must lie within the bounds of ${column.name}, ${lower} and ${upper}`
    throw refuseField('query-does-not-fit', 'supposed.mean', rule)
  }
  if (standardDeviation === undefined) return
  const largest = Math.sqrt((upper - (mean ?? middle)) * ((mean ?? middle) - lower))
  if (standardDeviation >= 0 && standardDeviation <= largest * (1 + 1e-9)) return
  const rule = `must be at most ${largest}: values within the bounds of ${column.name} cannot vary more`
  throw refuseField('query-does-not-fit', 'supposed.standardDeviation', rule)
}
