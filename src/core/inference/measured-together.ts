import { type GroupingColumn, type Query, query as querySchema } from '../../../schemas/answers/query.ts'
import { defined } from '../../privacy/defined.ts'
import { entry, must } from '../../privacy/must.ts'
import { rational } from '../../privacy/rational.ts'
import type { Dataset } from '../dataset/dataset.ts'
import type { AdditivePlan } from '../planner/additive/shape.ts'
import { planGrouping } from '../planner/language/grouping.ts'
import { plan } from '../planner/plan.ts'
import { withinBins } from '../planner/plans/marginals-rows.ts'
import type { PlanLimits } from '../planner/plans/plan-kind.ts'

/** A table that was measured, as a stored answer states it. */
interface StatedTable {
  readonly columns: readonly string[]
  readonly scale: number
  readonly granularity: number
}

/**
 * The plan of a table that was measured together with others, as if it had been asked for by itself; `undefined` for one that
 * counts fewer rows than its columns say, because other columns leave some out.
 * @param queries the queries of the batch, in normal form
 * @throws Refusal for queries that the dataset does not allow any more.
 */
export function planOfMeasured(
  queries: readonly Query[],
  { columns, scale, granularity }: StatedTable,
  distribution: 'gaussian' | 'laplace',
  dataset: Dataset,
  limits: PlanLimits,
): AdditivePlan | undefined {
  const groupings = queries.flatMap(groupingsIn)
  const nameOf = (grouping: GroupingColumn) => (typeof grouping === 'string' ? grouping : grouping.column)
  const others = groupings.filter((grouping) => !columns.includes(nameOf(grouping)))
  const outside = others.map((grouping) => planGrouping(grouping, dataset, 'queries'))
  if (withinBins(outside, dataset).length > 0) return undefined
  const { where, epsilon, accuracy, delta, mechanism, contribution } = entry(queries, 0) as CountQuery
  const keys = columns.map((column) =>
    must(
      groupings.find((grouping) => nameOf(grouping) === column),
      'a column of a query',
    ),
  )
  const query = {
    ...defined({ where, epsilon, accuracy, delta, mechanism, contribution }),
    ...(keys.length === 0
      ? { kind: 'count' }
      : keys.length === 1
        ? { kind: 'histogram', column: keys[0] }
        : { kind: 'contingency', columns: keys }),
  }
  const planned = plan(querySchema.parse(query), dataset, limits)
  if (planned.kind !== 'additive') throw new RangeError('counts are additive')
  // A power of 2, so that the quotient is exact for Gaussian noise, and rounded up for Laplace noise.
  const units = Math.ceil((scale / granularity) * UNIT_PARTS)
  const noise =
    distribution === 'gaussian'
      ? ({ kind: 'discrete-gaussian', sigma: BigInt(units / UNIT_PARTS) } as const)
      : ({ kind: 'discrete-laplace', scale: rational(BigInt(units), BigInt(UNIT_PARTS)) } as const)
  const measurement = {
    ...entry(planned.measurements, 0),
    mechanism: distribution,
    noise,
    fractionBits: -Math.log2(granularity),
  }
  return { ...planned, measurements: [measurement] }
}

type CountQuery = Extract<Query, { kind: 'count' }>

/** Laplace scales of stored answers are rounded up to this part of an output unit. */
const UNIT_PARTS = 2 ** 20

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
