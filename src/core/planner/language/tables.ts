import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import { entry, must } from '../../../privacy/must.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import { type Dataset, isGrid } from '../../dataset/dataset.ts'
import { LARGEST_ANSWER, type PlanLimits } from '../plans/plan-kind.ts'
import type { Predicate } from './aggregate.ts'
import { columnNamed } from './columns.ts'
import { type Grouping, planGrouping } from './grouping.ts'

/** Number of cells that groupings span. */
export function cellsOf(groupings: readonly Grouping[]): number {
  return groupings.reduce((product, { labels }) => product * labels.length, 1)
}

/**
 * Plans the groupings of a table.
 * @param field the field of the query that holds the columns, or the only one
 * @param statistics names of the statistics of each cell, if it has several
 * @throws Refusal `query-does-not-fit` for a table that the dataset does not have, or that is too large.
 */
export function planTable(
  columns: GroupingColumn | readonly GroupingColumn[],
  field: string,
  dataset: Dataset,
  { maxCells, maxCharacters = LARGEST_ANSWER }: PlanLimits,
  statistics: readonly string[] = [],
): readonly Grouping[] {
  const groupings = planGroupings(columns, field, dataset)
  const cells = cellsOf(groupings)
  if (cells > maxCells) throw refuseQuery(field, `span ${cells} cells; at most ${maxCells} are supported`)
  const longestValues = statistics.reduce(
    (sum, name) => sum + JSON.stringify(name).length + LONGEST_ESTIMATE,
    LONGEST_CELL_FRAME,
  )
  const longestCell = groupings.reduce((sum, grouping) => sum + longestKey(grouping), longestValues)
  if (cells * longestCell > maxCharacters)
    throw refuseQuery(field, 'span too many cells with names that are too long for one answer')
  return groupings
}

/**
 * Plans groupings of different columns, as {@link planTable}.
 * @throws Refusal `query-does-not-fit` for a column that the dataset cannot group by, or that is repeated.
 */
export function planGroupings(
  columns: GroupingColumn | readonly GroupingColumn[],
  field: string,
  dataset: Dataset,
): readonly Grouping[] {
  const isList = (asked: typeof columns): asked is readonly GroupingColumn[] => Array.isArray(asked)
  if (!isList(columns)) return [planGrouping(columns, dataset, field)]
  const fieldOf = (position: number) => `${field}.${position}`
  const groupings = columns.map((column, position) => planGrouping(column, dataset, fieldOf(position)))
  const repeated = groupings.findIndex(
    ({ column }, position) => groupings.findIndex((other) => other.column === column) !== position,
  )
  if (repeated !== -1) throw refuseQuery(fieldOf(repeated), 'must not repeat an earlier column')
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

/**
 * Conditions that every row is in a bin of every column, where bins do not cover a column. Without them a row could be in
 * some tables and not in others, and tables would not add up.
 */
export function withinBins(groupings: readonly Grouping[], dataset: Dataset): readonly Predicate[] {
  return groupings.flatMap(({ key }): readonly Predicate[] => {
    if (key.kind !== 'bins') return []
    const column = must(columnNamed(dataset, key.column), 'the column of a grouping')
    if (!isGrid(column)) throw new RangeError('bins need a column on a grid')
    const [lower, upper] = [entry(key.edges, 0), entry(key.edges, key.edges.length - 1) - 1n]
    if (lower <= column.lowerIndex && upper >= column.upperIndex) return []
    const within = { kind: 'index-between', column: key.column, lower, upper } as const
    if (!key.nullCell) return [within]
    return [{ kind: 'or', predicates: [within, { kind: 'is-null', column: key.column }] }]
  })
}
