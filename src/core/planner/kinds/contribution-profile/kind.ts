import { defined } from '../../../../privacy/defined.ts'
import { epsilonFromWire, epsilonNumber } from '../../../../privacy/loss.ts'
import { plausibleRowsOf } from '../../../../privacy/neighbours.ts'
import { refuseQuery } from '../../../../privacy/refusal.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import { planAdditiveQuery } from '../../additive/kind.ts'
import type { AdditiveParts, AdditivePlan, ContributionFacts } from '../../additive/shape.ts'
import type { Aggregate, Statistic } from '../../language/aggregate.ts'
import type { Grouping } from '../../language/grouping.ts'
import { sensitivityOf } from '../../price/stability.ts'
import type { QueryOf, QuestionKind } from '../question-kind.ts'
import { bandsOf, nameOfBand } from './bands.ts'

/** The number of people by the number of their rows, before `maxRows` bounds these. */
export const contributionProfile: QuestionKind<'contributionProfile'> = {
  title: 'People by number of rows',
  phrase: 'people by number of rows',
  heading: 'Counts',
  ofPeople: true,
  columns: {},
  plan(query, dataset, limits, offer) {
    const planned = planAdditiveQuery(query, PARTS, dataset, limits, offer)
    const contributions = contributionFacts(query, planned)
    return { ...planned, shown: { kind: 'cells', ...defined({ contributions }) } }
  },
  // At which epsilon the next question is asked changes only what is computed from the counts.
  subject: () => ({}),
}

const PARTS: AdditiveParts<QueryOf<'contributionProfile'>> = {
  groupings: (_, dataset) => [groupingOf(dataset)],
  estimates: (_, { place }) => [{ kind: 'count', statistic: place({ kind: 'count-people' }) }],
  // Each person counts once, whatever the number of rows.
  ownBounding: () => ({ kind: 'one-row-each' }),
}

/** The bounds that are weighed: the last number of rows of each band up to `maxRows`. */
function contributionFacts(
  { nextEpsilon }: QueryOf<'contributionProfile'>,
  { dataset, loss }: AdditivePlan,
): ContributionFacts | undefined {
  const { privacyUnit: unit } = dataset
  if (unit.kind === 'row') return undefined
  const count: Statistic = { kind: 'count' }
  const moved = (rows: number) => {
    const bounded: Aggregate = { groupBy: [], statistics: [count], bounding: { kind: 'rows', rows } }
    return Number(sensitivityOf(count, bounded, dataset).lInfinity)
  }
  const ends = bandsOf(unit).flatMap(({ upper }) =>
    upper !== undefined && upper <= unit.maxRows ? [upper] : [],
  )
  const bounds = [...new Set([...ends, unit.maxRows])]
  return {
    unit,
    candidates: bounds.map((rows) => ({ rows, moved: moved(rows) })),
    nextEpsilon: epsilonNumber(
      nextEpsilon === undefined ? loss.epsilonNano : epsilonFromWire(nextEpsilon, 'nextEpsilon'),
    ),
  }
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
