import { countedOf, groupingsOf, normalGrouping } from '../../identity/normal-fields.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { planTable } from '../../language/tables.ts'
import { countEstimate } from '../count/kind.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** The number of rows or people in each category or bin of a column. */
export const histogram: QuestionKind<'histogram'> = {
  title: 'Counts by a column',
  phrase: '{of} by {column}',
  heading: 'Counts',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { column: GROUPED },
  plan: planOfSums({
    groupings: ({ column }, dataset, limits) =>
      planTable([column], () => 'column', 'column', dataset, limits),
    estimates: (query, sources) => [countEstimate(query.of, 'of', sources)],
  }),
  subject: ({ column, of }, dataset) => ({ column: normalGrouping(column, dataset), ...countedOf(of) }),
}

/** The number of rows or people in each cell of several columns. */
export const contingency: QuestionKind<'contingency'> = {
  title: 'Counts by several columns',
  phrase: '{of} by {columns}',
  heading: 'Counts',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { columns: GROUPED },
  plan: planOfSums({
    groupings: ({ columns }, dataset, limits) =>
      planTable(columns, (position) => `columns.${position}`, 'columns', dataset, limits),
    estimates: (query, sources) => [countEstimate(query.of, 'of', sources)],
  }),
  subject: ({ columns, of }, dataset) => ({ columns: groupingsOf(columns, dataset), ...countedOf(of) }),
}
