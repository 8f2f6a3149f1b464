import type { Column, Dataset, NumericColumn } from '../catalog/dataset.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import { divideRoundingDown, divideRoundingUp } from '../privacy/rational.ts'
import type { Sensitivity } from '../privacy/sensitivity.ts'
import type { Aggregate, Statistic } from './aggregate.ts'
import { isNumeric, requireColumn } from './predicate.ts'

/**
 * How far one statistic of an aggregate, a vector with one integer per cell, moves between neighbouring datasets, in
 * grid units: exact for what the aggregate's shape tells, whatever the predicate is.
 *
 * A row contributes one integer to one cell, or nothing where the predicate or a missing value leaves it out. So with
 * contributions in [lowest, highest] and M the largest magnitude among them:
 * - `add-remove`: one entry moves by at most M; L1 = M, L2^2 = M^2, L-infinity = M.
 * - `change-one`, one cell: the entry moves by at most highest - lowest, where "nothing" contributes 0.
 * - `change-one`, several cells: the row may leave one cell for another, which moves two entries by at most M each,
 *   or stay, which moves one by at most highest - lowest; each norm is the larger of the two.
 *
 * A count of distinct cells moves as a count does: a row that leaves one cell of the domain for another may make one
 * vanish and one appear, but then the two changes cancel.
 *
 * `count` with one cell is no exception under change-one: where every row counts the true figure is 0 (the number of
 * rows is public), but whether a predicate holds for every row cannot be told from its shape, so 1 stands.
 */
export function sensitivityOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Sensitivity {
  const contribution = contributionOf(statistic, aggregate, dataset)
  return sensitivityOfContribution(contribution, dataset.neighbours, aggregate.groupBy.length > 0)
}

/** What one row can add to one cell. */
interface Contribution {
  readonly lowest: bigint
  readonly highest: bigint
}

function sensitivityOfContribution(
  { lowest, highest }: Contribution,
  neighbours: Neighbours,
  severalCells: boolean,
): Sensitivity {
  const magnitude = larger(absolute(lowest), absolute(highest))
  const span = highest - lowest
  switch (neighbours) {
    case 'add-remove':
      return { l1: magnitude, l2Squared: magnitude ** 2n, lInfinity: magnitude }
    case 'change-one':
      return severalCells
        ? {
            l1: larger(2n * magnitude, span),
            l2Squared: larger(2n * magnitude ** 2n, span ** 2n),
            lInfinity: larger(magnitude, span),
          }
        : { l1: span, l2Squared: span ** 2n, lInfinity: span }
  }
}

function contributionOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Contribution {
  switch (statistic.kind) {
    case 'count':
    // A row can be the only one of its cell of the domain, or not: it makes that cell occur, or changes nothing.
    case 'count-distinct':
      return { lowest: 0n, highest: 1n }
    case 'affine-sum':
    case 'affine-square-sum': {
      const column = requireColumn(dataset, statistic.column, 'column')
      if (!isNumeric(column)) throw new RangeError('a sum needs a numeric column')
      const { factor, offset } = statistic
      const values = extremeIndexes(statistic, column).map((index) => factor * index + offset)
      const ends = statistic.kind === 'affine-sum' ? values : values.map((value) => value * value)
      if (mayBeLeftOut(column, aggregate)) ends.push(0n)
      return { lowest: ends.reduce(smaller), highest: ends.reduce(larger) }
    }
  }
}

/** The indexes at which a row's contribution can be least or largest. */
function extremeIndexes(
  { kind, factor, offset }: Extract<Statistic, { factor: bigint }>,
  { lowerIndex, upperIndex }: NumericColumn,
): bigint[] {
  if (kind === 'affine-sum' || factor === 0n) return [lowerIndex, upperIndex]
  // A square is least at the whole numbers around the zero of what is squared, as far as they lie within the bounds.
  const [dividend, divisor] = factor > 0n ? [-offset, factor] : [offset, -factor]
  const around = [divideRoundingDown(dividend, divisor), divideRoundingUp(dividend, divisor)]
  return [lowerIndex, upperIndex, ...around.map((index) => larger(lowerIndex, smaller(index, upperIndex)))]
}

/** Whether a row can contribute nothing at all to any cell: everywhere but in a sum over every row. */
function mayBeLeftOut(column: Column, aggregate: Aggregate): boolean {
  return aggregate.where !== undefined || column.nullable || aggregate.groupBy.length > 0
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
