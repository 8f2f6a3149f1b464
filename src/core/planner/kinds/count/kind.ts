import type { Query } from '../../../../../schemas/answers/query.ts'
import type { Sources } from '../../additive/shape.ts'
import { countedOf } from '../../identity/normal-fields.ts'
import { requirePeople } from '../../language/contribution.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Plans a number of rows or people. */
export function countEstimate(
  of: Extract<Query, { kind: 'count' }>['of'],
  field: string,
  sources: Sources,
): { readonly kind: 'count'; readonly statistic: number } {
  requirePeople(of, sources.dataset, field)
  return {
    kind: 'count',
    statistic: sources.place({ kind: of === 'people' ? 'count-people' : 'count' }),
  }
}

/** The number of rows or people. */
export const count: QuestionKind<'count'> = {
  title: 'Count',
  phrase: 'count of {of}',
  heading: 'Counts',
  aggregates: ['count'],
  addsUp: true,
  columns: {},
  plan: planOfSums({ estimates: (query, sources) => [countEstimate(query.of, 'of', sources)] }),
  subject: ({ of }) => countedOf(of),
}

export const countStatistic: GroupStatisticKind<'count'> = {
  columns: {},
  name: ({ of }) => (of === 'people' ? 'count_people' : 'count'),
  subject: ({ of }) => countedOf(of),
  estimate: ({ of }, { field }, sources) => countEstimate(of, `${field}.of`, sources),
}
