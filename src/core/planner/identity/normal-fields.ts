import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import { type Dataset, isTemporal } from '../../dataset/dataset.ts'
import { normalValue } from '../../dataset/grid-value.ts'
import { periodName } from '../language/calendar.ts'
import { periodsOf } from '../language/calendar-cells.ts'
import { columnNamed } from '../language/columns.ts'
import { inTimeZone, zoneOf } from '../language/grouping.ts'

/* Fields of queries in normal form. */

/** Fields of a query. */
export type Fields = Readonly<Record<string, unknown>>

/** The field that says what a query counts, unless it is rows. */
export function countedOf(of: 'rows' | 'people' | undefined): Fields {
  return of === 'people' ? { of } : {}
}

/** The value per person that a query is about, if any. */
export function perPersonOf({ perPerson }: { readonly perPerson?: unknown }): Fields {
  return perPerson === undefined ? {} : { perPerson }
}

/** Groupings in normal form. */
export function groupingsOf(
  groupings: readonly GroupingColumn[],
  dataset: Dataset,
): readonly GroupingColumn[] {
  return groupings.map((grouping) => normalGrouping(grouping, dataset))
}

/** Writes the times of a grouping as the answer shows them; edges keep their values, which the answer shows as well. */
export function normalGrouping(grouping: GroupingColumn, dataset: Dataset): GroupingColumn {
  if (typeof grouping === 'string') return grouping
  const column = columnNamed(dataset, grouping.column)
  if (column === undefined || !isTemporal(column)) return grouping
  if ('edges' in grouping)
    return { column: column.name, edges: grouping.edges.map((edge) => normalValue(column.type, edge)) }
  const { by } = grouping
  const timeZone = zoneOf(grouping)
  const divided = inTimeZone(grouping, column, dataset, 'column')
  if (!isTemporal(divided)) return grouping
  const { period, first, last, lowest, highest } = periodsOf(grouping, divided, 'column')
  return {
    column: column.name,
    by,
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(first === lowest ? {} : { from: periodName(period, first) }),
    ...(last === highest ? {} : { to: periodName(period, last) }),
  }
}
