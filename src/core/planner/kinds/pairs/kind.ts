import type { PairQuery } from '../../../../../schemas/answers/query.ts'
import { entry } from '../../../../privacy/must.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import type { Sources } from '../../additive/shape.ts'
import { momentsOf, planMomentColumns } from '../../additive/sums-of-products.ts'
import { normalClamps } from '../../language/clamp.ts'
import { MULTIPLIED } from '../../language/column-rules.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Places the sums that the covariance of two columns is computed from. */
function pairOf({ columns: names, clamp }: PairQuery, sources: Sources) {
  const planned = planMomentColumns(names, (place) => `columns.${place}`, clamp, sources)
  const [one, other] = [entry(planned, 0), entry(planned, 1)]
  const columns = [one, other] as const
  const { product, sum, rows } = momentsOf(columns, sources)
  const moments = { products: product(one, other), sum: sum(one), otherSum: sum(other), rows: rows() }
  return { columns, moments, product }
}

const ofPair = {
  columns: { columns: MULTIPLIED },
  subject: ({ columns, clamp }: PairQuery, dataset: Dataset) => ({
    columns,
    ...normalClamps(clamp, dataset),
  }),
}

/** The covariance of two columns. */
export const covariance: QuestionKind<'covariance'> = {
  title: 'Covariance',
  phrase: 'covariance of {columns}',
  heading: 'Spread and relations',
  aggregates: ['covar_pop'],
  ...ofPair,
  plan: planOfSums({
    estimates(query, sources) {
      const { columns, moments } = pairOf(query, sources)
      return [{ kind: 'covariance', columns, moments }]
    },
  }),
}

/** The correlation of two columns. */
export const correlation: QuestionKind<'correlation'> = {
  title: 'Correlation',
  phrase: 'correlation of {columns}',
  heading: 'Spread and relations',
  aggregates: ['corr'],
  ...ofPair,
  plan: planOfSums({
    estimates(query, sources) {
      const { columns, moments, product } = pairOf(query, sources)
      const [one, other] = columns
      const squares = [product(one, one), product(other, other)] as const
      return [{ kind: 'correlation', columns, moments, squares }]
    },
  }),
}
