import type { ClampRequest, ColumnClamps, GroupStatistic, Query } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import { type Dataset, type GridColumn, isGrid } from '../../dataset/dataset.ts'
import { type GridValue, parseGridValue, valueOfIndex } from '../../dataset/grid-value.ts'
import type { Clamp } from './aggregate.ts'
import { type ColumnRule, requireColumnOf } from './column-rules.ts'
import { columnNamed } from './columns.ts'
import type { MeasuredColumn } from './measured-column.ts'

/*
 * Bounds to which a query clamps the values of a column, within the declared ones. Everything that follows from the
 * bounds of a column follows from them: sensitivity, half-width and the domain of the answer. A clamp that equals the
 * declared bounds changes nothing, and is none.
 */

/** A column whose bounds are those of the clamp, if it has one. */
export type Clamped<Column> = Column & { readonly clamp?: Clamp }

/** The fields of a request that name a column and clamp it. */
export type ClampableColumn = {
  readonly column: string
  readonly clamp?: ClampRequest | undefined
}

/**
 * Returns a column that a field takes, narrowed to the bounds that the query states.
 * @param field path of the column in the request, which ends with `column`
 * @throws Refusal `query-does-not-fit` for a column that does not fit, and as {@link clamped}.
 */
export function requireClamped<Type extends GridColumn['type']>(
  rule: ColumnRule<Type>,
  dataset: Dataset,
  { column, clamp }: ClampableColumn,
  field: string,
): Clamped<Extract<GridColumn, { type: Type }>> {
  const declared: Extract<GridColumn, { type: Type }> = requireColumnOf(rule, dataset, column, field)
  return clamped(declared, clamp, clampField(field))
}

/** The path of the clamp beside a column. */
export function clampField(field: string): string {
  return field.replace(/column$/, 'clamp')
}

/**
 * Narrows a column to the bounds that a query states.
 * @param field path of the clamp in the request
 * @throws Refusal `query-does-not-fit` for an end that is no value of the column, off its grid or beyond its bounds, and
 * for ends that are equal or reversed.
 */
export function clamped<Column extends GridColumn>(
  column: Column,
  request: ClampRequest | undefined,
  field: string,
): Clamped<Column> {
  if (request === undefined) return column
  const lower = indexOf(column, request.lower, `${field}.lower`)
  const upper = indexOf(column, request.upper, `${field}.upper`)
  if (lower >= upper) throw refuseQuery(`${field}.upper`, 'must be greater than lower')
  if (lower === column.lowerIndex && upper === column.upperIndex) return column
  const narrowed: Column = { ...column, lowerIndex: lower, upperIndex: upper }
  return Object.assign(narrowed, { clamp: { lower, upper } })
}

function indexOf(column: GridColumn, value: GridValue, field: string): bigint {
  const { name, type, stepNano, lowerIndex, upperIndex } = column
  const parsed = parseGridValue(type, value)
  if ('rule' in parsed) throw refuseQuery(field, parsed.rule)
  const [least, most] = [lowerIndex, upperIndex].map((index) => valueOfIndex(column, index))
  if (parsed.nano < lowerIndex * stepNano || parsed.nano > upperIndex * stepNano)
    throw refuseQuery(field, `must lie within the declared bounds of ${name}, ${least} and ${most}`)
  if (parsed.nano % stepNano === 0n) return parsed.nano / stepNano
  const step = valueOfIndex({ type: 'number', stepNano }, 1n)
  throw refuseQuery(field, `must be a multiple of the step of ${name}, ${step}`)
}

/** A column as an aggregate names it, with its clamp. */
export function clampedName({ name, clamp }: Pick<MeasuredColumn, 'name' | 'clamp'>) {
  return { column: name, ...defined({ clamp }) }
}

/** Returns the clamp of one of the columns that a query lists, and its path in the request. */
export function clampOf(
  clamps: ColumnClamps | undefined,
  name: string,
): { readonly request: ClampRequest | undefined; readonly field: string } {
  const request = clamps !== undefined && Object.hasOwn(clamps, name) ? clamps[name] : undefined
  return { request, field: `clamp.${name}` }
}

/** @throws Refusal `query-does-not-fit` for a clamp of a column that is not one of these. */
export function requireClampsOf(names: readonly string[], clamps: ColumnClamps = {}): void {
  const other = Object.keys(clamps).find((name) => !names.includes(name))
  if (other === undefined) return
  throw refuseQuery(`clamp.${other}`, `must be a column of the query, ${names.join(' or ')}`)
}

/** The fields that name a column and clamp it, in normal form: without a clamp that is none. */
export function normalClamp({ column, clamp }: ClampableColumn, dataset: Dataset): ClampableColumn {
  return normalized({ column, clamp }, dataset, 'clamp')
}

function normalized({ column, clamp }: ClampableColumn, dataset: Dataset, field: string): ClampableColumn {
  return { column, ...defined({ clamp: statedClamp(column, clamp, dataset, field) }) }
}

/**
 * Returns a text that is the same for two statistics that add up the same values.
 * @param field path of the statistic in the request
 * @throws Refusal as {@link clamped}
 */
export function clampKey(asked: ClampableColumn, dataset: Dataset, field: string): string {
  return JSON.stringify(normalized(asked, dataset, `${field}.clamp`))
}

/** Clamps of several columns in normal form; as {@link normalClamp}. */
export function normalClamps(
  clamps: ColumnClamps | undefined,
  dataset: Dataset,
): { readonly clamp?: ColumnClamps } {
  const stated = Object.entries(clamps ?? {}).flatMap(([name, request]) => {
    const clamp = statedClamp(name, request, dataset)
    return clamp === undefined ? [] : [[name, clamp] as const]
  })
  if (stated.length === 0) return {}
  return { clamp: Object.fromEntries(stated.sort(([one], [other]) => (one < other ? -1 : 1))) }
}

/** A clamp as answers show it; `undefined` if it is none. */
function statedClamp(
  name: string,
  request: ClampRequest | undefined,
  dataset: Dataset,
  field = 'clamp',
): ClampRequest | undefined {
  const column = columnNamed(dataset, name)
  if (column === undefined || !isGrid(column)) return undefined
  return shownClamp(clamped(column, request, field))
}

/** The clamp of a column as answers show it; `undefined` if it is none. */
export function shownClamp(column: Clamped<GridColumn>): ClampRequest | undefined {
  const { clamp } = column
  return clamp && { lower: valueOfIndex(column, clamp.lower), upper: valueOfIndex(column, clamp.upper) }
}

/** The columns whose values a query clamps, with the bounds. */
export function clampsOf(
  query: Query,
  dataset: Dataset,
): readonly (ClampRequest & { readonly column: string })[] {
  const asked = 'statistics' in query ? query.statistics.flatMap(askedClamps) : askedClamps(query)
  return asked.flatMap(({ column, clamp }) => {
    const stated = statedClamp(column, clamp, dataset)
    return stated === undefined ? [] : [{ column, ...stated }]
  })
}

function askedClamps(asked: Query | GroupStatistic) {
  if (!('clamp' in asked) || asked.clamp === undefined) return []
  if ('column' in asked) return [{ column: asked.column, clamp: asked.clamp }]
  return Object.entries(asked.clamp).map(([column, clamp]) => ({ column, clamp }))
}
