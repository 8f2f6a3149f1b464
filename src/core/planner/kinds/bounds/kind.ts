import { epsilonFromWire, epsilonNumber } from '../../../../privacy/loss.ts'
import type { Dataset, GridColumn } from '../../../dataset/dataset.ts'
import { isTemporal } from '../../../dataset/dataset.ts'
import { unitsOfValue, valueOfIndex } from '../../../dataset/grid-value.ts'
import { planAdditiveQuery } from '../../additive/kind.ts'
import type { AdditivePlan } from '../../additive/shape.ts'
import type { Aggregate, Bounding, Statistic } from '../../language/aggregate.ts'
import { clampedName } from '../../language/clamp.ts'
import { ORDERED, requireColumnOf } from '../../language/column-rules.ts'
import { mostOfPerson } from '../../language/contribution.ts'
import type { Grouping } from '../../language/grouping.ts'
import { sensitivityOf } from '../../price/stability.ts'
import type { QueryOf, QuestionKind } from '../question-kind.ts'
import { bandEdges } from './bands.ts'
import type { Candidate } from './candidates.ts'

/** The number of rows in each band of powers of two, and the clamps that follow. */
export const bounds: QuestionKind<'bounds'> = {
  title: 'Bounds for a clamp',
  phrase: 'bounds of {column}',
  heading: 'Sums and averages',
  addsUp: true,
  inCells: true,
  grouped: true,
  columns: { column: ORDERED },
  plan(query, dataset, limits, offer) {
    const column = requireColumnOf(ORDERED, dataset, query.column, 'column')
    const edges = bandEdges(column)
    const planned = planAdditiveQuery(
      query,
      {
        groupings: () => [groupingOf(column, edges)],
        estimates: (_, { place }) => [{ kind: 'count', statistic: place({ kind: 'count' }) }],
      },
      dataset,
      limits,
      offer,
    )
    return { ...planned, shown: { kind: 'cells', clamps: clampFacts(query, planned, column, edges) } }
  },
  // At which epsilon the next question is asked changes only what is computed from the counts.
  subject: ({ column }) => ({ column }),
}

function groupingOf(column: GridColumn, edges: readonly bigint[]): Grouping {
  const values = edges.map((edge, place) =>
    valueOfIndex(column, place === edges.length - 1 ? edge - 1n : edge),
  )
  const bins = values.slice(1).map((upper, band) => ({ lower: values[band] ?? upper, upper }))
  const labels = bins.map((bin, place) =>
    place === bins.length - 1 ? { ...bin, upperIncluded: true as const } : bin,
  )
  return {
    column: column.name,
    key: { kind: 'bins', column: column.name, edges, nullCell: false },
    labels,
  }
}

function clampFacts(
  query: QueryOf<'bounds'>,
  { dataset, aggregate, loss }: AdditivePlan,
  column: GridColumn,
  edges: readonly bigint[],
) {
  const next =
    query.nextEpsilon === undefined ? loss.epsilonNano : epsilonFromWire(query.nextEpsilon, 'nextEpsilon')
  // A sum or mean has one cell.
  const inOneCell: Aggregate = { ...aggregate, groupBy: [], bounding: ofOneCell(aggregate.bounding, dataset) }
  const moved = (statistic: Statistic) => Number(sensitivityOf(statistic, inOneCell, dataset).lInfinity)
  const isPublic = dataset.rows !== undefined && query.where === undefined && !column.nullable
  const step =
    unitsOfValue(valueOfIndex(column, column.lowerIndex + 1n)) -
    unitsOfValue(valueOfIndex(column, column.lowerIndex))
  return {
    column,
    edges,
    candidates: clampsBetween(column, edges).map(([lower, upper]): Candidate => {
      const summand = clampedName({ name: column.name, clamp: { lower, upper } })
      const sum = (factor: bigint, offset: bigint) =>
        (moved({ kind: 'affine-sum', ...summand, factor, offset }) * step) / Number(factor)
      const ofMean = sum(2n, -(lower + upper))
      return isTemporal(column) ? { lower, upper, ofMean } : { lower, upper, ofMean, ofSum: sum(1n, 0n) }
    }),
    ofRows: isPublic ? 0 : moved({ kind: 'count' }),
    nextEpsilon: epsilonNumber(next),
  }
}

/** The bounding of the next question: as many rows of each person as in all groups of this one. */
function ofOneCell(bounding: Bounding, { privacyUnit }: Dataset): Bounding {
  if (bounding.kind !== 'groups' || privacyUnit.kind === 'row') return bounding
  const { keys, rowsPerCell } = mostOfPerson(bounding)
  return { kind: 'rows', rows: Math.min(keys * rowsPerCell, privacyUnit.maxRows) }
}

/**
 * The clamps that are weighed: for each edge as the end that is farther from 0, the declared bound, 0 and the opposite of
 * the edge as the other end.
 */
function clampsBetween(
  { lowerIndex, upperIndex }: GridColumn,
  edges: readonly bigint[],
): readonly (readonly [lower: bigint, upper: bigint])[] {
  const ends = [...edges.slice(0, -1), upperIndex]
  const clamps = ends.flatMap((end): (readonly [bigint, bigint])[] => {
    const others = [lowerIndex, upperIndex, 0n, -end]
    return others.map((other) => (other < end ? [other, end] : [end, other]))
  })
  const fitting = clamps.filter(
    ([lower, upper]) => lower >= lowerIndex && upper <= upperIndex && lower < upper,
  )
  return [...new Map(fitting.map((clamp) => [clamp.join(' '), clamp])).values()]
}
