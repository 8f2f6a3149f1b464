import { countedOf, normalGrouping } from '../../identity/normal-fields.ts'
import { ORDERED } from '../../language/column-rules.ts'
import { planCumulativeCounts } from '../../plans/cumulative.ts'
import type { QuestionKind } from '../question-kind.ts'

/** The number of rows or people up to each edge, period or value of an ordered column, and quantiles on that curve. */
export const cumulativeCounts: QuestionKind<'cumulativeCounts'> = {
  title: 'Cumulative counts',
  phrase: '{of} up to each value of {column}',
  heading: 'Counts',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { column: ORDERED },
  plan: planCumulativeCounts,
  // Percentages and ranges change only how the curve is shown.
  subject: ({ column, of }, dataset) => ({ column: normalGrouping(column, dataset), ...countedOf(of) }),
}
