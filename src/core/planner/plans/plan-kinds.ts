import { additive } from '../additive/kind.ts'
import { cumulative } from './cumulative.ts'
import { groups } from './groups.ts'
import { keySelection } from './key-selection.ts'
import { marginals } from './marginals.ts'
import { noisyMax } from './noisy-max.ts'
import type { PlanKind } from './plan-kind.ts'
import { quantile } from './quantile.ts'

/**
 * Everything the planner knows about each kind of plan. A new kind is a file beside this one and an entry here. See
 * decision 58.
 */
const planKinds = {
  additive,
  groups,
  'noisy-max': noisyMax,
  quantile,
  'key-selection': keySelection,
  marginals,
  cumulative,
}

export type PlanKindName = keyof typeof planKinds

/** Plan of each kind, the exact integers that it reads, and its release. */
interface PlanTypes extends TypesOf<typeof planKinds> {}

type TypesOf<Kinds> = {
  readonly [Kind in keyof Kinds]: Kinds[Kind] extends PlanKind<infer P, infer Exact, infer Release>
    ? { readonly plan: P; readonly exact: Exact; readonly release: Release }
    : never
}

/** Everything that is decided about a query before any data is read. It depends on public facts only. */
export type Plan = PlanTypes[PlanKindName]['plan']

/** The exact integers that a plan reads from the data. They can be sent to a worker thread (structured clone). */
export type ExactAggregate = PlanTypes[PlanKindName]['exact']

/** Values that carry noise and may leave the service, by kind of plan. */
export type Released = PlanTypes[PlanKindName]['release']

/** A type of one kind of plan. Functions that are generic in the kind find its entry in a table without a switch. */
type PartOf<Kind extends PlanKindName, Part extends keyof PlanTypes[Kind]> = {
  [K in Kind]: PlanTypes[K][Part & keyof PlanTypes[K]] & { readonly kind: K }
}[Kind]

/** Plan of one kind. */
export type PlanOf<Kind extends PlanKindName> = PartOf<Kind, 'plan'>

/** The exact integers that a plan of one kind reads. */
export type ExactOf<Kind extends PlanKindName> = PartOf<Kind, 'exact'>

/** Release of one kind of plan. */
export type ReleaseOf<Kind extends PlanKindName> = PartOf<Kind, 'release'>

/** Everything the planner knows about the kind of a plan. */
export function planKindOf<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
): PlanKind<PlanOf<Kind>, ExactOf<Kind>, ReleaseOf<Kind>> {
  const kinds: {
    readonly [K in PlanKindName]: PlanKind<PlanOf<K>, ExactOf<K>, ReleaseOf<K>>
  } = planKinds
  return kinds[plan.kind]
}
