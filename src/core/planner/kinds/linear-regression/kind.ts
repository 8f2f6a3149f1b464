import type { RegressionQuery } from '../../../../../schemas/answers/query.ts'
import { defined } from '../../../../privacy/defined.ts'
import { entry } from '../../../../privacy/must.ts'
import { refuseField } from '../../../../privacy/refusal.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { momentsOf, planMomentColumns } from '../../additive/sums-of-products.ts'
import { normalClamps } from '../../language/clamp.ts'
import { MULTIPLIED } from '../../language/column-rules.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Largest ridge that a query may declare. */
const LARGEST_RIDGE = 1e12

/**
 * Plans a linear regression: its intercept, then the coefficient of each predictor.
 * @throws Refusal `query-does-not-fit` as {@link planMomentColumns} does; `invalid-request` for a ridge out of range.
 */
function regressionEstimates(query: RegressionQuery, sources: Sources): readonly Estimate[] {
  const { ridge } = query
  if (ridge !== undefined && !(ridge >= 0 && ridge <= LARGEST_RIDGE))
    throw refuseField('invalid-request', 'ridge', `must be at least 0 and at most ${LARGEST_RIDGE}`)
  const columns = planMomentColumns(
    [query.outcome, ...query.predictors],
    (place) => (place === 0 ? 'outcome' : `predictors.${place - 1}`),
    query.clamp,
    sources,
  )
  const [outcome, predictors] = [entry(columns, 0), columns.slice(1)]
  const moments = momentsOf(columns, sources)
  const gram = [
    [moments.rows(), ...predictors.map(moments.sum)],
    ...predictors.map((one) => [
      moments.sum(one),
      ...predictors.map((other) =>
        predictors.indexOf(one) <= predictors.indexOf(other)
          ? moments.product(one, other)
          : moments.product(other, one),
      ),
    ]),
  ]
  const products = [
    moments.sum(outcome),
    ...predictors.map((predictor) => moments.product(predictor, outcome)),
  ]
  const regression = defined({ outcome, predictors, gram, products, ridge })
  return products.map((_, place) => ({ kind: 'coefficient', columns, regression, place }))
}

/** The coefficients of a linear regression. */
export const linearRegression: QuestionKind<'linearRegression'> = {
  title: 'Linear regression',
  phrase: 'regression of {outcome} on {predictors}',
  heading: 'Spread and relations',
  aggregates: ['regr_slope', 'regr_intercept'],
  columns: { outcome: MULTIPLIED, predictors: MULTIPLIED },
  plan: planOfSums({
    estimates: regressionEstimates,
    shown: ({ predictors }) => ({
      kind: 'coefficients',
      names: ['intercept', ...predictors.map((predictor) => `coefficient_${predictor}`)],
    }),
  }),
  subject: ({ outcome, predictors, ridge, clamp }, dataset) => ({
    ...defined({ outcome, predictors, ridge }),
    ...normalClamps(clamp, dataset),
  }),
}
