import type { PairQuery, RegressionQuery } from '../../schemas/query.ts'
import { refuseField } from '../privacy/refusal.ts'
import type { Estimate, Sources } from './additive.ts'
import { type AffineTerm, LARGEST_SQUARED_INDEX, type Predicate } from './aggregate.ts'
import type { Values } from './column-values.ts'
import { columnRange } from './estimates/estimator.ts'
import type { Moment } from './estimates/moments.ts'
import { type MeasuredColumn, measuredColumn } from './measured-column.ts'
import { type Rows, rowsOf } from './normal-predicate.ts'
import { requireColumn } from './predicate.ts'

/*
 * Plans the sums of products that covariances, correlations and regressions are computed from. Every column is centred
 * at the middle of its range, in half steps, so that its values are whole numbers and a row moves a sum by as little as
 * possible. A row in which one of the columns is NULL is excluded from all sums.
 */

/**
 * Plans the covariance or correlation of two columns.
 * @throws Refusal `query-does-not-fit` as {@link planMomentColumns} does.
 */
export function planPair(query: PairQuery, sources: Sources): Estimate {
  const [one, other] = planMomentColumns(query.columns, (place) => `columns.${place}`, sources)
  if (one === undefined || other === undefined) throw new RangeError('a pair has two columns')
  const columns = [one, other] as const
  const moments = momentsOf(columns, sources)
  const pair = {
    products: moments.product(one, other),
    sum: moments.sum(one),
    otherSum: moments.sum(other),
    rows: moments.rows(),
  }
  if (query.kind === 'covariance') return { kind: 'covariance', columns, moments: pair }
  const squares = [moments.product(one, one), moments.product(other, other)] as const
  return { kind: 'correlation', columns, moments: pair, squares }
}

/** Largest ridge that a query may declare. */
const LARGEST_RIDGE = 1e12

/**
 * Plans a linear regression: its intercept, then the coefficient of each predictor.
 * @throws Refusal `query-does-not-fit` as {@link planMomentColumns} does; `invalid-request` for a ridge out of range.
 */
export function planRegression(query: RegressionQuery, sources: Sources): readonly Estimate[] {
  const { ridge } = query
  if (ridge !== undefined && !(ridge >= 0 && ridge <= LARGEST_RIDGE))
    throw refuseField('invalid-request', 'ridge', `must be at least 0 and at most ${LARGEST_RIDGE}`)
  const columns = planMomentColumns(
    [query.outcome, ...query.predictors],
    (place) => (place === 0 ? 'outcome' : `predictors.${place - 1}`),
    sources,
  )
  const [outcome, ...predictors] = columns
  if (outcome === undefined) throw new RangeError('a regression has an outcome')
  const moments = momentsOf(columns, sources)
  const gram = [
    [moments.rows(), ...predictors.map(moments.sum)],
    ...predictors.map((one) => [
      moments.sum(one),
      ...predictors.map((other) =>
        predictors.indexOf(one) <= predictors.indexOf(other)
          ? moments.product(one, other)
          : moments.product(other, one),
      ),
    ]),
  ]
  const products = [
    moments.sum(outcome),
    ...predictors.map((predictor) => moments.product(predictor, outcome)),
  ]
  const regression = { outcome, predictors, gram, products, ...(ridge === undefined ? {} : { ridge }) }
  return products.map((_, place) => ({ kind: 'coefficient', columns, regression, place }))
}

/**
 * Returns the columns of sums of products.
 * @throws Refusal `query-does-not-fit` for a column that is neither numeric nor boolean, is repeated, has a single
 * value among the rows that the query counts, or has bounds too large to multiply.
 */
export function planMomentColumns(
  names: readonly string[],
  fieldOf: (place: number) => string,
  { dataset, where }: Pick<Sources, 'dataset' | 'where'>,
): readonly MeasuredColumn[] {
  return names.map((name, place) => {
    const field = fieldOf(place)
    const refuse = (rule: string) => refuseField('query-does-not-fit', field, rule)
    const column = requireColumn(dataset, name, field)
    const grid = measuredColumn(column)
    if (grid === undefined)
      throw refuse(`must be numeric, boolean or temporal, and ${name} is of type ${column.type}`)
    if (names.indexOf(name) < place) throw refuse('must not repeat an earlier column')
    if (where !== undefined && (isFixed(name, where) || hasOneValue(name, rowsOf(where, dataset))))
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
function centered({ name, lowerIndex, upperIndex }: MeasuredColumn): AffineTerm {
  return { column: name, factor: 2n, offset: -(lowerIndex + upperIndex) }
}

/** True if a predicate can hold only for one value of a column, as far as a look at its conjuncts shows. */
function isFixed(name: string, predicate: Predicate): boolean {
  switch (predicate.kind) {
    case 'and':
      return predicate.predicates.some((operand) => isFixed(name, operand))
    case 'or':
      return predicate.predicates.length === 1 && predicate.predicates.every((only) => isFixed(name, only))
    case 'index-between':
      return predicate.column === name && predicate.lower !== undefined && predicate.lower === predicate.upper
    case 'index-in':
      return predicate.column === name && new Set(predicate.indexes).size === 1
    case 'boolean-is':
      return predicate.column === name
    default:
      return false
  }
}

/** True if all rows have one value of a column, in whatever way the predicate is written. */
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
  throw refuseField(
    'query-does-not-fit',
    field,
    `needs bounds within ${LARGEST_SQUARED_INDEX} steps of 0; the bounds of ${column.name} are larger`,
  )
}
