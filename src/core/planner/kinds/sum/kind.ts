import type { ContributionRequest } from '../../../../../schemas/answers/query.ts'
import { clampedTotals, fromMiddle, sumOf } from '../../additive/column-sums.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { NUMBERS, requireColumnOf } from '../../language/column-rules.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Plans the sum of a column, or of people's clamped totals. */
function sumEstimate(
  name: string,
  field: string,
  contribution: ContributionRequest | undefined,
  sources: Sources,
): Estimate {
  if (contribution?.perPerson !== undefined) {
    const { column, statistic } = clampedTotals(name, field, contribution, sources)
    return { kind: 'sum', column, statistic }
  }
  const column = requireColumnOf(NUMBERS, sources.dataset, name, field)
  return { kind: 'sum', column, statistic: sumOf(column, 1n, 0n, sources) }
}

/** The sum of a column. */
export const sum: QuestionKind<'sum'> = {
  title: 'Sum',
  phrase: 'sum of {column}',
  clamps: 'always',
  columns: { column: NUMBERS },
  plan: planOfSums({
    estimates: ({ column, contribution }, sources) => [sumEstimate(column, 'column', contribution, sources)],
    hasTotals: () => true,
  }),
  subject: ({ column }) => ({ column }),
}

/**
 * A sum in each group. Beside a statistic that is made from the sum about the middle, it is `sum about the middle + middle
 * * count`: its noise is no larger than that of a sum measured by itself, because half the range and the distance of the
 * middle from 0 add up to the largest absolute value, and the epsilon is divided among fewer statistics.
 */
export const sumStatistic: GroupStatisticKind<'sum'> = {
  columns: sum.columns,
  name: ({ column }) => `sum_${column}`,
  subject: ({ column }) => ({ column }),
  hasTotals: true,
  estimate({ column: name }, { field, contribution, centered }, sources) {
    if (contribution?.perPerson !== undefined || !centered.has(name))
      return sumEstimate(name, `${field}.column`, contribution, sources)
    const column = requireColumnOf(NUMBERS, sources.dataset, name, `${field}.column`)
    return { kind: 'sum-from-middle', column, ...fromMiddle(column, sources) }
  },
}
