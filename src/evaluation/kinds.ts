import type { ExactAggregate, ExactOf } from '../answers/release.ts'
import type { Plan, PlanKindName, PlanOf } from '../planner/plan-kinds.ts'
import { accumulateCandidates, costOfCandidates } from './candidates.ts'
import { accumulateKeys, costOfKeys } from './keys.ts'
import { type EvaluationCost, type EvaluationSize, maxKeyCharacters } from './limits.ts'
import {
  accumulateEstimates,
  accumulateGroups,
  accumulateQuantiles,
  costOfEstimates,
  costOfGroups,
  costOfQuantiles,
} from './numbers.ts'
import type { Accumulator } from './report.ts'

/** A plan and the data that was read for it. It can be sent to a worker thread. */
export interface ReadPlan {
  readonly plan: Plan
  readonly exact: ExactAggregate
}

/** Evaluates plans of one kind, alone or with other queries. */
interface KindEvaluation<Kind extends PlanKindName> {
  readonly cost: (plan: PlanOf<Kind>, exact: ExactOf<Kind> | undefined, queries: number) => EvaluationCost
  readonly accumulate: (
    plan: PlanOf<Kind>,
    exact: ExactOf<Kind>,
    size: EvaluationSize,
    queries: number,
  ) => Accumulator<Kind>
}

const kindEvaluations: { readonly [Kind in PlanKindName]: KindEvaluation<Kind> } = {
  additive: {
    cost: costOfEstimates,
    accumulate: (plan, { integers }, size) => accumulateEstimates(plan, size, integers),
  },
  groups: {
    cost: (plan, exact) => costOfGroups(plan, exact?.values),
    accumulate: (plan, { integers, values }, size) => accumulateGroups(plan, size, integers, values),
  },
  'noisy-max': {
    cost: costOfCandidates,
    accumulate: (plan, { scores }, size) => accumulateCandidates(plan, size, scores),
  },
  quantile: {
    cost: (plan, exact) => costOfQuantiles(plan, exact?.values),
    accumulate: (plan, { values }, size) => accumulateQuantiles(plan, size, values),
  },
  'key-selection': {
    cost: (plan, exact, queries) => costOfKeys(plan, exact?.texts, maxKeyCharacters(queries)),
    accumulate: (plan, { texts }, size, queries) =>
      accumulateKeys(plan, size, texts, maxKeyCharacters(queries)),
  },
}

/**
 * The cost of evaluating one of several plans together. Before the data is read it follows from public facts alone; the
 * number of values or keys adds to it afterwards.
 */
export function costOf<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  exact: ExactOf<Kind> | undefined,
  queries: number,
): EvaluationCost {
  return kindEvaluations[plan.kind].cost(plan, exact, queries)
}

/**
 * An empty accumulator for the runs of one of several plans that are evaluated together.
 * @throws RangeError if the data was read for another kind of plan.
 */
export function accumulatorOf<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  exact: ExactOf<Kind>,
  size: EvaluationSize,
  queries: number,
): Accumulator<Kind> {
  if (plan.kind !== exact.kind) throw new RangeError('the data was read for another kind of plan')
  return kindEvaluations[plan.kind].accumulate(plan, exact, size, queries)
}
