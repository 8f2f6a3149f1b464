import { entry, must } from '../../../privacy/must.ts'
import { type Dataset, isGrid } from '../../dataset/dataset.ts'
import type { Predicate } from '../language/aggregate.ts'
import { columnNamed } from '../language/columns.ts'
import type { Grouping } from '../language/grouping.ts'

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
