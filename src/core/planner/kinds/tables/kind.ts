import { countedOf, groupingsOf, normalGrouping } from '../../identity/normal-fields.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { cellsOf, planTable } from '../../language/tables.ts'
import { countEstimate } from '../count/kind.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

const ofTable = { addsUp: true, inCells: true, grouped: true } as const

/** The number of rows or people in each category or bin of a column. */
export const histogram: QuestionKind<'histogram'> = {
  title: 'Counts by a column',
  phrase: '{of} by {column}',
  heading: 'Counts',
  ...ofTable,
  columns: { column: GROUPED },
  plan: planOfSums({
    groupings: ({ column }, dataset, limits) => planTable(column, 'column', dataset, limits),
    estimates: (query, sources) => [countEstimate(query.of, 'of', sources)],
  }),
  subject: ({ column, of }, dataset) => ({ column: normalGrouping(column, dataset), ...countedOf(of) }),
}

/** The number of rows or people in each cell of several columns. */
export const contingency: QuestionKind<'contingency'> = {
  title: 'Counts by several columns',
  phrase: '{of} by {columns}',
  heading: 'Counts',
  ...ofTable,
  columns: { columns: GROUPED },
  plan: planOfSums({
    groupings: ({ columns }, dataset, limits) => planTable(columns, 'columns', dataset, limits),
    estimates: (query, sources) => [countEstimate(query.of, 'of', sources)],
  }),
  subject: ({ columns, of }, dataset) => ({ columns: groupingsOf(columns, dataset), ...countedOf(of) }),
}

const MOST_SHOWN = 10

/** The cells with the largest numbers of rows or people. The half-width holds for all counts together. */
export const topGroups: QuestionKind<'topGroups'> = {
  title: 'Largest groups',
  phrase: 'largest {k} by {keys}',
  heading: 'Groups and frequent values',
  ...ofTable,
  columns: { keys: GROUPED },
  plan: planOfSums({
    groupings: ({ keys }, dataset, limits) => planTable(keys, 'keys', dataset, limits),
    estimates: (query, sources) => [
      { ...countEstimate(query.of, 'of', sources), together: cellsOf(sources.groupings) },
    ],
    shown: ({ k }) => ({ kind: 'cells', largest: k }),
  }),
  subject: ({ keys, k, of }, dataset) => ({
    keys: groupingsOf(keys, dataset),
    ...(k === MOST_SHOWN ? {} : { k }),
    ...countedOf(of),
  }),
  defaults: { k: MOST_SHOWN },
}
