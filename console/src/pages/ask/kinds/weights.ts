import { columnsIn, combinations, setsOf } from '../../../../../src/core/workloads/column-sets.ts'
import { fieldValue } from '../question/question.ts'

/** Most tables that are listed; the weights of more are one text. */
const MOST_LISTED = 60

/** Returns the columns of each table of a question of marginals, in the order of its weights; none of too many tables. */
export function tablesAsked(asked: object): readonly (readonly string[])[] {
  const groupings = (fieldValue(asked, 'columns') ?? []) as readonly (string | { readonly column: string })[]
  const names = groupings.map((each) => (typeof each === 'string' ? each : each.column))
  const ways = [fieldValue(asked, 'ways') ?? []]
    .flat()
    .map(Number)
    .filter((each) => Number.isInteger(each) && each >= 1 && each <= names.length)
  const count = ways.reduce((sum, each) => sum + combinations(names.length, each), 0)
  if (count > MOST_LISTED) return []
  return ways
    .flatMap((each) => setsOf(each, names.length))
    .map((set) => columnsIn(set).flatMap((column) => names[column] ?? []))
}

/** True for weights of other tables than those that a question asks for. */
export function isMisfit(weights: unknown, asked: object): boolean {
  const tables = tablesAsked(asked)
  return weights !== undefined && tables.length > 0 && [weights].flat().length !== tables.length
}
