import type { GroupStatistic, Query } from '../../schemas/query.ts'
import { refuseField } from '../privacy/refusal.ts'

/** A statistic of groups that is a quantile. */
export type QuantileStatistic = Extract<GroupStatistic, { kind: 'median' | 'percentile' }>

/** Returns true for a statistic that is a quantile; all others are made from sums and counts. */
export function isQuantile(statistic: GroupStatistic): statistic is QuantileStatistic {
  return statistic.kind === 'median' || statistic.kind === 'percentile'
}

/**
 * Returns the name of a group's statistic in answers: the name that the query gives it, or its kind, or its kind and
 * column, such as `mean_Age`.
 */
export function statisticName(statistic: GroupStatistic): string {
  switch (statistic.kind) {
    case 'count':
      return statistic.of === 'people' ? 'count_people' : 'count'
    case 'proportion':
      return statistic.name ?? 'proportion'
    case 'countDistinct': {
      const { column } = statistic
      return `countDistinct_${typeof column === 'string' ? column : column.column}`
    }
    case 'percentile':
      return `percentile_${statistic.p}_${statistic.column}`
    case 'mean':
      return statistic.perPerson === undefined
        ? `mean_${statistic.column}`
        : `mean_perPerson_${statistic.perPerson}_${statistic.column}`
    default:
      return `${statistic.kind}_${statistic.column}`
  }
}

/**
 * Returns the names of a query's estimates, in their order; an empty list for a query with one estimate. Quantiles are
 * not estimates.
 */
export function estimateNames(query: Query): readonly string[] {
  switch (query.kind) {
    case 'groupBy':
      return query.statistics.filter((statistic) => !isQuantile(statistic)).map(statisticName)
    case 'linearRegression':
      return ['intercept', ...query.predictors.map((predictor) => `coefficient_${predictor}`)]
    default:
      return []
  }
}

/** @throws Refusal `invalid-request` for statistics of which two have the same name in the answer. */
export function requireDistinctNames(statistics: readonly GroupStatistic[]): void {
  const names = statistics.map(statisticName)
  const repeated = names.findIndex((name, place) => names.indexOf(name) < place)
  if (repeated === -1) return
  const rule = 'must not repeat an earlier statistic'
  throw refuseField('invalid-request', `statistics.${repeated}`, rule)
}
