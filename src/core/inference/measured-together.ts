import { isDeepStrictEqual } from 'node:util'
import type { GroupingColumn, Query } from '../../../schemas/answers/query.ts'
import { defined } from '../../privacy/defined.ts'
import { entry, must } from '../../privacy/must.ts'
import { rational } from '../../privacy/rational.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { unitOf } from '../planner/additive/estimates/noisy-statistic.ts'
import type { AdditivePlan } from '../planner/additive/shape.ts'
import type { ClampableColumn } from '../planner/language/clamp.ts'
import { planGrouping } from '../planner/language/grouping.ts'
import { withinBins } from '../planner/language/tables.ts'
import { plan } from '../planner/plan.ts'
import type { PlanLimits } from '../planner/plans/plan-kind.ts'

/** A table that was measured, as a stored answer states it. */
interface StatedTable {
  readonly columns: readonly string[]
  readonly scale: number
  readonly granularity: number
  readonly distribution: 'gaussian' | 'laplace'
  /** What its cells add up; `undefined` for counts. */
  readonly sum?: ClampableColumn | undefined
}

/**
 * The plan of a table that was measured together with others, as if it had been asked for by itself; `undefined` for one that
 * has fewer rows than its columns say, because other columns leave some out.
 * @param queries the queries of the batch, in normal form
 * @throws Refusal for queries that the dataset does not allow any more.
 */
export function planOfMeasured(
  queries: readonly Query[],
  { columns, scale, granularity, distribution, sum }: StatedTable,
  dataset: Dataset,
  limits: PlanLimits,
): AdditivePlan | undefined {
  const groupings = queries.flatMap(groupingsIn)
  const nameOf = (grouping: GroupingColumn) => (typeof grouping === 'string' ? grouping : grouping.column)
  const others = groupings.filter((grouping) => !columns.includes(nameOf(grouping)))
  const outside = others.map((grouping) => planGrouping(grouping, dataset, 'queries'))
  if (withinBins(outside, dataset).length > 0) return undefined
  const asking = queries.find((query) => sumsIn(query).some((each) => isDeepStrictEqual(each, sum)))
  const { where, epsilon, accuracy, delta, mechanism, contribution, postprocess } = must(
    asking,
    'a query that asks for the table',
  ) as CountQuery
  const keys = columns.map((column) =>
    must(
      groupings.find((grouping) => nameOf(grouping) === column),
      'a column of a query',
    ),
  )
  const query = {
    ...defined({ where, epsilon, accuracy, mechanism, contribution }),
    delta,
    postprocess,
    ...(sum === undefined ? questionOfCounts(keys) : questionOfSums(keys, sum)),
  } as Query
  const planned = plan(query, dataset, limits)
  if (planned.kind !== 'additive') throw new RangeError('counts and sums are additive')
  const gridUnit = unitOf(planned, 0)
  // Of Gaussian noise a whole number but for rounding; of Laplace noise rounded up.
  const noise =
    distribution === 'gaussian'
      ? ({ kind: 'discrete-gaussian', sigma: BigInt(Math.round(scale / granularity)) } as const)
      : ({
          kind: 'discrete-laplace',
          scale: rational(BigInt(Math.ceil((scale / granularity) * UNIT_PARTS)), BigInt(UNIT_PARTS)),
        } as const)
  const measurement = {
    ...entry(planned.measurements, 0),
    mechanism: distribution,
    noise,
    // A power of 2 but for rounding.
    fractionBits: Math.round(Math.log2(gridUnit / granularity)),
  }
  return { ...planned, measurements: [measurement] }
}

type CountQuery = Extract<Query, { kind: 'count' }>

/** Laplace scales of stored answers are rounded up to this part of an output unit. */
const UNIT_PARTS = 2 ** 20

function questionOfCounts(keys: readonly GroupingColumn[]) {
  switch (keys.length) {
    case 0:
      return { kind: 'count' }
    case 1:
      return { kind: 'histogram', column: keys[0] }
    default:
      return { kind: 'contingency', columns: keys }
  }
}

function questionOfSums(keys: readonly GroupingColumn[], sum: ClampableColumn) {
  return keys.length === 0
    ? { kind: 'sum', ...sum }
    : { kind: 'groupBy', keys, statistics: [{ kind: 'sum', ...sum }] }
}

/** What the numbers of a query add up; `undefined` for a count. */
function sumsIn(query: Query): readonly (ClampableColumn | undefined)[] {
  switch (query.kind) {
    case 'sum':
      return [summed(query)]
    case 'groupBy':
      return query.statistics.map((statistic) => (statistic.kind === 'sum' ? summed(statistic) : undefined))
    default:
      return [undefined]
  }
}

function summed({ column, clamp }: ClampableColumn): ClampableColumn {
  return { column, ...defined({ clamp }) }
}

function groupingsIn(query: Query): readonly GroupingColumn[] {
  switch (query.kind) {
    case 'histogram':
      return [query.column]
    case 'contingency':
      return query.columns
    case 'groupBy':
      return query.keys
    default:
      return []
  }
}
