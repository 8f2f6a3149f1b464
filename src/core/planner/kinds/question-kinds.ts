import { bounds } from './bounds/kind.ts'
import { contributionProfile } from './contribution-profile/kind.ts'
import { count } from './count/kind.ts'
import { countDistinct } from './count-distinct/kind.ts'
import { cumulativeCounts } from './cumulative-counts/kind.ts'
import { groupBy } from './group-by/kind.ts'
import { keySelection } from './key-selection/kind.ts'
import { linearRegression } from './linear-regression/kind.ts'
import { marginals } from './marginals/kind.ts'
import { mean } from './mean/kind.ts'
import { noisyMax } from './noisy-max/kind.ts'
import { correlation, covariance } from './pairs/kind.ts'
import { proportion } from './proportion/kind.ts'
import { maximum, median, minimum, percentile } from './quantiles/kind.ts'
import type { KindName, QueryOf, QuestionKind } from './question-kind.ts'
import { sum } from './sum/kind.ts'
import { contingency, histogram, topGroups } from './tables/kind.ts'
import { standardDeviation, variance } from './variance/kind.ts'

/**
 * Everything the planner knows about each kind of question. A new kind is a folder beside this file and an entry here.
 * People choose from them in this order.
 */
export const questionKinds: { readonly [Kind in KindName]: QuestionKind<Kind> } = {
  count,
  histogram,
  bounds,
  contingency,
  marginals,
  cumulativeCounts,
  groupBy,
  mean,
  sum,
  median,
  percentile,
  minimum,
  maximum,
  proportion,
  variance,
  standardDeviation,
  covariance,
  correlation,
  linearRegression,
  topGroups,
  noisyMax,
  countDistinct,
  keySelection,
  contributionProfile,
}

/** Everything the planner knows about the kind of a question. */
export function questionKindOf<Kind extends KindName>(query: QueryOf<Kind>): QuestionKind<Kind> {
  return questionKinds[query.kind]
}
