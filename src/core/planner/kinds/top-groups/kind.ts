import { countedOf, groupingsOf } from '../../identity/normal-fields.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { cellsOf, planTable } from '../../language/tables.ts'
import { countEstimate } from '../count/kind.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

const MOST_SHOWN = 10

/** The cells with the largest numbers of rows or people. The half-width holds for all counts together. */
export const topGroups: QuestionKind<'topGroups'> = {
  title: 'Largest groups',
  phrase: 'largest {k} by {keys}',
  heading: 'Groups and frequent values',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { keys: GROUPED },
  plan: planOfSums({
    groupings: ({ keys }, dataset, limits) =>
      planTable(keys, (position) => `keys.${position}`, 'keys', dataset, limits),
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
