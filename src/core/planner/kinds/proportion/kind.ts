import type { QueryPredicate } from '../../../../../schemas/answers/query.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { normalPredicate } from '../../identity/normal-predicate.ts'
import { planPredicate } from '../../language/predicate.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/**
 * Plans a proportion. Of a public number of rows it is a noisy count divided by that number. Otherwise it is made from
 * two noisy counts, of the rows that satisfy the predicate and of the others: a row is in one of them, so both together
 * cost what one does.
 */
function proportionEstimate(of: QueryPredicate, { dataset, everyRow, place }: Sources): Estimate {
  if (dataset.rows === undefined || !everyRow)
    return { kind: 'proportion-of-cells', statistic: place({ kind: 'count' }) }
  const where = planPredicate(of, dataset, 'of')
  return { kind: 'proportion', statistic: place({ kind: 'count', where }), rows: dataset.rows }
}

/** The share of the rows that satisfy a predicate. */
export const proportion: QuestionKind<'proportion'> = {
  title: 'Proportion',
  phrase: 'proportion with {of}',
  heading: 'Sums and averages',
  columns: {},
  plan: planOfSums({
    estimates: (query, sources) => [proportionEstimate(query.of, sources)],
    keys: ({ of }, estimates, dataset) =>
      estimates.some(({ kind }) => kind === 'proportion-of-cells')
        ? [{ kind: 'predicate', predicate: planPredicate(of, dataset, 'of') }]
        : [],
  }),
  subject: ({ of }, dataset) => ({ of: normalPredicate(of, dataset).predicate }),
}

/**
 * The share of each group's rows that satisfy a predicate: the mean of a number that is 1 for these rows and 0 for the
 * others. About its middle, a row moves its sum by half as much as a count.
 */
export const proportionStatistic: GroupStatisticKind<'proportion'> = {
  columns: {},
  name: ({ name }) => name ?? 'proportion',
  subject: ({ of, name = 'proportion' }, dataset) => ({
    of: normalPredicate(of, dataset).predicate,
    ...(name === 'proportion' ? {} : { name }),
  }),
  estimate({ of }, { field }, { dataset, place }) {
    planPredicate(of, dataset, `${field}.of`)
    // In its normal form, so that two spellings of one condition are measured once.
    const where = planPredicate(normalPredicate(of, dataset).predicate, dataset, `${field}.of`)
    const sum = place({ kind: 'affine-count', where, factor: 2n, offset: -1n })
    return { kind: 'share', sum, rows: { kind: 'noisy', statistic: place({ kind: 'count' }), scale: 1 } }
  },
}
