import { type BooleanColumn, type GridColumn, isGrid } from '../../dataset/dataset.ts'
import type { Clamp } from './aggregate.ts'

/** A column whose values can be added up: a column on a grid, or a boolean, which is 0 or 1. */
export interface MeasuredColumn extends Pick<GridColumn, 'lowerIndex' | 'upperIndex' | 'stepNano'> {
  readonly name: string
  readonly type: GridColumn['type'] | 'boolean'
  readonly nullable: boolean
  /** Present if a query clamps its values; its bounds are then these. */
  readonly clamp?: Clamp
}

/** Returns a column with its grid. */
export function measuredColumn(column: GridColumn | BooleanColumn): MeasuredColumn {
  if (isGrid(column)) return column
  const { name, type, nullable } = column
  return { name, type, nullable, lowerIndex: 0n, upperIndex: 1n, stepNano: 1_000_000_000n }
}
