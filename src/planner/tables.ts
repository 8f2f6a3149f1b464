import type { GroupingColumn } from '../../schemas/query.ts'
import type { Dataset } from '../catalog/dataset.ts'
import { refuseField } from '../privacy/refusal.ts'
import type { AdditiveQuery } from './additive.ts'
import { type Grouping, planGrouping } from './grouping.ts'
import { LARGEST_ANSWER, type PlanLimits } from './plan-kind.ts'
import { statisticName } from './statistic-names.ts'

/**
 * Plans the groupings of a query's table; none for a query without groups.
 * @throws Refusal `query-does-not-fit` for a table that the dataset does not have, or that is too large.
 */
export function planGroupings(
  query: AdditiveQuery,
  dataset: Dataset,
  limits: PlanLimits,
): readonly Grouping[] {
  switch (query.kind) {
    case 'histogram':
      return planTable([query.column], () => 'column', 'column', dataset, limits)
    case 'topGroups':
      return planTable(query.keys, (position) => `keys.${position}`, 'keys', dataset, limits)
    case 'contingency':
      return planTable(query.columns, (position) => `columns.${position}`, 'columns', dataset, limits)
    case 'groupBy':
      return planTable(
        query.keys,
        (position) => `keys.${position}`,
        'keys',
        dataset,
        limits,
        query.statistics.map(statisticName),
      )
    case 'count':
    case 'sum':
    case 'mean':
    case 'variance':
    case 'standardDeviation':
    case 'covariance':
    case 'correlation':
    case 'linearRegression':
    case 'proportion':
    case 'countDistinct':
      return []
  }
}

/** Number of cells that groupings span. */
export function cellsOf(groupings: readonly Grouping[]): number {
  return groupings.reduce((product, { labels }) => product * labels.length, 1)
}

function planTable(
  columns: readonly GroupingColumn[],
  fieldOf: (position: number) => string,
  field: string,
  dataset: Dataset,
  { maxCells, maxCharacters = LARGEST_ANSWER }: PlanLimits,
  statistics: readonly string[] = [],
): readonly Grouping[] {
  const groupings = columns.map((column, position) => planGrouping(column, dataset, fieldOf(position)))
  const repeated = groupings.findIndex(
    ({ column }, position) => groupings.findIndex((other) => other.column === column) !== position,
  )
  if (repeated !== -1)
    throw refuseField('query-does-not-fit', fieldOf(repeated), 'must not repeat an earlier column')
  const cells = cellsOf(groupings)
  if (cells > maxCells) {
    throw refuseField('query-does-not-fit', field, `span ${cells} cells; at most ${maxCells} are supported`)
  }
  const longestValues = statistics.reduce(
    (sum, name) => sum + JSON.stringify(name).length + LONGEST_ESTIMATE,
    LONGEST_CELL_FRAME,
  )
  const longestCell = groupings.reduce((sum, grouping) => sum + longestKey(grouping), longestValues)
  if (cells * longestCell > maxCharacters) {
    throw refuseField(
      'query-does-not-fit',
      field,
      'span too many cells with names that are too long for one answer',
    )
  }
  return groupings
}

/** Characters of a cell without its key: `{"key":{},"value":-1.7976931348623157e+308},`. */
const LONGEST_CELL_FRAME = 50
/**
 * Characters that a statistic of a group adds to its name:
 * `:{"value":-1.7976931348623157e+308,"halfWidth":1.7976931348623157e+308},`.
 */
const LONGEST_ESTIMATE = 80

/** Largest number of characters of one column's part of a cell's key. */
function longestKey({ column, labels }: Grouping): number {
  return Math.max(...labels.map((label) => JSON.stringify({ [column]: label }).length))
}
