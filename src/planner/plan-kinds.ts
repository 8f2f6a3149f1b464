import type { PrivacyLoss } from '../privacy/loss.ts'
import type { Predicate } from './aggregate.ts'
import { type AdditivePlan, type AdditiveRelease, additive } from './kinds/additive.ts'
import { type GroupsPlan, type GroupsRelease, groups } from './kinds/groups.ts'
import { type KeySelectionPlan, type KeySelectionRelease, keySelection } from './kinds/key-selection.ts'
import { type NoisyMaxPlan, type NoisyMaxRelease, noisyMax } from './kinds/noisy-max.ts'
import { type QuantilePlan, type QuantileRelease, quantile } from './kinds/quantile.ts'
import type { PlanKind } from './plan-kind.ts'

/** Plan and release of each kind. A new kind is a file in `kinds/`, an entry here and one in {@link planKinds}. */
interface PlanTypes {
  readonly additive: { readonly plan: AdditivePlan; readonly release: AdditiveRelease }
  readonly groups: { readonly plan: GroupsPlan; readonly release: GroupsRelease }
  readonly 'noisy-max': { readonly plan: NoisyMaxPlan; readonly release: NoisyMaxRelease }
  readonly quantile: { readonly plan: QuantilePlan; readonly release: QuantileRelease }
  readonly 'key-selection': { readonly plan: KeySelectionPlan; readonly release: KeySelectionRelease }
}

export type PlanKindName = keyof PlanTypes

/** Everything that is decided about a query before any data is read. It depends on public facts only. */
export type Plan = PlanTypes[PlanKindName]['plan']

/** Values that carry noise and may leave the service, by kind of plan. */
export type Released = PlanTypes[PlanKindName]['release']

/** Plan of one kind. Functions that are generic in the kind find its entry in a table without a switch. */
export type PlanOf<Kind extends PlanKindName> = {
  [K in Kind]: PlanTypes[K]['plan'] & { readonly kind: K }
}[Kind]

/** Release of one kind of plan. */
export type ReleaseOf<Kind extends PlanKindName> = {
  [K in Kind]: PlanTypes[K]['release'] & { readonly kind: K }
}[Kind]

/** Everything the planner knows about each kind of plan. */
export const planKinds: { readonly [Kind in PlanKindName]: PlanKind<PlanOf<Kind>, ReleaseOf<Kind>> } = {
  additive,
  groups,
  'noisy-max': noisyMax,
  quantile,
  'key-selection': keySelection,
}

/** See {@link PlanKind.rowsThatCount}. */
export function rowsThatCount<Kind extends PlanKindName>(plan: PlanOf<Kind>): Predicate | undefined {
  return planKinds[plan.kind].rowsThatCount(plan)
}

/** See {@link PlanKind.mostValues}. */
export function mostValues<Kind extends PlanKindName>(plan: PlanOf<Kind>): number {
  return planKinds[plan.kind].mostValues(plan)
}

/** See {@link PlanKind.replacementLoss}. */
export function replacementLoss<Kind extends PlanKindName>(plan: PlanOf<Kind>): PrivacyLoss {
  return planKinds[plan.kind].replacementLoss(plan)
}

/** See {@link PlanKind.leastHalfWidthRows}. */
export function leastHalfWidthRows<Kind extends PlanKindName>(plan: PlanOf<Kind>): number {
  return planKinds[plan.kind].leastHalfWidthRows(plan)
}
