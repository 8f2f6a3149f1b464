import type { ContributionRequest, GroupStatistic } from '../../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import type { Fields } from '../../identity/normal-fields.ts'
import type { OfKind } from '../of-kind.ts'
import type { ColumnRules } from '../question-kind.ts'

/** Name of a kind of question that can be a statistic of groups. */
export type StatisticKindName = GroupStatistic['kind']

/** The statistic of each kind. */
type Statistics = { readonly [Kind in StatisticKindName]: OfKind<GroupStatistic, Kind> }

/** Statistic of one kind. */
export type StatisticOf<Kind extends StatisticKindName> = {
  [K in Kind]: Statistics[K] & { readonly kind: K }
}[Kind]

/** Facts that a statistic of groups depends on besides itself. */
export interface StatisticSetting {
  /** Path of the statistic in the request. */
  readonly field: string
  readonly contribution: ContributionRequest | undefined
  /** Columns, by their `clampKey`, whose sum about the middle another statistic needs. */
  readonly centered: ReadonlySet<string>
}

/** Contract of a kind of question as a statistic of groups. */
export type GroupStatisticKind<Kind extends StatisticKindName> = {
  /** The columns that its fields take. */
  readonly columns: ColumnRules<StatisticOf<Kind>>
  /** Its name in answers. */
  readonly name: (statistic: StatisticOf<Kind>) => string
  /** Its fields in normal form, besides the kind. */
  readonly subject: (statistic: StatisticOf<Kind>, dataset: Dataset) => Fields
  /** The `clampKey` of the column whose sum about the middle it is made from, if it is. */
  readonly centers?: (statistic: StatisticOf<Kind>, dataset: Dataset, field: string) => string | undefined
  /** True if it adds up totals of people, which a query can clamp. */
  readonly hasTotals?: true
} & (
  | {
      /** Plans the estimate of each group from sums and counts. */
      readonly estimate: (
        statistic: StatisticOf<Kind>,
        setting: StatisticSetting,
        sources: Sources,
      ) => Estimate
    }
  | {
      /** The percentage of the rows at or below a statistic that is a quantile. */
      readonly percentage: (statistic: StatisticOf<Kind>) => number
    }
)
