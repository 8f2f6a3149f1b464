import type { Schemas } from '../../api/schemas.ts'
import type { DatasetFacts } from '../datasets/dataset.ts'

export type QueryBody = Schemas['Query']

export interface TypicalQuery {
  readonly title: string
  readonly query: QueryBody
  /** Unit of the half-width; empty for the unit of a column. */
  readonly unit: string
  /** Number that the half-width may be compared with: the supposed rows, or the width of a column's range. */
  readonly whole?: number
}

/**
 * Returns questions that analysts typically ask of a dataset with these columns, without an epsilon: a count, a
 * histogram, a table, a mean and a sum.
 * @param rows that each question is supposed to cover
 */
export function typicalQueries(
  { columns, privacyUnit }: DatasetFacts,
  rows: number,
): readonly TypicalQuery[] {
  const people = privacyUnit.kind === 'person'
  const counted = people ? ({ of: 'people' } as const) : {}
  const unit = people ? 'people' : 'rows'
  const [first, second] = columns.flatMap((column) =>
    column.type === 'category' || column.type === 'boolean' ? [column.name] : [],
  )
  const [number] = columns.flatMap((column) =>
    column.type === 'integer' || column.type === 'number' ? [column] : [],
  )
  const queries: TypicalQuery[] = [
    { title: `Number of ${unit}`, query: { kind: 'count', ...counted }, unit, whole: rows },
  ]
  if (first !== undefined)
    queries.push({
      title: `Number of ${unit} by ${first}, each`,
      query: { kind: 'histogram', column: first, ...counted },
      unit,
      whole: rows,
    })
  if (first !== undefined && second !== undefined)
    queries.push({
      title: `Number of ${unit} by ${first} and ${second}, each`,
      query: { kind: 'contingency', columns: [first, second], ...counted },
      unit,
      whole: rows,
    })
  if (number !== undefined)
    queries.push(
      {
        title: `Mean of ${number.name}`,
        query: { kind: 'mean', column: number.name, supposed: { rows } },
        unit: '',
        whole: number.upper - number.lower,
      },
      { title: `Sum of ${number.name}`, query: { kind: 'sum', column: number.name }, unit: '' },
    )
  return queries
}

/** Returns one batch with every question at every epsilon, ordered by epsilon. */
export function atEpsilons(queries: readonly TypicalQuery[], epsilons: readonly number[]): QueryBody[] {
  return epsilons.flatMap((epsilon) => queries.map(({ query }) => ({ ...query, epsilon }) as QueryBody))
}

/** Epsilons of a curve: evenly spaced on a logarithmic scale, with the digits that the service accepts. */
export function epsilonsBetween(lower: number, upper: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) =>
    Number((lower * (upper / lower) ** (index / (count - 1))).toPrecision(3)),
  )
}

/** Returns the epsilons that the limits of a dataset allow for a query. */
export function allowedEpsilons(
  epsilons: readonly number[],
  { minEpsilon = 0, maxEpsilon = Number.POSITIVE_INFINITY }: Schemas['QueryLimits'],
): readonly number[] {
  return epsilons.filter((epsilon) => epsilon >= minEpsilon && epsilon <= maxEpsilon)
}
