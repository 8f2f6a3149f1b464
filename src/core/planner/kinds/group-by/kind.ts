import { groupingsOf } from '../../identity/normal-fields.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { planTable } from '../../language/tables.ts'
import { type GroupParts, planGroups } from '../../plans/groups.ts'
import type { QuestionKind } from '../question-kind.ts'
import {
  centeredColumns,
  distinctNames,
  estimateOf,
  hasOneTotal,
  normalStatistic,
  percentageOf,
  statisticName,
} from './statistics.ts'

const sums: GroupParts['sums'] = {
  groupings: ({ keys, statistics }, dataset, limits) =>
    planTable(keys, 'keys', dataset, limits, statistics.map(statisticName)),
  estimates({ statistics, contribution }, sources) {
    distinctNames(statistics)
    const centered = centeredColumns(statistics, sources.dataset)
    const estimates = statistics.map((statistic, place) =>
      estimateOf(statistic, { field: `statistics.${place}`, contribution, centered }, sources),
    )
    return estimates.filter((estimate) => estimate !== undefined)
  },
  shown: ({ statistics }) => ({
    kind: 'groups',
    names: statistics.filter((each) => percentageOf(each) === undefined).map(statisticName),
  }),
  hasTotals: ({ statistics }) => hasOneTotal(statistics),
}

/** Statistics of each group of rows. The contracts of its statistics are in `groupStatistics`. */
export const groupBy: QuestionKind<'groupBy'> = {
  title: 'Statistics by group',
  phrase: '{statistics}[ by {keys}]',
  heading: 'Groups and frequent values',
  inCells: true,
  grouped: true,
  columns: { keys: GROUPED },
  plan: (query, dataset, limits, offer) =>
    planGroups(
      query,
      {
        sums,
        names: ({ statistics }) => distinctNames(statistics),
        percentages: ({ statistics }) => statistics.map(percentageOf),
      },
      dataset,
      limits,
      offer,
    ),
  subject: ({ keys, statistics }, dataset) => ({
    keys: groupingsOf(keys, dataset),
    statistics: statistics.map((statistic) => normalStatistic(statistic, dataset)),
  }),
}
