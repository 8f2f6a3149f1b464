import { groupingsOf } from '../../identity/normal-fields.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { objectiveOf, planMarginals, waysOf } from '../../plans/marginals.ts'
import type { QuestionKind } from '../question-kind.ts'

/** The number of rows in each cell of all tables of some of the columns. */
export const marginals: QuestionKind<'marginals'> = {
  title: 'Counts by every few of several columns',
  phrase: 'counts by every {ways} of {columns}',
  heading: 'Counts',
  addsUp: true,
  inCells: true,
  columns: { columns: GROUPED },
  plan: planMarginals,
  subject(query, dataset) {
    const [only, ...others] = waysOf(query)
    const objective = objectiveOf(query)
    return {
      columns: groupingsOf(query.columns, dataset),
      ways: others.length === 0 ? only : [only, ...others],
      ...(typeof objective === 'string' ? { objective } : { weights: objective }),
    }
  },
}
