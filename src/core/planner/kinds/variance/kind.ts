import { fromMiddle } from '../../additive/column-sums.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { requireProducts } from '../../additive/sums-of-products.ts'
import {
  type ClampableColumn,
  clampedName,
  clampKey,
  normalClamp,
  requireClamped,
} from '../../language/clamp.ts'
import { NUMBERS } from '../../language/column-rules.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/**
 * Plans a variance or its root, from the number of rows, the sum and the sum of squares about the middle of the range. A
 * row moves the squares by at most a quarter of the squared range.
 */
function varianceEstimate(
  kind: 'variance' | 'standard-deviation',
  asked: ClampableColumn,
  field: string,
  sources: Sources,
): Estimate {
  const column = requireClamped(NUMBERS, sources.dataset, asked, field)
  requireProducts(column, field)
  const offset = -(column.lowerIndex + column.upperIndex)
  const squares = sources.place({ kind: 'affine-square-sum', ...clampedName(column), factor: 2n, offset })
  return { kind, column, squares, ...fromMiddle(column, sources) }
}

const ofColumn = {
  columns: { column: NUMBERS },
  subject: normalClamp,
}

/** The variance of a column. */
export const variance: QuestionKind<'variance'> = {
  title: 'Variance',
  phrase: 'variance of {column}',
  heading: 'Spread and relations',
  aggregates: ['var_pop'],
  ...ofColumn,
  plan: planOfSums({
    estimates: (query, sources) => [varianceEstimate('variance', query, 'column', sources)],
  }),
}

/** The standard deviation of a column. */
export const standardDeviation: QuestionKind<'standardDeviation'> = {
  title: 'Standard deviation',
  phrase: 'standard deviation of {column}',
  heading: 'Spread and relations',
  aggregates: ['stddev_pop'],
  ...ofColumn,
  plan: planOfSums({
    estimates: (query, sources) => [varianceEstimate('standard-deviation', query, 'column', sources)],
  }),
}

const ofGroup = { ...ofColumn, centers: clampKey }

export const varianceStatistic: GroupStatisticKind<'variance'> = {
  ...ofGroup,
  name: ({ column }) => `variance_${column}`,
  estimate: (statistic, { field }, sources) =>
    varianceEstimate('variance', statistic, `${field}.column`, sources),
}

export const standardDeviationStatistic: GroupStatisticKind<'standardDeviation'> = {
  ...ofGroup,
  name: ({ column }) => `standardDeviation_${column}`,
  estimate: (statistic, { field }, sources) =>
    varianceEstimate('standard-deviation', statistic, `${field}.column`, sources),
}
