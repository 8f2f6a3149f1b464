import { isDeepStrictEqual } from 'node:util'
import type { Dataset } from '../../dataset/dataset.ts'
import type { Predicate, Statistic } from '../language/aggregate.ts'
import { contributionAsked, planBounding } from '../language/contribution.ts'
import { planPredicate, whereAll, widestBounding } from '../language/predicate.ts'
import type { PlanLimits } from '../plans/plan-kind.ts'
import {
  type AdditiveParts,
  type AdditiveQuery,
  type AdditiveShape,
  columnsOf,
  type Sources,
} from './shape.ts'

/**
 * Plans the aggregate that a query needs and the estimates that its answer shows.
 * @throws Refusal `query-does-not-fit` if the query does not fit the dataset or its answer would be too large.
 */
export function planAdditive<Asked extends AdditiveQuery>(
  query: Asked,
  parts: AdditiveParts<Asked>,
  dataset: Dataset,
  limits: PlanLimits,
): AdditiveShape {
  const { groupings: groupingsOf = none, keys: keysOf = none } = parts
  const groupings = groupingsOf(query, dataset, limits)
  const own = parts.ownBounding?.(query, dataset)
  const bounding =
    own ?? planBounding(contributionAsked(query), dataset, groupings.length === 0 ? 'one' : 'groups')
  const where = query.where === undefined ? undefined : planPredicate(query.where, dataset, 'where')
  const statistics: Statistic[] = []
  const conditions: Predicate[] = where === undefined ? [] : [where]
  const sources: Sources = {
    dataset,
    groupings,
    bounding,
    where,
    everyRow: where === undefined && groupings.length === 0,
    place: (statistic) => placeOf(statistic, statistics),
    exclude: (predicate) => conditions.push({ kind: 'not', predicate }),
  }
  const estimates = parts.estimates(query, sources)
  const keys = keysOf(query, estimates, dataset)
  return {
    aggregate: {
      ...whereAll(conditions),
      groupBy: [...groupings.map(({ key }) => key), ...keys],
      statistics,
      bounding: own?.kind === 'groups' ? widestBounding(dataset) : bounding,
    },
    bounding,
    groupings,
    estimates,
    shown: parts.shown?.(query) ?? { kind: groupings.length === 0 ? 'value' : 'cells' },
    wholeNumbers: estimates.flatMap(columnsOf).every(({ type }) => type !== 'number'),
  }
}

const none = () => []

function placeOf(statistic: Statistic, statistics: Statistic[]): number {
  const known = statistics.findIndex((other) => isDeepStrictEqual(other, statistic))
  return known === -1 ? statistics.push(statistic) - 1 : known
}
