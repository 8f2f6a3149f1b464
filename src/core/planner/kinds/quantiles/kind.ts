import type { Dataset } from '../../../dataset/dataset.ts'
import { maximumScore, minimumScore } from '../../../mechanisms/selection/quantile.ts'
import { perPersonOf } from '../../identity/normal-fields.ts'
import { normalClamp } from '../../language/clamp.ts'
import { ORDERED } from '../../language/column-rules.ts'
import { planQuantiles, type QuantileQuery } from '../../plans/quantile.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import type { QueryOf, QuestionKind } from '../question-kind.ts'

const ofColumn = {
  clamps: 'perPerson',
  columns: { column: ORDERED },
  subject: (query: QuantileQuery, dataset: Dataset) => ({
    ...normalClamp(query, dataset),
    ...perPersonOf(query),
  }),
} as const

function percentagesOf({ p }: QueryOf<'percentile'>): readonly number[] {
  return Array.isArray(p) ? p : [p]
}

/** The median of a column, or of a value per person. */
export const median: QuestionKind<'median'> = {
  title: 'Median',
  phrase: 'median of {column}',
  heading: 'Median and percentiles',
  ...ofColumn,
  plan: (query, dataset, _, offer) => planQuantiles(query, { percentages: [50] }, dataset, offer),
}

/** Percentiles of a column, or of a value per person. */
export const percentile: QuestionKind<'percentile'> = {
  title: 'Percentiles',
  phrase: '{p} of {column}',
  heading: 'Median and percentiles',
  aggregates: ['percentile_cont', 'percentile_disc'],
  ...ofColumn,
  plan(query, dataset, _, offer) {
    const ranks = { percentages: percentagesOf(query), listed: Array.isArray(query.p) }
    return planQuantiles(query, ranks, dataset, offer)
  },
  subject(query, dataset) {
    const [p, ...others] = percentagesOf(query)
    return { ...ofColumn.subject(query, dataset), p: others.length === 0 ? p : [p, ...others] }
  },
}

/** The smallest value of a column, or of a value per person. */
export const minimum: QuestionKind<'minimum'> = {
  title: 'Minimum (an extreme quantile)',
  phrase: 'minimum of {column}',
  heading: 'Median and percentiles',
  aggregates: ['min'],
  ...ofColumn,
  plan: (query, dataset, _, offer) => planQuantiles(query, { extreme: minimumScore }, dataset, offer),
}

/** The largest value of a column, or of a value per person. */
export const maximum: QuestionKind<'maximum'> = {
  title: 'Maximum (an extreme quantile)',
  phrase: 'maximum of {column}',
  heading: 'Median and percentiles',
  aggregates: ['max'],
  ...ofColumn,
  plan: (query, dataset, _, offer) => planQuantiles(query, { extreme: maximumScore }, dataset, offer),
}

export const medianStatistic: GroupStatisticKind<'median'> = {
  columns: ofColumn.columns,
  name: ({ column }) => `median_${column}`,
  subject: normalClamp,
  percentage: () => 50,
}

export const percentileStatistic: GroupStatisticKind<'percentile'> = {
  columns: ofColumn.columns,
  name: ({ column, p }) => `percentile_${p}_${column}`,
  subject: (statistic, dataset) => ({ ...normalClamp(statistic, dataset), p: statistic.p }),
  percentage: ({ p }) => p,
}
