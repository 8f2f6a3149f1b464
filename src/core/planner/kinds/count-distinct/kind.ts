import type { GroupingColumn } from '../../../../../schemas/answers/query.ts'
import { refuseQuery } from '../../../../privacy/refusal.ts'
import type { Dataset } from '../../../dataset/dataset.ts'
import type { Estimate, Sources } from '../../additive/shape.ts'
import { normalGrouping } from '../../identity/normal-fields.ts'
import { groupKeySize } from '../../language/aggregate.ts'
import { COUNTED, GROUPED, requireColumn, requireSelectable } from '../../language/column-rules.ts'
import { mostOfPerson, planKeyBounding } from '../../language/contribution.ts'
import { planGrouping } from '../../language/grouping.ts'
import type { GroupStatisticKind } from '../group-by/group-statistic.ts'
import { planOfSums, type QuestionKind } from '../question-kind.ts'

/** Counts the cells of a grouping that have a row. */
function cellsWithRows(column: GroupingColumn, field: string, { dataset, place }: Sources): Estimate {
  const { key } = planGrouping(column, dataset, field)
  const of = 'nullCell' in key ? { ...key, nullCell: false } : key
  return {
    kind: 'count-distinct',
    statistic: place({ kind: 'count-distinct', of }),
    declared: groupKeySize(of),
  }
}

/** True for a column whose values are not declared. */
function isFreeText(column: GroupingColumn, dataset: Dataset): column is string {
  return typeof column === 'string' && requireColumn(dataset, column, 'column').type === 'string'
}

/**
 * Counts the values of a free-text column. Neighbours that replace a unit are not supported: one value may replace
 * another.
 */
function distinctTexts(name: string, { dataset, bounding, place }: Sources): Estimate {
  const column = requireSelectable(dataset, name, 'column')
  if (dataset.neighbours === 'change-one') {
    const rule =
      'must have declared values; those of free text can be counted under add-remove neighbours only'
    throw refuseQuery('column', rule)
  }
  const valuesEach = mostOfPerson(bounding).keys
  return {
    kind: 'count-distinct',
    statistic: place({ kind: 'count-distinct-values', column: column.name, valuesEach }),
  }
}

/** The number of distinct values of a column, declared or free text. */
export const countDistinct: QuestionKind<'countDistinct'> = {
  title: 'Distinct values',
  phrase: 'distinct values of {column}',
  heading: 'Counts',
  aggregates: ['count'],
  inCells: true,
  columns: { column: COUNTED },
  plan: planOfSums({
    estimates: ({ column }, sources) => [
      isFreeText(column, sources.dataset)
        ? distinctTexts(column, sources)
        : cellsWithRows(column, 'column', sources),
    ],
    // The groups of a count of values are the values, which the statistic bounds itself.
    ownBounding: ({ column, contribution }, dataset) =>
      isFreeText(column, dataset) ? planKeyBounding(contribution, dataset) : undefined,
  }),
  subject: ({ column }, dataset) => ({ column: normalGrouping(column, dataset) }),
}

export const countDistinctStatistic: GroupStatisticKind<'countDistinct'> = {
  columns: { column: GROUPED },
  name: ({ column }) => `countDistinct_${typeof column === 'string' ? column : column.column}`,
  subject: ({ column }, dataset) => ({ column: normalGrouping(column, dataset) }),
  estimate: ({ column }, { field }, sources) => cellsWithRows(column, `${field}.column`, sources),
}
