import type { ClampRequest, ContributionRequest } from '../../../../schemas/answers/query.ts'
import { decimalFromNumber, numberFromDecimal } from '../../../privacy/decimal.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset, NumericColumn } from '../../dataset/dataset.ts'
import { ONE_NANO } from '../../dataset/grid-value.ts'
import type { Bounding, PersonValue } from './aggregate.ts'
import { type Clamped, clampedName, clampField, requireClamped } from './clamp.ts'
import { ANY, type ColumnRule, NUMBERS, requireColumnOf } from './column-rules.ts'
import { mostOfPerson } from './contribution.ts'

/** The request for a value of each person. */
export interface PersonValueRequest {
  readonly kind: PersonValue['kind']
  readonly column: string
  /** Path of the column in the request. */
  readonly field: string
  readonly contribution: ContributionRequest | undefined
  /** Bounds to which the value of each row is clamped. */
  readonly clamp?: ClampRequest | undefined
}

/**
 * Plans a value of each person: the sum, the count or the mean of a column over the person's bounded rows in a cell,
 * which are those where it is not NULL. Its bounds follow from those of the column and the number of rows; `perPerson`
 * bounds narrow them.
 * @returns the value, and its grid in the form of a column, which estimates and reports take
 * @throws Refusal `query-does-not-fit` for a dataset without people, a column that does not fit, or bounds that are
 * reversed, off the grid or out of reach.
 */
export function planPersonValue(
  request: PersonValueRequest,
  dataset: Dataset,
  bounding: Bounding,
): { readonly value: PersonValue; readonly column: NumericColumn } {
  const { kind, column: name, field, contribution } = request
  if (dataset.privacyUnit.kind === 'row') {
    const rule = 'applies to datasets whose privacy unit is a person; here each row is a privacy unit'
    throw refuseQuery(field.replace(/column$/, 'perPerson'), rule)
  }
  const grid = gridOf(request, dataset)
  const column = narrowed(widened(grid, kind, BigInt(mostOfPerson(bounding).rowsPerCell)), contribution)
  const { lowerIndex: lower, upperIndex: upper } = column
  const value = kind === 'count' ? { kind, column: name } : { kind, ...clampedName(grid) }
  return { value: { ...value, lower, upper }, column }
}

/** Columns that each value of a person can be computed from. */
export const PERSON_VALUE_COLUMNS = {
  sum: NUMBERS,
  count: ANY,
  mean: NUMBERS,
} satisfies { readonly [Kind in PersonValue['kind']]: ColumnRule }

/** The grid of one row's contribution to a person's value. */
function gridOf({ kind, field, ...asked }: PersonValueRequest, dataset: Dataset): Clamped<NumericColumn> {
  if (kind !== 'count') return requireClamped(PERSON_VALUE_COLUMNS[kind], dataset, asked, field)
  const { column: name, clamp } = asked
  if (clamp !== undefined)
    throw refuseQuery(clampField(field), 'applies to values of rows, and perPerson "count" counts them')
  const { nullable, invalidValue } = requireColumnOf(PERSON_VALUE_COLUMNS.count, dataset, name, field)
  const ones = { stepNano: ONE_NANO, lowerIndex: 1n, upperIndex: 1n }
  return { name, type: 'integer', nullable, invalidValue, ...ones }
}

/** The grid of the value of 1 to `rows` rows. */
function widened(column: NumericColumn, kind: PersonValue['kind'], rows: bigint): NumericColumn {
  const { lowerIndex, upperIndex } = column
  switch (kind) {
    case 'mean':
      return column
    case 'count':
      // An interval of one number would need no noise, but mechanisms need a range.
      return { ...column, lowerIndex: rows === 1n ? 0n : 1n, upperIndex: rows }
    case 'sum':
      return {
        ...column,
        lowerIndex: lowerIndex < 0n ? rows * lowerIndex : lowerIndex,
        upperIndex: upperIndex > 0n ? rows * upperIndex : upperIndex,
      }
  }
}

/** The part of a grid within the bounds that a query states. */
function narrowed(column: NumericColumn, contribution: ContributionRequest | undefined): NumericColumn {
  const bounds = contribution?.perPerson
  if (bounds === undefined) return column
  const lower = indexOf(bounds.lower, column, 'lower')
  const upper = indexOf(bounds.upper, column, 'upper')
  if (upper <= lower) throw refuseQuery('contribution.perPerson.upper', 'must be greater than lower')
  const lowerIndex = lower > column.lowerIndex ? lower : column.lowerIndex
  const upperIndex = upper < column.upperIndex ? upper : column.upperIndex
  if (lowerIndex < upperIndex) return { ...column, lowerIndex, upperIndex }
  const [least, most] = [column.lowerIndex, column.upperIndex].map((index) =>
    numberFromDecimal(index * column.stepNano, 9),
  )
  const rule = `must overlap with the possible values of one person, from ${least} to ${most}`
  throw refuseQuery('contribution.perPerson', rule)
}

function indexOf(value: number, { name, stepNano }: NumericColumn, end: 'lower' | 'upper'): bigint {
  const field = `contribution.perPerson.${end}`
  const nano = decimalFromNumber(value, 9)
  if (nano !== undefined && nano % stepNano === 0n) return nano / stepNano
  throw refuseQuery(field, `must be a multiple of the step of ${name}, ${numberFromDecimal(stepNano, 9)}`)
}
