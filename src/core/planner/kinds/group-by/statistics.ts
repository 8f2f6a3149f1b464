import type { GroupStatistic } from '../../../../../schemas/answers/query.ts'
import { refuseField } from '../../../../privacy/refusal.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import type { Fields } from '../../identity/normal-fields.ts'
import { countStatistic } from '../count/kind.ts'
import { countDistinctStatistic } from '../count-distinct/kind.ts'
import { meanStatistic } from '../mean/kind.ts'
import { proportionStatistic } from '../proportion/kind.ts'
import { medianStatistic, percentileStatistic } from '../quantiles/kind.ts'
import { sumStatistic } from '../sum/kind.ts'
import { standardDeviationStatistic, varianceStatistic } from '../variance/kind.ts'
import type {
  GroupStatisticKind,
  StatisticKindName,
  StatisticOf,
  StatisticSetting,
} from './group-statistic.ts'

/** The kinds of questions that can be statistics of groups. */
export const groupStatistics: { readonly [Kind in StatisticKindName]: GroupStatisticKind<Kind> } = {
  count: countStatistic,
  sum: sumStatistic,
  mean: meanStatistic,
  variance: varianceStatistic,
  standardDeviation: standardDeviationStatistic,
  countDistinct: countDistinctStatistic,
  median: medianStatistic,
  percentile: percentileStatistic,
  proportion: proportionStatistic,
}

/**
 * Returns the name of a group's statistic in answers: the name that the query gives it, or its kind, or its kind and
 * column, such as `mean_Age`.
 */
export function statisticName<Kind extends StatisticKindName>(statistic: StatisticOf<Kind>): string {
  return groupStatistics[statistic.kind].name(statistic)
}

/**
 * Returns the names of statistics.
 * @throws Refusal `invalid-request` for statistics of which two have the same name in the answer.
 */
export function distinctNames(statistics: readonly GroupStatistic[]): readonly string[] {
  const names = statistics.map(statisticName)
  const repeated = names.findIndex((name, place) => names.indexOf(name) < place)
  if (repeated === -1) return names
  throw refuseField('invalid-request', `statistics.${repeated}`, 'must not repeat an earlier statistic')
}

/** A statistic in normal form. */
export function normalStatistic<Kind extends StatisticKindName>(
  statistic: StatisticOf<Kind>,
  dataset: Dataset,
): Fields {
  const { kind } = statistic
  return { kind, ...groupStatistics[kind].subject(statistic, dataset) }
}

/** The percentage of a statistic that is a quantile; `undefined` for one made from sums and counts. */
export function percentageOf<Kind extends StatisticKindName>(
  statistic: StatisticOf<Kind>,
): number | undefined {
  const kind: GroupStatisticKind<Kind> = groupStatistics[statistic.kind]
  return 'percentage' in kind ? kind.percentage(statistic) : undefined
}

/** Plans the estimate of a statistic; `undefined` for a quantile. */
export function estimateOf<Kind extends StatisticKindName>(
  statistic: StatisticOf<Kind>,
  setting: StatisticSetting,
  sources: Sources,
): Estimate | undefined {
  const kind: GroupStatisticKind<Kind> = groupStatistics[statistic.kind]
  return 'estimate' in kind ? kind.estimate(statistic, setting, sources) : undefined
}

/**
 * Columns whose sum about the middle is measured for another statistic, so that their sum needs no separate
 * measurement.
 */
export function centeredColumns(
  statistics: readonly GroupStatistic[],
  dataset: Dataset,
): ReadonlySet<string> {
  const centers = statistics.map((statistic, place) => centerOf(statistic, dataset, `statistics.${place}`))
  return new Set(centers.filter((column) => column !== undefined))
}

function centerOf<Kind extends StatisticKindName>(
  statistic: StatisticOf<Kind>,
  dataset: Dataset,
  field: string,
): string | undefined {
  return groupStatistics[statistic.kind].centers?.(statistic, dataset, field)
}

/** True if the sums and means of a query are about one column, whose totals can then be clamped. */
export function hasOneTotal(statistics: readonly GroupStatistic[]): boolean {
  const totals = statistics.filter(({ kind }) => groupStatistics[kind].hasTotals)
  return new Set(totals.map((statistic) => 'column' in statistic && statistic.column)).size === 1
}
