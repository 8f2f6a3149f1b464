import type { ContributionRequest } from '../../../../../schemas/answers/query.ts'
import { defined } from '../../../../privacy/defined.ts'
import { clampedTotals, fromMiddle, rowsOf } from '../../additive/column-sums.ts'
import type { Estimate, Moment, Sources } from '../../additive/shape.ts'
import { perPersonOf } from '../../identity/normal-fields.ts'
import { type ClampableColumn, clampKey, normalClamp, requireClamped } from '../../language/clamp.ts'
import { ORDERED } from '../../language/column-rules.ts'
import { type PersonValueRequest, planPersonValue } from '../../language/person-value.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QueryOf, type QuestionKind } from '../question-kind.ts'

/** Plans the mean of a column, of people's clamped totals, or of a value per person. */
function meanEstimate(
  asked: Pick<QueryOf<'mean'>, 'column' | 'perPerson' | 'clamp'>,
  field: string,
  contribution: ContributionRequest | undefined,
  sources: Sources,
): Estimate {
  const { column: name, perPerson, clamp } = asked
  if (perPerson !== undefined)
    return meanPerPerson({ kind: perPerson, column: name, field, contribution, clamp }, sources)
  if (contribution?.perPerson !== undefined) return clampedMean(asked, field, contribution, sources)
  const column = requireClamped(ORDERED, sources.dataset, asked, field)
  return { kind: 'mean', column, ...fromMiddle(column, sources) }
}

/** Plans the mean of a value per person: a noisy sum about the middle of its range, divided by the number of people. */
function meanPerPerson(request: PersonValueRequest, sources: Sources): Estimate {
  const { dataset, bounding, everyRow, place } = sources
  const { value, column } = planPersonValue(request, dataset, bounding)
  const offset = -(column.lowerIndex + column.upperIndex)
  const sum = place({ kind: 'affine-sum', perPerson: value, factor: 2n, offset })
  const { people } = dataset
  const counted = column.nullable ? column.name : undefined
  const rows: Moment =
    people !== undefined && everyRow && !column.nullable
      ? { kind: 'public', value: people }
      : { kind: 'noisy', statistic: place(defined({ kind: 'count-people', column: counted })), scale: 1 }
  return { kind: 'mean', column, sum, rows }
}

/**
 * Plans a sum of people's clamped totals, divided by a noisy number of rows. The sum has no middle that would fit every
 * number of rows, so the mean is about 0. As each total is divided among one row or more, it lies between 0 and a
 * clamping bound.
 */
function clampedMean(
  asked: ClampableColumn,
  field: string,
  contribution: ContributionRequest,
  sources: Sources,
): Estimate {
  const { value, column, statistic } = clampedTotals(asked, field, contribution, sources)
  const range = {
    lowerIndex: value.lower < 0n ? value.lower : 0n,
    upperIndex: value.upper > 0n ? value.upper : 0n,
  }
  const rows = rowsOf(column, sources)
  return { kind: 'mean', column: { ...column, ...range }, sum: statistic, rows, about: 'zero' }
}

/** The mean of a column, or of a value per person. */
export const mean: QuestionKind<'mean'> = {
  title: 'Mean',
  phrase: 'mean of {column}',
  heading: 'Sums and averages',
  aggregates: ['avg'],
  clamps: 'always',
  columns: { column: ORDERED },
  plan: planOfSums({
    estimates: (query, sources) => [meanEstimate(query, 'column', query.contribution, sources)],
    hasTotals: () => true,
  }),
  subject: (query, dataset) => ({ ...normalClamp(query, dataset), ...perPersonOf(query) }),
}

export const meanStatistic: GroupStatisticKind<'mean'> = {
  columns: mean.columns,
  name: ({ column, perPerson }) =>
    perPerson === undefined ? `mean_${column}` : `mean_perPerson_${perPerson}_${column}`,
  subject: (statistic, dataset) => ({ ...normalClamp(statistic, dataset), ...perPersonOf(statistic) }),
  centers: (statistic, dataset, field) =>
    statistic.perPerson === undefined ? clampKey(statistic, dataset, field) : undefined,
  hasTotals: true,
  estimate: (statistic, { field, contribution }, sources) =>
    meanEstimate(statistic, `${field}.column`, contribution, sources),
}
