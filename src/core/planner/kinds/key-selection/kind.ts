import { SELECTABLE } from '../../language/column-rules.ts'
import { planKeySelection } from '../../plans/key-selection.ts'
import type { QuestionKind } from '../question-kind.ts'

/** The values of a free-text column that enough rows or people have. */
export const keySelection: QuestionKind<'keySelection'> = {
  title: 'Frequent texts',
  phrase: 'frequent values of {column}',
  heading: 'Groups and frequent values',
  addsUp: true,
  inCells: true,
  columns: { column: SELECTABLE },
  plan: planKeySelection,
  subject: ({ column, counts }) => ({ column, ...(counts ? { counts } : {}) }),
}
