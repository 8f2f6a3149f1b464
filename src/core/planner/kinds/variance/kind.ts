import { fromMiddle } from '../../additive/column-sums.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { requireProducts } from '../../additive/sums-of-products.ts'
import { NUMBERS, requireColumnOf } from '../../language/column-rules.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/**
 * Plans a variance or its root, from the number of rows, the sum and the sum of squares about the middle of the range. A
 * row moves the squares by at most a quarter of the squared range.
 */
function varianceEstimate(
  kind: 'variance' | 'standard-deviation',
  name: string,
  field: string,
  sources: Sources,
): Estimate {
  const column = requireColumnOf(NUMBERS, sources.dataset, name, field)
  requireProducts(column, field)
  const offset = -(column.lowerIndex + column.upperIndex)
  const squares = sources.place({ kind: 'affine-square-sum', column: column.name, factor: 2n, offset })
  return { kind, column, squares, ...fromMiddle(column, sources) }
}

const ofColumn = {
  columns: { column: NUMBERS },
  subject: ({ column }: { readonly column: string }) => ({ column }),
}

/** The variance of a column. */
export const variance: QuestionKind<'variance'> = {
  title: 'Variance',
  phrase: 'variance of {column}',
  ...ofColumn,
  plan: planOfSums({
    estimates: ({ column }, sources) => [varianceEstimate('variance', column, 'column', sources)],
  }),
}

/** The standard deviation of a column. */
export const standardDeviation: QuestionKind<'standardDeviation'> = {
  title: 'Standard deviation',
  phrase: 'standard deviation of {column}',
  ...ofColumn,
  plan: planOfSums({
    estimates: ({ column }, sources) => [varianceEstimate('standard-deviation', column, 'column', sources)],
  }),
}

const ofGroup = { ...ofColumn, centers: ({ column }: { readonly column: string }) => column }

export const varianceStatistic: GroupStatisticKind<'variance'> = {
  ...ofGroup,
  name: ({ column }) => `variance_${column}`,
  estimate: ({ column }, { field }, sources) =>
    varianceEstimate('variance', column, `${field}.column`, sources),
}

export const standardDeviationStatistic: GroupStatisticKind<'standardDeviation'> = {
  ...ofGroup,
  name: ({ column }) => `standardDeviation_${column}`,
  estimate: ({ column }, { field }, sources) =>
    varianceEstimate('standard-deviation', column, `${field}.column`, sources),
}
