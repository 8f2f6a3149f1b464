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
  trueEstimates,
} from './numbers.ts'
import type { Accumulator } from './report.ts'
import { numberNames, type TrueNumber, trueGroups, trueQuantiles } from './truth.ts'

/** A plan and the data that was read for it. It can be sent to a worker thread. */
export interface ReadPlan {
  readonly plan: Plan
  readonly exact: ExactAggregate
  /**
   * True values of the answer's numbers over all rows that the dataset keeps of each person. Absent if the query does
   * not bound contributions further.
   */
  readonly unbounded?: Truths
}

/** The true values of an answer's numbers, in their order. */
export type Truths = readonly TrueNumber['truth'][]

/** Evaluates plans of one kind, alone or with other queries. */
interface KindEvaluation<Kind extends PlanKindName> {
  readonly cost: (plan: PlanOf<Kind>, exact: ExactOf<Kind> | undefined, queries: number) => EvaluationCost
  readonly accumulate: (
    plan: PlanOf<Kind>,
    exact: ExactOf<Kind>,
    size: EvaluationSize,
    queries: number,
    unbounded: Truths | undefined,
  ) => Accumulator<Kind>
}

const kindEvaluations: { readonly [Kind in PlanKindName]: KindEvaluation<Kind> } = {
  additive: {
    cost: costOfEstimates,
    accumulate: (plan, { integers }, size, _, unbounded) =>
      accumulateEstimates(plan, size, integers, unbounded),
  },
  groups: {
    cost: (plan, exact) => costOfGroups(plan, exact?.values),
    accumulate: (plan, { integers, values }, size, _, unbounded) =>
      accumulateGroups(plan, size, integers, values, unbounded),
  },
  'noisy-max': {
    cost: costOfCandidates,
    accumulate: (plan, { scores }, size) => accumulateCandidates(plan, size, scores),
  },
  quantile: {
    cost: (plan, exact) => costOfQuantiles(plan, exact?.values),
    accumulate: (plan, { values }, size, _, unbounded) => accumulateQuantiles(plan, size, values, unbounded),
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
  unbounded?: Truths,
): Accumulator<Kind> {
  if (plan.kind !== exact.kind) throw new RangeError('the data was read for another kind of plan')
  return kindEvaluations[plan.kind].accumulate(plan, exact, size, queries, unbounded)
}

/** The true values of an answer's numbers; `undefined` for a selection, which has none. */
export function truthsOf(plan: Plan, exact: ExactAggregate): Truths | undefined {
  if (plan.kind === 'additive' && exact.kind === 'additive')
    return trueEstimates(plan, exact.integers).map(({ truth }) => truth)
  if (plan.kind === 'groups' && exact.kind === 'groups')
    return trueGroups(plan, exact.integers, exact.values).numbers.map(({ truth }) => truth)
  if (plan.kind === 'quantile' && exact.kind === 'quantile')
    return trueQuantiles(plan, exact.values, numberNames(plan)).numbers.map(({ truth }) => truth)
  return undefined
}
