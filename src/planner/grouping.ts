import type { GroupingColumn } from '../../schemas/query.ts'
import type { Dataset, NumericColumn } from '../catalog/dataset.ts'
import { decimalFromNumber, numberFromDecimal } from '../privacy/decimal.ts'
import { divideRoundingDown } from '../privacy/rational.ts'
import { refuseField } from '../privacy/refusal.ts'
import type { GroupKey } from './aggregate.ts'
import { indexAtLeast, isNumeric, requireColumn } from './predicate.ts'

/** One cell of a grouping column's declared domain, as an answer shows it. `null`: the rows without a value. */
export type CellLabel = string | boolean | null | { readonly lower: number; readonly upper: number }

/** A grouping column: its cells, and their labels in the same order. */
export interface Grouping {
  readonly column: string
  readonly key: GroupKey
  readonly labels: readonly CellLabel[]
}

/**
 * Plans a grouping column over its declared domain. The last cell of a nullable column is for NULL.
 * @throws Refusal `query-does-not-fit` for a column without a declared domain, or edges that are not increasing within its
 * bounds.
 */
export function planGrouping(grouping: GroupingColumn, dataset: Dataset, field: string): Grouping {
  const binned = typeof grouping !== 'string'
  const column = requireColumn(
    dataset,
    binned ? grouping.column : grouping,
    binned ? `${field}.column` : field,
  )
  const refuse = (rule: string) => refuseField('query-does-not-fit', field, rule)
  if (binned && !isNumeric(column))
    throw refuse(`edges require a numeric column; ${column.name} is not numeric`)
  const nullCell = column.nullable
  const withNull = (labels: readonly CellLabel[]) => (nullCell ? [...labels, null] : labels)
  switch (column.type) {
    case 'category': {
      const key = { kind: 'category', column: column.name, size: column.categories.length, nullCell } as const
      return { column: column.name, key, labels: withNull(column.categories) }
    }
    case 'boolean':
      return {
        column: column.name,
        key: { kind: 'boolean', column: column.name, nullCell },
        labels: withNull([false, true]),
      }
    case 'integer':
    case 'number': {
      if (!binned)
        throw refuse(`${column.name} is numeric: give {"column": "${column.name}", "edges": [...]}`)
      const edges = planEdges(grouping.edges, column, field)
      const labels = grouping.edges
        .slice(1)
        .map((upper, bin) => ({ lower: grouping.edges[bin] ?? upper, upper }))
      return {
        column: column.name,
        key: { kind: 'bins', column: column.name, edges, nullCell },
        labels: withNull(labels),
      }
    }
    case 'string':
      throw refuse(`${column.name} is free text: its values are not declared, so queries cannot group by it`)
  }
}

/** Keys of a table's cells, in their order: the last grouping's labels change fastest. */
export function cellKeys(groupings: readonly Grouping[]): readonly Readonly<Record<string, CellLabel>>[] {
  return groupings.reduce<readonly Record<string, CellLabel>[]>(
    (keys, { column, labels }) => keys.flatMap((key) => labels.map((label) => ({ ...key, [column]: label }))),
    [{}],
  )
}

function planEdges(edges: readonly number[], column: NumericColumn, field: string): readonly bigint[] {
  const indexes = edges.map((edge, position) => {
    const where = `${field}.edges.${position}`
    const nano = decimalFromNumber(edge, 9)
    if (nano === undefined)
      throw refuseField('query-does-not-fit', where, 'must have at most 9 fractional digits')
    const [lowerNano, upperNano] = [column.lowerIndex * column.stepNano, column.upperIndex * column.stepNano]
    if (nano < lowerNano || nano > upperNano) {
      const bounds = `${numberFromDecimal(lowerNano, 9)} and ${numberFromDecimal(upperNano, 9)}`
      throw refuseField(
        'query-does-not-fit',
        where,
        `must lie within the bounds of ${column.name}, ${bounds}`,
      )
    }
    // The last bin includes its upper edge, so that the largest value has a bin.
    const last = position === edges.length - 1
    return last ? divideRoundingDown(nano, column.stepNano) + 1n : indexAtLeast(column, nano)
  })
  const broken = indexes.findIndex((index, position) => {
    const [edge, edgeBefore] = [edges[position], edges[position - 1]]
    const indexBefore = indexes[position - 1]
    if (edge === undefined || edgeBefore === undefined || indexBefore === undefined) return false
    return edge <= edgeBefore || index <= indexBefore
  })
  if (broken !== -1) {
    throw refuseField(
      'query-does-not-fit',
      `${field}.edges.${broken}`,
      'must be greater than the edge before it, by at least one step of the column',
    )
  }
  return indexes
}
