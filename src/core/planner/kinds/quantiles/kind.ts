import type { Dataset } from '../../../dataset/dataset.ts'
import { extremeRank, maximumScore, minimumScore } from '../../../mechanisms/selection/quantile.ts'
import { perPersonOf } from '../../identity/normal-fields.ts'
import { normalClamp } from '../../language/clamp.ts'
import { ORDERED } from '../../language/column-rules.ts'
import {
  percentageScore,
  planQuantiles,
  type QuantileQuery,
  type RankSetting,
  type Ranks,
} from '../../plans/quantile.ts'
import type { Offer } from '../../price/accuracy-first.ts'
import { stabilityOfRank } from '../../price/stability.ts'
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

/** The quantiles at declared percentages. */
function atPercentages(percentages: readonly number[], fieldOf: (place: number) => string): Ranks {
  const scores = percentages.map((percentage, place) => percentageScore(percentage, fieldOf(place)))
  return { parts: scores.length, scoresAt: () => scores, percentages }
}

/** Plans the extreme quantile at the least rank from an end that keeps all other ranks behind it at the confidence asked for. */
function planAtEnd(scoreOf: typeof minimumScore) {
  const ranksOf = ({ counted, dataset, points, confidence }: RankSetting): Ranks => {
    const { sensitivity } = stabilityOfRank(scoreOf(1n), counted, dataset)
    return {
      parts: 1,
      scoresAt: ({ epsilonNano }) => [scoreOf(extremeRank(points, sensitivity, epsilonNano, confidence))],
    }
  }
  return (query: QuantileQuery, dataset: Dataset, _: unknown, offer: Offer) =>
    planQuantiles(query, ranksOf, dataset, offer)
}

/** The median of a column, or of a value per person. */
export const median: QuestionKind<'median'> = {
  title: 'Median',
  phrase: 'median of {column}',
  heading: 'Median and percentiles',
  ...ofColumn,
  plan: (query, dataset, _, offer) =>
    planQuantiles(query, () => atPercentages([50], () => 'p'), dataset, offer),
}

/** Percentiles of a column, or of a value per person. */
export const percentile: QuestionKind<'percentile'> = {
  title: 'Percentiles',
  phrase: '{p} of {column}',
  heading: 'Median and percentiles',
  aggregates: ['percentile_cont', 'percentile_disc'],
  ...ofColumn,
  plan(query, dataset, _, offer) {
    const listed = Array.isArray(query.p)
    const fieldOf = (place: number) => (listed ? `p.${place}` : 'p')
    const ranksOf = () => ({ ...atPercentages(percentagesOf(query), fieldOf), listed })
    return planQuantiles(query, ranksOf, dataset, offer)
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
  plan: planAtEnd(minimumScore),
}

/** The largest value of a column, or of a value per person. */
export const maximum: QuestionKind<'maximum'> = {
  title: 'Maximum (an extreme quantile)',
  phrase: 'maximum of {column}',
  heading: 'Median and percentiles',
  aggregates: ['max'],
  ...ofColumn,
  plan: planAtEnd(maximumScore),
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
