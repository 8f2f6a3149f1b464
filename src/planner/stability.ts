import type { Column, Dataset, NumericColumn } from '../catalog/dataset.ts'
import type { RankScore } from '../mechanisms/quantile.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import { divideRoundingDown, divideRoundingUp } from '../privacy/rational.ts'
import type { ScoreSensitivity, Stability } from '../privacy/sensitivity.ts'
import type { Aggregate, Statistic } from './aggregate.ts'
import { isNumeric, requireColumn } from './predicate.ts'

/*
 * The stability of everything that is computed from rows: how far one privacy unit moves it between neighbouring
 * datasets, as exact integers that follow from public facts. Every kind of plan, sessions and batches take their
 * sensitivities from this file, and mechanisms take them as parameters.
 *
 * The privacy unit is one row. Under `add-remove` one row is in one of two neighbours only. Under `change-one` one row
 * is replaced: one row is in the first only, and one in the second only.
 */

/**
 * Stability of one statistic of an aggregate, a vector with one integer per cell, in grid units. It holds for every
 * predicate, because only the aggregate's shape is considered.
 *
 * A row contributes one integer to one cell, or nothing where the predicate or a missing value excludes it. With
 * contributions in [lowest, highest] and M the largest magnitude among them:
 * - `add-remove`: one entry moves by at most M; L0 = 1, L1 = M, L2^2 = M^2, L-infinity = M.
 * - `change-one`, one cell: the entry moves by at most highest - lowest, where an excluded row contributes 0.
 * - `change-one`, several cells: the row either leaves one cell for another, which moves two entries by at most M each,
 *   or stays, which moves one entry by at most highest - lowest. Each norm is the larger of the two.
 *
 * A count of distinct cells moves as a count does: a row that leaves one cell of the domain for another can make one
 * cell empty and another occupied, but these two changes cancel.
 *
 * `count` with one cell is no exception under change-one. Where every row counts, the true figure is 0, because the
 * number of rows is public; but whether a predicate holds for every row cannot be decided from its shape, so 1 stands.
 */
export function stabilityOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Stability {
  const contribution = contributionOf(statistic, aggregate, dataset)
  switch (dataset.privacyUnit.kind) {
    case 'row':
      return stabilityOfContribution(contribution, dataset.neighbours, aggregate.groupBy.length > 0)
  }
}

/**
 * Stability of counts of rows, one for each of any number of predicates, in rows. Each count moves by at most 1. A row
 * added lowers no count and a row removed raises none, so under `add-remove` all counts move in the same direction; a
 * row replaced can raise one count and lower another.
 */
export function stabilityOfCounts({ privacyUnit, neighbours }: Dataset): ScoreSensitivity {
  switch (privacyUnit.kind) {
    case 'row':
      return { sensitivity: 1n, monotonic: neighbours === 'add-remove' }
  }
}

/**
 * Stability of a rank score, in units of the score. A row added or removed moves the sum of weights by one of the two
 * weights; a row replaced moves it by their difference at most. Some grid points gain while others lose, so scores are
 * monotonic under neither kind of neighbours.
 */
export function stabilityOfRank(
  { below, above }: RankScore,
  { privacyUnit, neighbours }: Dataset,
): ScoreSensitivity {
  switch (privacyUnit.kind) {
    case 'row': {
      const weight = larger(absolute(below), absolute(above))
      return { sensitivity: neighbours === 'add-remove' ? weight : below - above, monotonic: false }
    }
  }
}

/**
 * Stability of the counts of a column's values, one entry per value that occurs in either dataset, in rows. A row has
 * one value: a row added or removed moves one entry, a row replaced moves up to two.
 */
export function stabilityOfValueCounts({ privacyUnit, neighbours }: Dataset): Stability {
  switch (privacyUnit.kind) {
    case 'row': {
      const values = neighbours === 'add-remove' ? 1n : 2n
      return { l0: values, l1: values, l2Squared: values, lInfinity: 1n }
    }
  }
}

/**
 * The number of queries, among any that are pairwise disjoint (no row counts in two of them), whose rows differ between
 * neighbours. A row added or removed counts in one of them; a row replaced can leave one and enter another.
 */
export function disjointQueriesMoved({ privacyUnit, neighbours }: Dataset): number {
  switch (privacyUnit.kind) {
    case 'row':
      return neighbours === 'add-remove' ? 1 : 2
  }
}

/** Range of the integer that one row adds to its cell. */
interface Contribution {
  readonly lowest: bigint
  readonly highest: bigint
}

function stabilityOfContribution(
  { lowest, highest }: Contribution,
  neighbours: Neighbours,
  severalCells: boolean,
): Stability {
  const magnitude = larger(absolute(lowest), absolute(highest))
  const span = highest - lowest
  // Entries that some contribution moves at all.
  const entries = (most: bigint, distance: bigint) => (distance === 0n ? 0n : most)
  switch (neighbours) {
    case 'add-remove':
      return { l0: entries(1n, magnitude), l1: magnitude, l2Squared: magnitude ** 2n, lInfinity: magnitude }
    case 'change-one':
      return severalCells
        ? {
            l0: entries(2n, magnitude),
            l1: larger(2n * magnitude, span),
            l2Squared: larger(2n * magnitude ** 2n, span ** 2n),
            lInfinity: larger(magnitude, span),
          }
        : { l0: entries(1n, span), l1: span, l2Squared: span ** 2n, lInfinity: span }
  }
}

function contributionOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Contribution {
  switch (statistic.kind) {
    case 'count':
    // A row is the only one in its cell of the domain, and makes that cell occur, or it changes nothing.
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

/** Indexes at which a row's contribution can be smallest or largest. */
function extremeIndexes(
  { kind, factor, offset }: Extract<Statistic, { factor: bigint }>,
  { lowerIndex, upperIndex }: NumericColumn,
): bigint[] {
  if (kind === 'affine-sum' || factor === 0n) return [lowerIndex, upperIndex]
  // The square is smallest at the whole numbers around the zero of the squared expression, clamped to the bounds.
  const [dividend, divisor] = factor > 0n ? [-offset, factor] : [offset, -factor]
  const around = [divideRoundingDown(dividend, divisor), divideRoundingUp(dividend, divisor)]
  return [lowerIndex, upperIndex, ...around.map((index) => larger(lowerIndex, smaller(index, upperIndex)))]
}

/** True if a row can contribute nothing to any cell. False only for a sum over every row. */
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
