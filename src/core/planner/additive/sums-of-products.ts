import type { ColumnClamps } from '../../../../schemas/answers/query.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Values } from '../identity/column-values.ts'
import { type Rows, rowsOf } from '../identity/normal-predicate.ts'
import { type AffineTerm, LARGEST_SQUARED_INDEX } from '../language/aggregate.ts'
import { clamped, clampedName, clampOf, requireClampsOf } from '../language/clamp.ts'
import { MULTIPLIED, requireColumnOf } from '../language/column-rules.ts'
import { type MeasuredColumn, measuredColumn } from '../language/measured-column.ts'
import { columnRange } from './estimates/estimator.ts'
import type { Moment, Sources } from './shape.ts'

/*
 * Plans the sums of products that covariances, correlations and regressions are computed from. Every column is centred
 * at the middle of its range, in half steps, so that its values are whole numbers and a row moves a sum by as little as
 * possible. A row in which one of the columns is NULL is excluded from all sums.
 */

/**
 * Returns the columns of sums of products.
 * @throws Refusal `query-does-not-fit` for a column that is neither numeric nor boolean, is repeated, has a single
 * value among the rows that the query counts, or has bounds too large to multiply.
 */
export function planMomentColumns(
  names: readonly string[],
  fieldOf: (place: number) => string,
  clamps: ColumnClamps | undefined,
  { dataset, where }: Pick<Sources, 'dataset' | 'where'>,
): readonly MeasuredColumn[] {
  requireClampsOf(names, clamps)
  return names.map((name, place) => {
    const field = fieldOf(place)
    const refuse = (rule: string) => refuseQuery(field, rule)
    const column = requireColumnOf(MULTIPLIED, dataset, name, field)
    const { request, field: clampField } = clampOf(clamps, name)
    if (column.type === 'boolean' && request !== undefined)
      throw refuseQuery(clampField, `must be a column of numbers, dates or timestamps; ${name} is boolean`)
    const grid = measuredColumn(column.type === 'boolean' ? column : clamped(column, request, clampField))
    if (names.indexOf(name) < place) throw refuse('must not repeat an earlier column')
    if (where !== undefined && hasOneValue(name, rowsOf(where, dataset)))
      throw refuse(`must not be constant, and where allows a single value of ${name}`)
    requireProducts(grid, field)
    return grid
  })
}

/** Places the sums over the rows in which none of these columns is NULL, each in the unit from -1 to 1. */
export function momentsOf(
  columns: readonly MeasuredColumn[],
  { dataset, everyRow, place, exclude }: Sources,
) {
  const nullable = columns.filter((column) => column.nullable)
  for (const { name } of nullable) exclude({ kind: 'is-null', column: name })
  const publicRows = everyRow && nullable.length === 0 ? dataset.rows : undefined
  const rows = (): Moment =>
    publicRows === undefined
      ? { kind: 'noisy', statistic: place({ kind: 'count' }), scale: 1 }
      : { kind: 'public', value: publicRows }
  const noisy = (statistic: Parameters<typeof place>[0], ...factors: readonly MeasuredColumn[]): Moment => ({
    kind: 'noisy',
    statistic: place(statistic),
    scale: factors.reduce((scale, column) => scale / columnRange(column).halfRange, 1),
  })
  return {
    rows,
    sum: (column: MeasuredColumn): Moment => noisy({ kind: 'affine-sum', ...centered(column) }, column),
    product(one: MeasuredColumn, other: MeasuredColumn): Moment {
      if (one.name !== other.name)
        return noisy({ kind: 'affine-product-sum', terms: [centered(one), centered(other)] }, one, other)
      // The centred values of a boolean are -1 and 1.
      return one.type === 'boolean'
        ? rows()
        : noisy({ kind: 'affine-square-sum', ...centered(one) }, one, one)
    },
  }
}

/** The value of a column about the middle of its range, in half steps. */
function centered(column: MeasuredColumn): AffineTerm {
  return { ...clampedName(column), factor: 2n, offset: -(column.lowerIndex + column.upperIndex) }
}

/** True if all rows have one value of a column. */
function hasOneValue(name: string, rows: Rows): boolean {
  switch (rows.kind) {
    case 'values':
      return rows.column.name === name && !rows.values.missing && isSingle(rows.values)
    case 'and':
      return rows.operands.some((operand) => hasOneValue(name, operand.rows))
    case 'or':
    case 'every':
    case 'none':
      return false
  }
}

function isSingle({ present }: Values): boolean {
  if (present.kind === 'texts') return false
  const [interval, ...others] = present.intervals
  return interval !== undefined && others.length === 0 && interval[0] === interval[1]
}

/** @throws Refusal `query-does-not-fit` for a column whose indexes are too large to be multiplied. */
export function requireProducts(column: MeasuredColumn, field: string): void {
  if (-column.lowerIndex <= LARGEST_SQUARED_INDEX && column.upperIndex <= LARGEST_SQUARED_INDEX) return
  throw refuseQuery(
    field,
    `needs bounds within ${LARGEST_SQUARED_INDEX} steps of 0; the bounds of ${column.name} are larger`,
  )
}
