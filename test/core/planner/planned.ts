import { query as querySchema } from '../../../schemas/answers/query.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import type { Refusal } from '../../../src/privacy/refusal.ts'
import { thrownRefusal } from '../../refusal.ts'
import { people } from './neighbours/people.ts'

export const LIMITS = { maxCells: 1000 }

/** Plans a query in its wire form over {@link people}, at an epsilon of 1 unless the query gives a price. */
export function planOf(wire: object, neighbours: Neighbours = 'add-remove', rows = 100): Plan {
  const price = 'accuracy' in wire ? {} : { epsilon: 1 }
  return plan(querySchema.parse({ ...price, ...wire }), people(neighbours, rows), LIMITS)
}

/** {@link planOf} for queries that are answered by adding noise to sums and counts. */
export function estimatesOf(wire: object, neighbours?: Neighbours, rows?: number): AdditivePlan {
  return planFor('additive', planOf(wire, neighbours, rows))
}

/** Requires a plan to be of a given kind. */
export function planFor<Kind extends Plan['kind']>(kind: Kind, planned: Plan): Extract<Plan, { kind: Kind }> {
  if (planned.kind !== kind) throw new Error(`a plan for ${planned.kind}, not for ${kind}`)
  return planned as Extract<Plan, { kind: Kind }>
}

/** The refusal of a query that cannot be planned. */
export function refusalOf(wire: object, neighbours?: Neighbours): Refusal {
  return thrownRefusal(() => planOf(wire, neighbours))
}
