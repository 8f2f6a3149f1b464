import type { Kind, KindFields } from '../../../../../clients/kind-entry.ts'
import { KINDS } from '../../../api/kinds.ts'
import type { DatasetFacts } from '../../datasets/dataset.ts'
import { fieldValue, type Statistic } from '../question/question.ts'
import {
  columnsOf,
  conditionColumns,
  hasColumnsFor,
  initialCondition,
  initialFields,
  numbersFirst,
} from './kinds.ts'

/** Returns the fields of a statistic of groups. */
export function statisticFields(kind: Kind): KindFields {
  return KINDS[kind].statistic ?? {}
}

/** Returns the kinds of statistics that a dataset has the columns for. */
export function offeredStatistics(dataset: DatasetFacts): readonly Statistic['kind'][] {
  return Object.entries(KINDS).flatMap(([kind, { statistic }]) =>
    statistic !== undefined && hasColumnsFor(statistic, dataset) ? [kind as Statistic['kind']] : [],
  )
}

/** Returns a statistic of a kind. It keeps the column of the statistic before if that fits. */
export function statisticOf(kind: Statistic['kind'], dataset: DatasetFacts, before?: Statistic): Statistic {
  const column = before && fieldValue(before, 'column')
  return { kind, ...initialFields(statisticFields(kind), dataset, column) } as Statistic
}

/** Returns a statistic that is not yet listed: the count, the mean of another column, a proportion, or undefined. */
export function nextStatistic(listed: readonly Statistic[], dataset: DatasetFacts): Statistic | undefined {
  const has = (statistic: Statistic) =>
    listed.some(
      (each) =>
        each.kind === statistic.kind && fieldValue(each, 'column') === fieldValue(statistic, 'column'),
    )
  const { columns = { types: [] } } = statisticFields('mean').column ?? {}
  const means = numbersFirst(columnsOf(columns, dataset)).map(({ name }) => ({
    kind: 'mean' as const,
    column: name,
  }))
  const next = [{ kind: 'count' as const }, ...means].find((each) => !has(each))
  if (next !== undefined || conditionColumns(dataset).length === 0) return next
  const proportion = { kind: 'proportion' as const, of: initialCondition(dataset) }
  const proportions = listed.filter(({ kind }) => kind === 'proportion').length
  return proportions === 0 ? proportion : { ...proportion, name: `proportion ${proportions + 1}` }
}
