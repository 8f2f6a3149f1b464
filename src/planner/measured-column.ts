import { type Column, type GridColumn, isGrid } from '../catalog/dataset.ts'

/** A column whose values can be added up: a column on a grid, or a boolean, which is 0 or 1. */
export interface MeasuredColumn extends Pick<GridColumn, 'lowerIndex' | 'upperIndex' | 'stepNano'> {
  readonly name: string
  readonly type: GridColumn['type'] | 'boolean'
  readonly nullable: boolean
}

/** Returns a column with its grid; `undefined` for a column whose values cannot be added up. */
export function measuredColumn(column: Column): MeasuredColumn | undefined {
  if (isGrid(column)) return column
  if (column.type !== 'boolean') return undefined
  const { name, type, nullable } = column
  return { name, type, nullable, lowerIndex: 0n, upperIndex: 1n, stepNano: 1_000_000_000n }
}
