import type { GroupingColumn } from '../../../../schemas/answers/query.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import { type GridValue, valueOfIndex } from '../../dataset/grid-value.ts'
import type { GroupKey } from './aggregate.ts'
import type { Bin } from './bin-text.ts'
import { ORDERED, requireColumnOf } from './column-rules.ts'
import { type CellLabel, planGrouping } from './grouping.ts'

/** Consecutive cells of an ordered column. */
export interface OrderedCells {
  readonly column: string
  readonly key: Extract<GroupKey, { kind: 'bins' }>
  /** For each cell, the values from the start of the first cell through its end. */
  readonly spans: readonly Bin<GridValue>[]
}

/** Largest number of cells. */
export const MOST_ORDERED_CELLS = 4_096

/**
 * Plans the cells of an ordered column: bins, consecutive periods, or each value of its grid. Rows without a value are in no
 * cell.
 * @throws Refusal `query-does-not-fit` for a column without an order, too many cells, and as {@link planGrouping}.
 */
export function planOrderedCells(grouping: GroupingColumn, dataset: Dataset, field: string): OrderedCells {
  const [name, nameField] =
    typeof grouping === 'string' ? [grouping, field] : [grouping.column, `${field}.column`]
  const column = requireColumnOf(ORDERED, dataset, name, nameField)
  if (typeof grouping === 'string') {
    const { lowerIndex, upperIndex } = column
    const values = upperIndex - lowerIndex + 1n
    requireFew(values, field, ': give edges or periods')
    const indexes = Array.from({ length: Number(values) }, (_, place) => lowerIndex + BigInt(place))
    const key = { kind: 'bins', column: name, edges: [...indexes, upperIndex + 1n], nullCell: false } as const
    return { column: name, key, spans: spansThrough(indexes.map((index) => valueOfIndex(column, index))) }
  }
  const { key, labels } = planGrouping(grouping, dataset, field)
  if (key.kind !== 'bins' || key.cycle !== undefined)
    throw refuseQuery(`${field}.by`, 'must be consecutive periods: those of a week or a year recur')
  const cells = labels.filter((label) => label !== null)
  requireFew(BigInt(cells.length), field, '')
  return { column: name, key: { ...key, nullCell: false }, spans: spansOf(cells) }
}

function requireFew(cells: bigint, field: string, instead: string): void {
  if (cells <= MOST_ORDERED_CELLS) return
  throw refuseQuery(field, `has ${cells} cells; at most ${MOST_ORDERED_CELLS} are supported${instead}`)
}

/** Spans of bins have their edges; those of periods have their names. */
function spansOf(cells: readonly CellLabel[]): readonly Bin<GridValue>[] {
  const bins = cells.filter((cell) => typeof cell === 'object' && cell !== null)
  const [first] = bins
  if (first === undefined) return spansThrough(cells.map(String))
  return bins.map((bin) => ({ ...bin, lower: first.lower }))
}

/** Spans of cells that are named by a value or a period, which the span includes. */
function spansThrough(names: readonly GridValue[]): readonly Bin<GridValue>[] {
  const [lower = ''] = names
  return names.map((upper) => ({ lower, upper, upperIncluded: true }))
}
