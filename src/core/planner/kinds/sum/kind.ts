import type { ContributionRequest } from '../../../../../schemas/answers/query.ts'
import { clampedTotals, fromMiddle, sumOf } from '../../additive/column-sums.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { type ClampableColumn, clampKey, normalClamp, requireClamped } from '../../language/clamp.ts'
import { NUMBERS } from '../../language/column-rules.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Plans the sum of a column, or of people's clamped totals. */
function sumEstimate(
  asked: ClampableColumn,
  field: string,
  contribution: ContributionRequest | undefined,
  sources: Sources,
): Estimate {
  if (contribution?.perPerson !== undefined) {
    const { column, statistic } = clampedTotals(asked, field, contribution, sources)
    return { kind: 'sum', column, statistic }
  }
  const column = requireClamped(NUMBERS, sources.dataset, asked, field)
  return { kind: 'sum', column, statistic: sumOf(column, 1n, 0n, sources) }
}

/** The sum of a column. */
export const sum: QuestionKind<'sum'> = {
  title: 'Sum',
  phrase: 'sum of {column}',
  heading: 'Sums and averages',
  aggregates: ['sum'],
  addsUp: true,
  clamps: 'always',
  columns: { column: NUMBERS },
  plan: planOfSums({
    estimates: (query, sources) => [sumEstimate(query, 'column', query.contribution, sources)],
    hasTotals: () => true,
  }),
  subject: normalClamp,
}

/**
 * A sum in each group. Beside a statistic that is made from the sum about the middle, it is `sum about the middle + middle
 * * count`: its noise is no larger than that of a sum measured by itself, because half the range and the distance of the
 * middle from 0 add up to the largest absolute value, and the epsilon is divided among fewer statistics.
 */
export const sumStatistic: GroupStatisticKind<'sum'> = {
  columns: sum.columns,
  name: ({ column }) => `sum_${column}`,
  subject: normalClamp,
  hasTotals: true,
  estimate(statistic, { field, contribution, centered }, sources) {
    if (contribution?.perPerson !== undefined || !centered.has(clampKey(statistic, sources.dataset, field)))
      return sumEstimate(statistic, `${field}.column`, contribution, sources)
    const column = requireClamped(NUMBERS, sources.dataset, statistic, `${field}.column`)
    return { kind: 'sum-from-middle', column, ...fromMiddle(column, sources) }
  },
}
