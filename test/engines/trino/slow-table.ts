import type { Aggregate } from '../../../src/core/planner/language/aggregate.ts'
import type { TableDataset, TableName } from '../../../src/engines/tables/table-engine.ts'
import { column, datasetOf } from '../fixture.ts'

/** Line items of Trino's generator: 60,175 rows in `tiny`, and hours of work in `sf1000`. */
export function lineItems(schema: 'tiny' | 'sf1000'): TableDataset & { readonly table: TableName } {
  return {
    dataset: datasetOf([column.integer('quantity', 0n, 50n), column.integer('linenumber', 1n, 7n)], schema),
    table: { schema, name: 'lineitem' },
    columns: [
      { name: 'quantity', type: 'double', notNull: true },
      { name: 'linenumber', type: 'integer', notNull: true },
    ],
    unit: { kind: 'row' },
  }
}

/** The number of rows and the sum of a column. */
export const COUNT_AND_SUM: Aggregate = {
  groupBy: [],
  statistics: [{ kind: 'count' }, { kind: 'affine-sum', column: 'quantity', factor: 1n, offset: 0n }],
  bounding: { kind: 'one-row-each' },
}

/** The aggregate over `tiny`. */
export const TINY_ANSWER = [[60_175n], [1_536_127n]]
