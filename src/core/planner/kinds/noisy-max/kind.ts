import type { Query } from '../../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import { countedOf, type Fields, normalGrouping } from '../../identity/normal-fields.ts'
import { normalPredicate } from '../../identity/normal-predicate.ts'
import { GROUPED } from '../../language/column-rules.ts'
import { planNoisyMax } from '../../plans/noisy-max.ts'
import type { QuestionKind } from '../question-kind.ts'

/** The candidates that most rows or people have. */
export const noisyMax: QuestionKind<'noisyMax'> = {
  title: 'Most frequent',
  phrase: 'most frequent {candidates}',
  heading: 'Groups and frequent values',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { candidates: GROUPED },
  plan: planNoisyMax,
  subject: ({ candidates, k, gap, of }, dataset) => ({
    candidates: candidatesOf(candidates, dataset),
    ...(k === 1 ? {} : { k }),
    ...(gap ? { gap } : {}),
    ...countedOf(of),
  }),
  defaults: { k: 1 },
}

function candidatesOf(
  candidates: Extract<Query, { kind: 'noisyMax' }>['candidates'],
  dataset: Dataset,
): Fields {
  if ('column' in candidates) return { column: normalGrouping(candidates.column, dataset) }
  const predicates = candidates.predicates.map(({ name, where }) => ({
    name,
    where: normalPredicate(where, dataset).predicate,
  }))
  return { predicates }
}
