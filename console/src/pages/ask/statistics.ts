import {
  type DatasetFacts,
  groupingColumns,
  groupingOf,
  initialCondition,
  measuredColumns,
  valueColumns,
} from './kinds.ts'
import { type Question, withField } from './question.ts'

/** Most statistics of one question. */
export const MOST_STATISTICS = 8

const NUMBERS = ['integer', 'number'] as const
const ORDERED = ['integer', 'number', 'date', 'timestamp'] as const

/** Returns the columns that a statistic of groups can measure. */
export function statisticColumns({ kind, perPerson }: Question, dataset: DatasetFacts) {
  switch (kind) {
    case 'mean':
      return valueColumns(perPerson, dataset, ORDERED)
    case 'median':
    case 'percentile':
      return measuredColumns(dataset, ORDERED)
    case 'countDistinct':
      return groupingColumns(dataset)
    case 'sum':
    case 'variance':
    case 'standardDeviation':
      return measuredColumns(dataset, NUMBERS)
    default:
      return []
  }
}

/** Returns a statistic of a kind, or undefined if the dataset has no column for it. It keeps the column if that fits. */
export function statisticOf(
  kind: string,
  dataset: DatasetFacts,
  before: Question = {},
): Question | undefined {
  if (kind === 'count') return { kind }
  if (kind === 'proportion') return { kind, of: initialCondition(dataset) }
  const columns = statisticColumns({ kind }, dataset)
  const column = columns.find(({ name }) => name === before.column) ?? columns[0]
  if (column === undefined) return undefined
  if (kind === 'countDistinct') return { kind, column: groupingOf(column) }
  return { kind, column: column.name, ...(kind === 'percentile' ? { p: 90 } : {}) }
}

/** Returns a mean of a value of each person, or of rows. It keeps the column if that fits. */
export function withPersonValue(
  statistic: Question,
  perPerson: string | undefined,
  dataset: DatasetFacts,
): Question {
  const next = withField(statistic, 'perPerson', perPerson)
  const columns = statisticColumns(next, dataset)
  return columns.some(({ name }) => name === next.column) ? next : { ...next, column: columns[0]?.name }
}

/** Returns a statistic that is not yet listed: the mean of another column, a proportion, or undefined. */
export function nextStatistic(listed: readonly Question[], dataset: DatasetFacts): Question | undefined {
  const has = (statistic: Question) =>
    listed.some((each) => each.kind === statistic.kind && each.column === statistic.column)
  const means = measuredColumns(dataset, ORDERED).map(({ name }) => ({ kind: 'mean', column: name }))
  const proportions = listed.filter(({ kind }) => kind === 'proportion').length
  const proportion = { kind: 'proportion', of: initialCondition(dataset) }
  return (
    [{ kind: 'count' }, ...means].find((each) => !has(each)) ??
    (proportions === 0 ? proportion : { ...proportion, name: `proportion ${proportions + 1}` })
  )
}
