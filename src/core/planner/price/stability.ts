import { entry } from '../../../privacy/must.ts'
import type { Neighbours } from '../../../privacy/neighbours.ts'
import { divideRoundingDown, divideRoundingUp } from '../../../privacy/rational.ts'
import type { KeySensitivity, ScoreSensitivity, Sensitivity } from '../../../privacy/sensitivity.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import type { RankScore } from '../../mechanisms/selection/quantile.ts'
import type { Disjoint } from '../identity/disjoint.ts'
import {
  type AffineTerm,
  type Aggregate,
  type Bounding,
  cellCount,
  countsRowsOfPeople,
  type GroupKey,
  groupKeySize,
  type PersonValue,
  type Statistic,
} from '../language/aggregate.ts'
import { MULTIPLIED, requireColumn, requireColumnOf } from '../language/column-rules.ts'
import { columnNamed } from '../language/columns.ts'
import type { Cells } from '../language/contribution.ts'
import { type MeasuredColumn, measuredColumn } from '../language/measured-column.ts'

/*
 * The stability of everything that is computed from rows: how far one privacy unit moves it between neighbouring
 * datasets, as exact integers that follow from public facts. Every kind of plan, sessions and batches take their
 * sensitivities from this file, and mechanisms take them as parameters.
 *
 * The privacy unit is one row, or one person with several rows. Under `add-remove` one unit, with all its rows, is in
 * one of two neighbours only. Under `change-one` one unit is replaced: one is in the first only, and one in the second
 * only. Proofs: src/core/planner/price/contribution-bounding.md.
 */

/**
 * Stability of one statistic of an aggregate, a vector with one integer per cell, in grid units. It holds for every
 * predicate, because only the aggregate's shape is considered.
 *
 * A unit contributes to the vector what its bounded rows add up to. Let it have at most T rows (or values), at most r
 * of them in one cell, in at most g cells, each adding an integer of [lowest, highest] with M the largest magnitude.
 * Then
 * - `add-remove`: L0 = min(g, T), L-infinity = min(r, T) M, L1 = T M, L2^2 = S M^2, where S is the largest sum of
 *   squared numbers of rows per cell: as many cells with r rows as T allows, and one with the rest.
 * - `change-one`, one cell: the entry moves by at most the difference of the largest and the smallest contribution,
 *   where an excluded unit contributes 0.
 * - `change-one`, several cells: the contributions of two units are subtracted, so L0 and L1 double, L-infinity is the
 *   span of one cell, and L2^2 depends on whether contributions can have both signs. No more cells change than there
 *   are, and each by at most the span.
 *
 * A count of distinct cells moves at most as a count of rows does: each row makes at most one cell of the domain occur.
 * A unit makes at most as many occur as its rows can be in.
 *
 * `count` with one cell is no exception under change-one. Where every row counts and units are rows, the true figure is
 * 0, because the number of rows is public; but whether a predicate holds for every row cannot be decided from its
 * shape, so 1 stands.
 */
export function stabilityOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Sensitivity {
  const contribution = contributionOf(statistic, aggregate, dataset)
  return stabilityOfContribution(contribution, dataset.neighbours, BigInt(cellCount(aggregate)))
}

/**
 * Sensitivity to which noise is added to a statistic: its stability, or one unit for a statistic that no unit moves,
 * because mechanisms need a sensitivity above 0. Under `change-one`, the sum of squares about the middle of a column
 * with two values is such a statistic.
 */
export function sensitivityOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Sensitivity {
  const stability = stabilityOf(statistic, aggregate, dataset)
  return stability.lInfinity === 0n ? ONE_UNIT : stability
}

/** Sensitivities of several vectors, and how far one unit moves them together. */
export interface JointSensitivity {
  readonly sensitivities: readonly Sensitivity[]
  /** Moves, as the sensitivity of each vector to them: no neighbours cost more than one of these. */
  readonly moves: readonly (readonly Sensitivity[])[]
}

/**
 * Sensitivities of the Haar nodes over the cells of a count (`src/core/workloads/ordered.ts`): of the number of all rows, then
 * of the differences of each level, from the one node of all cells to those of two cells. A row adds 1 or -1 to one difference
 * of each level. Of the cells in which a unit has rows, as many can be in one half of a node as it has cells.
 *
 * Under `change-one`, the nodes of a unit's rows and of those that replace them are the same down to the one that has them in
 * different halves. With all T rows of a unit in one cell, the worst pairs are: one that is left out, which moves every level
 * by T, and one for each level that divides them, which moves none above it, one node of it by 2 T, and two of each level
 * below it by T. Proof: src/core/workloads/workloads.md, "Sensitivity".
 * @param levels number of levels; the cells are the first of 2^levels
 */
export function sensitivitiesOfHaarNodes(
  aggregate: Aggregate,
  levels: number,
  dataset: Dataset,
): JointSensitivity {
  const contribution = contributionOf(entry(aggregate.statistics, 0), aggregate, dataset)
  const { terms, termsPerCell, cells } = contribution
  const ofHalves = (cellsInHalf: bigint, nodes: bigint, lowest: bigint) => {
    const inOneHalf = smaller(terms, termsPerCell * smaller(cells, cellsInHalf))
    const moved = smaller(cells, nodes)
    // Rows in both halves of a node cancel.
    const apart = smaller(terms, moved * inOneHalf)
    const ofNodes = { ...contribution, terms: apart, termsPerCell: inOneHalf, cells: moved, lowest }
    return stabilityOfContribution(ofNodes, dataset.neighbours, nodes)
  }
  const differences = Array.from({ length: levels }, (_, level) =>
    ofHalves(2n ** BigInt(levels - level - 1), 2n ** BigInt(level), -1n),
  )
  const sensitivities = [ofHalves(2n ** BigInt(levels), 1n, 0n), ...differences]
  if (dataset.neighbours === 'add-remove' || termsPerCell < terms)
    return { sensitivities, moves: [sensitivities] }
  /** @param nodesOf how many nodes of a level move, and how often by all rows of a unit */
  const moveOf = (nodesOf: (level: number) => readonly [nodes: bigint, times: bigint]) =>
    sensitivities.map(({ l0 }, level) => {
      const [nodes, times] = nodesOf(level)
      const lInfinity = times * terms
      return { l0, l1: nodes * lInfinity, l2Squared: nodes * lInfinity ** 2n, lInfinity }
    })
  const left = moveOf(() => [1n, 1n])
  const divided = differences.map((_, above) =>
    moveOf((level) => (level <= above ? [0n, 0n] : level === above + 1 ? [1n, 2n] : [2n, 1n])),
  )
  return { sensitivities, moves: [left, ...divided] }
}

const ONE_UNIT: Sensitivity = { l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n }

/** Subject of the counts of a noisy maximum or a session, and the bounding of each unit's rows. */
export interface Counted {
  readonly of: 'rows' | 'people'
  readonly bounding: Bounding
}

/**
 * Stability of counts of rows or people, one for each of any number of predicates or cells. A unit added lowers no
 * count and a unit removed raises none, so under `add-remove` all counts move in the same direction; a unit replaced
 * can raise one count and lower another. A person moves a count of people by 1, and a count of rows by at most the
 * number of rows that bounding leaves in one cell.
 */
export function stabilityOfCounts({ of, bounding }: Counted, dataset: Dataset): ScoreSensitivity {
  const { rows, rowsPerCell } = rowBounds(bounding, dataset)
  return {
    sensitivity: of === 'people' ? 1n : smaller(rows, rowsPerCell),
    monotonic: dataset.neighbours === 'add-remove',
  }
}

/**
 * Stability of a rank score, in units of the score. A row (or a person's value) added or removed moves the sum of
 * weights by one of the two weights; one replaced moves it by their difference at most. A person does so once for each
 * of its rows. With a score in each of several cells it is the sum over the cells: a row replaced can leave one cell
 * for another, and moves two scores by a weight each. Some grid points gain while others lose, so scores are monotonic
 * under neither kind of neighbours.
 */
export function stabilityOfRank(
  { below, above }: RankScore,
  { of, bounding }: Counted,
  dataset: Dataset,
  cells: Cells = 'one',
): ScoreSensitivity {
  const bounds = rowBounds(bounding, dataset)
  const values = cells === 'groups' ? smaller(bounds.rows, bounds.cells ?? bounds.rows) : 1n
  const terms = of === 'people' ? values : bounds.rows
  const weight = larger(absolute(below), absolute(above))
  // A row that does not count has no weight; a person may be replaced by one with fewer rows.
  const ends = [below, above, 0n]
  const replaced = cells === 'groups' ? 2n * weight : ends.reduce(larger) - ends.reduce(smaller)
  return { sensitivity: terms * (dataset.neighbours === 'add-remove' ? weight : replaced), monotonic: false }
}

/**
 * Stability of the counts of a column's values, one entry per value that occurs in either dataset. A row has one value:
 * a row added or removed moves one entry by 1, a row replaced moves up to two. A person counts once for each of at most
 * `groups` values (or as many as it has rows), and replacing a person moves up to twice as many.
 */
export function stabilityOfValueCounts(bounding: Bounding, dataset: Dataset): KeySensitivity {
  const { rows, cells = rows } = rowBounds(bounding, dataset)
  const rising = smaller(rows, cells)
  const values = dataset.neighbours === 'add-remove' ? rising : 2n * rising
  return { l0: values, l1: values, l2Squared: values, lInfinity: 1n, rising }
}

/**
 * The number of queries, among any that are pairwise disjoint, whose rows differ between neighbours. If no unit counts
 * in two of them, a unit added or removed counts in one; if no row does, a unit counts in at most as many as it has
 * rows. A unit replaced can leave as many queries as it enters.
 */
export function disjointQueriesMoved(disjoint: Disjoint, { privacyUnit, neighbours }: Dataset): number {
  const each = disjoint === 'units' || privacyUnit.kind === 'row' ? 1 : privacyUnit.maxRows
  return neighbours === 'add-remove' ? each : 2 * each
}

/** Bounds on the rows of one unit. */
interface RowBounds {
  /** In all cells together. */
  readonly rows: bigint
  readonly rowsPerCell: bigint
  /** Number of cells; absent if only the number of rows limits it. */
  readonly cells?: bigint
}

/** A person is in one bin of the number of rows, however many there are. */
const ONCE: RowBounds = { rows: 1n, rowsPerCell: 1n }

function rowBounds(bounding: Bounding, { privacyUnit }: Dataset): RowBounds {
  if (privacyUnit.kind === 'row') {
    if (bounding.kind !== 'one-row-each') throw new RangeError('a row needs no bounding')
    return { rows: 1n, rowsPerCell: 1n }
  }
  const most = BigInt(privacyUnit.maxRows)
  switch (bounding.kind) {
    case 'one-row-each':
      throw new RangeError('people with several rows need bounding')
    case 'rows': {
      const rows = smaller(BigInt(bounding.rows), most)
      return { rows, rowsPerCell: rows }
    }
    case 'groups': {
      const [cells, rowsPerCell] = [BigInt(bounding.groups), BigInt(bounding.rowsPerGroup)]
      return { rows: smaller(cells * rowsPerCell, most), rowsPerCell: smaller(rowsPerCell, most), cells }
    }
  }
}

/** Largest number of cells in which one unit can have rows, regardless of its number of rows. */
function reachableCells(groupBy: readonly GroupKey[], dataset: Dataset): bigint {
  return groupBy.reduce(
    (product, key) => product * (isConstant(key, dataset) ? 1n : BigInt(groupKeySize(key))),
    1n,
  )
}

/** True if all rows of a unit are in the same cell of the key. */
function isConstant(key: GroupKey, dataset: Dataset): boolean {
  if (dataset.privacyUnit.kind === 'row') return true
  switch (key.kind) {
    case 'category':
    case 'boolean':
    case 'bins':
      return columnNamed(dataset, key.column)?.constantPerPerson === true
    case 'rows-of-person':
      return true
    case 'predicate':
      return false
  }
}

/**
 * Bounds on what one unit adds to the cells: at most `terms` integers of [lowest, highest] in all, at most
 * `termsPerCell` of them in one cell, in at most `cells` cells.
 */
interface Contribution {
  readonly terms: bigint
  readonly termsPerCell: bigint
  readonly cells: bigint
  readonly lowest: bigint
  readonly highest: bigint
  /** True if a unit can add nothing to any cell. */
  readonly mayBeNothing: boolean
}

function contributionOf(statistic: Statistic, aggregate: Aggregate, dataset: Dataset): Contribution {
  const bounds = countsRowsOfPeople(aggregate) ? ONCE : rowBounds(aggregate.bounding, dataset)
  const reachable = smaller(bounds.cells ?? bounds.rows, reachableCells(aggregate.groupBy, dataset))
  const cells = smaller(reachable, bounds.rows)
  const rows = {
    terms: smaller(bounds.rows, cells * bounds.rowsPerCell),
    termsPerCell: bounds.rowsPerCell,
    cells,
  }
  const onceEach = { terms: cells, termsPerCell: 1n, cells }
  switch (statistic.kind) {
    case 'count':
      return { ...rows, lowest: 0n, highest: 1n, mayBeNothing: true }
    case 'affine-count': {
      const ends = [statistic.offset, statistic.factor + statistic.offset]
      const mayBeNothing = mayBeLeftOut(aggregate, [])
      return { ...rows, lowest: ends.reduce(smaller), highest: ends.reduce(larger), mayBeNothing }
    }
    case 'count-distinct': {
      const termsPerCell = smaller(rows.termsPerCell, reachableCells([statistic.of], dataset))
      const terms = smaller(rows.terms, cells * termsPerCell)
      return { terms, termsPerCell, cells, lowest: 0n, highest: 1n, mayBeNothing: true }
    }
    case 'count-people':
      return { ...onceEach, lowest: 0n, highest: 1n, mayBeNothing: true }
    case 'count-distinct-values': {
      if (aggregate.groupBy.length > 0) throw new RangeError('distinct values are counted in one cell only')
      const values = smaller(BigInt(statistic.valuesEach), bounds.rows)
      return { terms: values, termsPerCell: values, cells, lowest: 0n, highest: 1n, mayBeNothing: true }
    }
    case 'affine-sum':
    case 'affine-square-sum': {
      const summand =
        statistic.perPerson === undefined
          ? measuredOf(statistic, dataset)
          : personRange(statistic.perPerson, dataset)
      const ends = extremes(statistic, [summand.lowerIndex, summand.upperIndex])
      return {
        ...(statistic.perPerson === undefined ? rows : onceEach),
        lowest: ends.reduce(smaller),
        highest: ends.reduce(larger),
        mayBeNothing: mayBeLeftOut(aggregate, [summand]),
      }
    }
    case 'affine-product-sum': {
      const columns = statistic.terms.map((term) => measuredOf(term, dataset))
      const ends = statistic.terms.map(({ factor, offset }, place) =>
        [entry(columns, place).lowerIndex, entry(columns, place).upperIndex].map(
          (index) => factor * index + offset,
        ),
      )
      // The product of two terms over a box of their values is smallest and largest at corners of the box.
      const corners = entry(ends, 0).flatMap((one) => entry(ends, 1).map((other) => one * other))
      return {
        ...rows,
        lowest: corners.reduce(smaller),
        highest: corners.reduce(larger),
        mayBeNothing: mayBeLeftOut(aggregate, columns),
      }
    }
  }
}

/** True if all rows of a unit can be left out of a sum over columns. False only for a sum over every row. */
function mayBeLeftOut(
  { where, groupBy }: Aggregate,
  columns: readonly { readonly nullable: boolean }[],
): boolean {
  return where !== undefined || groupBy.length > 0 || columns.some((column) => column.nullable)
}

/** A column with the bounds of its values: those of its clamp, which are within the declared ones. */
function measuredOf(
  { column: name, clamp }: Pick<AffineTerm, 'column' | 'clamp'>,
  dataset: Dataset,
): MeasuredColumn {
  const declared = measuredColumn(requireColumnOf(MULTIPLIED, dataset, name, 'column'))
  return clamp === undefined ? declared : { ...declared, lowerIndex: clamp.lower, upperIndex: clamp.upper }
}

/** The range of a value of each person, and whether a person with rows may have none. */
function personRange({ column, lower, upper }: PersonValue, dataset: Dataset) {
  const nullable = column !== undefined && requireColumn(dataset, column, 'column').nullable
  return { lowerIndex: lower, upperIndex: upper, nullable }
}

/** Values among which a term is smallest and largest, for indexes in a range. */
function extremes(
  { kind, factor, offset }: Extract<Statistic, { kind: 'affine-sum' | 'affine-square-sum' }>,
  [lower, upper]: readonly [bigint, bigint],
): bigint[] {
  const affine = (index: bigint) => factor * index + offset
  if (kind === 'affine-sum') return [affine(lower), affine(upper)]
  const indexes = [lower, upper]
  if (factor !== 0n) {
    // The square is smallest at the whole numbers around the zero of the squared expression, clamped to the bounds.
    const [dividend, divisor] = factor > 0n ? [-offset, factor] : [offset, -factor]
    const around = [divideRoundingDown(dividend, divisor), divideRoundingUp(dividend, divisor)]
    indexes.push(...around.map((index) => larger(lower, smaller(index, upper))))
  }
  return indexes.map((index) => affine(index) ** 2n)
}

function stabilityOfContribution(
  contribution: Contribution,
  neighbours: Neighbours,
  allCells: bigint,
): Sensitivity {
  const { terms, cells, lowest, highest, mayBeNothing } = contribution
  const inOneCell = smaller(contribution.termsPerCell, terms)
  const magnitude = larger(absolute(lowest), absolute(highest))
  // Entries that some contribution moves at all.
  const entries = (most: bigint, distance: bigint) => (distance === 0n ? 0n : most)
  const squares = largestSquares(contribution)
  switch (neighbours) {
    case 'add-remove':
      return {
        l0: entries(cells, magnitude),
        l1: terms * magnitude,
        l2Squared: squares * magnitude ** 2n,
        lInfinity: inOneCell * magnitude,
      }
    case 'change-one': {
      if (allCells === 1n) {
        const span = spanOfOneCell(lowest, highest, inOneCell, mayBeNothing)
        return { l0: entries(1n, span), l1: span, l2Squared: span ** 2n, lInfinity: span }
      }
      const [negative, positive] = [larger(0n, -lowest), larger(0n, highest)]
      const span = inOneCell * (negative + positive)
      const distance = squares * squaredDistance(contribution, negative, positive)
      return {
        l0: entries(smaller(2n * cells, allCells), magnitude),
        l1: smaller(2n * terms * magnitude, allCells * span),
        l2Squared: smaller(distance, allCells * span ** 2n),
        lInfinity: span,
      }
    }
  }
}

/** Largest sum of squares of numbers of terms per cell: full cells first, and the rest in one more. */
function largestSquares({ terms, termsPerCell }: Contribution): bigint {
  const rest = terms % termsPerCell
  return (terms / termsPerCell) * termsPerCell ** 2n + rest ** 2n
}

/** Difference of the largest and the smallest sum of up to `terms` terms; of at least one unless `mayBeNothing`. */
function spanOfOneCell(lowest: bigint, highest: bigint, terms: bigint, mayBeNothing: boolean): bigint {
  const most = highest > 0n ? terms * highest : mayBeNothing ? 0n : highest
  const least = lowest < 0n ? terms * lowest : mayBeNothing ? 0n : lowest
  return most - least
}

/**
 * Largest squared distance of two units' contributions to several cells, for each unit of {@link largestSquares}. With
 * terms of [-negative, positive], two units in different cells are 2 M^2 apart, and two in the same cells, with
 * opposite signs, (negative + positive)^2. If the cells of a unit can be filled unequally, and terms can have both
 * signs, only 2 (negative^2 + positive^2) is a bound.
 */
function squaredDistance({ terms, termsPerCell }: Contribution, negative: bigint, positive: bigint): bigint {
  if (terms % termsPerCell !== 0n && negative > 0n && positive > 0n)
    return 2n * (negative ** 2n + positive ** 2n)
  return larger(2n * larger(negative, positive) ** 2n, (negative + positive) ** 2n)
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
