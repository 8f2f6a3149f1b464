import { plausibleRowsOf } from '../../../../privacy/neighbours.ts'
import { refuseQuery } from '../../../../privacy/refusal.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import type { Grouping } from '../../language/grouping.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'
import { bandsOf, nameOfBand } from './bands.ts'

/** The number of people by the number of their rows, before `maxRows` bounds these. */
export const contributionProfile: QuestionKind<'contributionProfile'> = {
  title: 'People by number of rows',
  phrase: 'people by number of rows',
  ofPeople: true,
  columns: {},
  plan: planOfSums({
    groupings: (_, dataset) => [groupingOf(dataset)],
    estimates: (_, { place }) => [{ kind: 'count', statistic: place({ kind: 'count-people' }) }],
    // Each person counts once, whatever the number of rows.
    ownBounding: () => ({ kind: 'one-row-each' }),
  }),
  subject: () => ({}),
}

/** @throws Refusal `query-does-not-fit` for a dataset without people. */
function groupingOf({ privacyUnit }: Dataset): Grouping {
  if (privacyUnit.kind === 'row')
    throw refuseQuery(
      'kind',
      'needs a dataset whose privacy unit is a person; here each row is a privacy unit',
    )
  const bands = bandsOf(privacyUnit)
  // No person is counted with more rows than the first number of the last band.
  const edges = [...bands.map(({ lower }) => lower), plausibleRowsOf(privacyUnit) + 2]
  return {
    column: 'rows',
    key: { kind: 'rows-of-person', edges: edges.map(BigInt) },
    labels: bands.map(nameOfBand),
  }
}
