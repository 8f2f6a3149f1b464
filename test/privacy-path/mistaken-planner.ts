import type { plan } from '../../src/core/planner/plan.ts'
import { epsilonFromWire } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { type SourceChange, withChangedSource } from '../mutants/changed-source.ts'
import { examine, pairsFor, planner } from './examination.ts'
import type { Wire } from './queries.ts'

/** A mistake in the planner, and queries that spend too much under one kind of neighbours or the other. */
export interface Mistake {
  readonly name: string
  readonly mutations: readonly SourceChange[]
  readonly seenBy: readonly Wire[]
}

/** The change of a text in the stability. */
export const stability = (find: string, replace: string): readonly SourceChange[] => [
  { file: 'core/planner/price/stability.ts', find, replace },
]

/** Imports the planner from a source with these changes. */
export function importPlanner(changes: readonly SourceChange[]): Promise<typeof plan> {
  return withChangedSource(
    changes,
    {},
    async (load) => (await load<{ plan: typeof plan }>('core/planner/plan.ts')).plan,
  )
}

/** Describes the plans of a query that spend more than the query offers, under either kind of neighbours. */
export function violations(
  wire: Wire,
  mistaken: typeof plan,
  plannerOf: (
    wire: Wire,
    neighbours: Neighbours,
    mistaken: typeof plan,
  ) => ReturnType<typeof planner> = planner,
  pairsOf: typeof pairsFor = pairsFor,
): string[] {
  const offered = epsilonFromWire(Number(wire.epsilon), 'epsilon')
  return (['add-remove', 'change-one'] as const).flatMap((neighbours) => {
    const planFor = plannerOf(wire, neighbours, mistaken)
    const { violation } = examine(planFor, pairsOf(wire, neighbours), ({ loss }) => ({
      ...loss,
      epsilonNano: offered,
    }))
    return violation === undefined ? [] : [`${neighbours}: ${violation}`]
  })
}
