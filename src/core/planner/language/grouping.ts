import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import { divideRoundingDown } from '../../../privacy/rational.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import {
  type Dataset,
  type GridColumn,
  isGrid,
  isTemporal,
  type QueryableColumn,
} from '../../dataset/dataset.ts'
import { type GridValue, normalValue, valueOfIndex } from '../../dataset/grid-value.ts'
import { timeZoneNamed } from '../../dataset/iso-time.ts'
import type { GroupKey } from './aggregate.ts'
import type { Bin } from './bin-text.ts'
import { localHourName } from './calendar.ts'
import { planCalendarCells } from './calendar-cells.ts'
import { requireColumn } from './column-rules.ts'
import { findColumn } from './columns.ts'
import { indexAtLeast, nanoOf } from './comparisons.ts'
import { columnText } from './expressions/linear.ts'
import { writtenText } from './expressions/parse.ts'

/** One cell of a grouping column's declared domain, as an answer shows it. `null`: the rows without a value. */
export type CellLabel = string | boolean | null | Bin<GridValue>

/** Cells of a column and their labels in the same order. */
interface Cells {
  readonly key: GroupKey
  readonly labels: readonly CellLabel[]
}

/** A grouping column with its cells. */
export interface Grouping extends Cells {
  readonly column: string
}

/**
 * Plans a grouping column over its declared domain. The last cell of a nullable column is for NULL.
 * @throws Refusal `query-does-not-fit` for a column without a declared domain, edges that are not increasing within its
 * bounds, and periods that do not fit, as {@link planCalendarCells}.
 */
export function planGrouping(grouping: GroupingColumn, dataset: Dataset, field: string): Grouping {
  const [name, nameField] =
    typeof grouping === 'string' ? [grouping, field] : [grouping.column, `${field}.column`]
  const column = requireColumn(dataset, name, nameField)
  const { key, labels } =
    typeof grouping === 'string'
      ? planDomain(column, field)
      : planDivision(grouping, inTimeZone(grouping, column, dataset, field), field)
  return { column: column.name, key, labels: column.nullable ? [...labels, null] : labels }
}

/** Plans the cells of a column whose values are declared one by one. */
function planDomain(column: QueryableColumn, field: string): Cells {
  const { name, nullable: nullCell } = column
  const refuse = (rule: string) => refuseQuery(field, rule)
  switch (column.type) {
    case 'category': {
      const key = { kind: 'category', column: name, size: column.categories.length, nullCell } as const
      return { key, labels: column.categories }
    }
    case 'boolean':
      return { key: { kind: 'boolean', column: name, nullCell }, labels: [false, true] }
    case 'integer':
    case 'number':
      throw refuse(`${name} is numeric: give {"column": "${name}", "edges": [...]}`)
    case 'date':
    case 'timestamp':
      throw refuse(
        `${name} is of type ${column.type}: give {"column": "${name}", "by": "month"} or another period`,
      )
    case 'string':
      throw refuse(`${name} is free text: its values are not declared, so queries cannot group by it`)
  }
}

/**
 * Returns the column of the times that a calendar divides: those on the clock of the zone that a grouping states. Hours are
 * those of UTC, so that the hour that a clock shows twice is two cells.
 * @throws Refusal `query-does-not-fit` for a column of another type, and for a name of no zone
 */
export function inTimeZone(
  grouping: Exclude<GroupingColumn, string>,
  column: QueryableColumn,
  dataset: Dataset,
  field: string,
): QueryableColumn {
  if (!('by' in grouping) || grouping.timeZone === undefined) return column
  const { timeZone, by } = grouping
  const local = findColumn(dataset, `local(${columnText(column)}, ${writtenText(timeZone)})`)
  if (!('column' in local))
    throw refuseQuery(`${field}.timeZone`, `${local.rule ?? 'must be the name of a time zone'}`)
  return by === 'hour' ? column : local.column
}

/** Returns the zone whose clock divides a column, spelt as in the IANA list; `undefined` for UTC. */
export function zoneOf({ timeZone }: { readonly timeZone?: string | undefined }): string | undefined {
  const named = timeZone && timeZoneNamed(timeZone)
  return named === 'UTC' ? undefined : named
}

/** Plans the cells of a column on a grid, divided by edges or by the calendar. */
function planDivision(
  division: Exclude<GroupingColumn, string>,
  column: QueryableColumn,
  field: string,
): Cells {
  const { name, nullable: nullCell } = column
  if ('by' in division) {
    if (!isTemporal(column)) {
      const rule = `needs a column of dates or timestamps; ${name} is of type ${column.type}`
      throw refuseQuery(`${field}.by`, rule)
    }
    const { bins, names } = planCalendarCells(division, column, field)
    const { by } = division
    const timeZone = zoneOf(division)
    const labels =
      by === 'hour' && timeZone !== undefined ? names.map((hour) => localHourName(hour, timeZone)) : names
    return { key: { kind: 'bins', column: name, ...bins, nullCell }, labels }
  }
  if (!isGrid(column)) {
    const rule = `edges need a column of numbers, dates or timestamps; ${name} is of type ${column.type}`
    throw refuseQuery(field, rule)
  }
  const edges = planEdges(division.edges, column, field)
  const shown = division.edges.map((edge) => normalValue(column.type, edge))
  const bins = shown.slice(1).map((upper, bin) => ({ lower: shown[bin] ?? upper, upper }))
  const labels = bins.map((bin, place) =>
    place === bins.length - 1 ? { ...bin, upperIncluded: true as const } : bin,
  )
  return { key: { kind: 'bins', column: name, edges, nullCell }, labels }
}

/** Keys of a table's cells, in their order: the last grouping's labels change fastest. */
export function cellKeys(groupings: readonly Grouping[]): readonly Readonly<Record<string, CellLabel>>[] {
  return groupings.reduce<readonly Record<string, CellLabel>[]>(
    (keys, { column, labels }) => keys.flatMap((key) => labels.map((label) => ({ ...key, [column]: label }))),
    [{}],
  )
}

function planEdges(edges: readonly GridValue[], column: GridColumn, field: string): readonly bigint[] {
  const { lowerIndex, upperIndex, stepNano } = column
  const nanos = edges.map((edge, position) => {
    const where = `${field}.edges.${position}`
    const nano = nanoOf(column, edge, where)
    if (nano >= lowerIndex * stepNano && nano <= upperIndex * stepNano) return nano
    const bounds = `${valueOfIndex(column, lowerIndex)} and ${valueOfIndex(column, upperIndex)}`
    throw refuseQuery(where, `must lie within the bounds of ${column.name}, ${bounds}`)
  })
  // The last bin includes its upper edge, so that the largest value has a bin.
  const indexes = nanos.map((nano, position) =>
    position === edges.length - 1 ? divideRoundingDown(nano, stepNano) + 1n : indexAtLeast(column, nano),
  )
  const broken = indexes.findIndex((index, position) => {
    const [nano, nanoBefore, indexBefore] = [nanos[position], nanos[position - 1], indexes[position - 1]]
    if (nano === undefined || nanoBefore === undefined || indexBefore === undefined) return false
    // The last bin contains both of its edges, so that they may be equal.
    const decreasing = position === edges.length - 1 ? nano < nanoBefore : nano <= nanoBefore
    return decreasing || index <= indexBefore
  })
  if (broken !== -1)
    throw refuseQuery(
      `${field}.edges.${broken}`,
      'must be greater than the edge before it, by at least one step of the column',
    )
  return indexes
}
