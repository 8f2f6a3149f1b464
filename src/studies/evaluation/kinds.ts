import type {
  ExactAggregate,
  ExactOf,
  Plan,
  PlanKindName,
  PlanOf,
} from '../../core/planner/plans/plan-kinds.ts'
import { accumulateCandidates, costOfCandidates } from './candidates.ts'
import { accumulateKeys, costOfKeys } from './keys.ts'
import { type EvaluationCost, type EvaluationSize, maxKeyCharacters } from './limits.ts'
import {
  accumulateNumbers,
  costOfCurve,
  costOfEstimates,
  costOfGroups,
  costOfQuantiles,
  costOfTables,
  everyGroup,
  type NumbersKind,
} from './numbers.ts'
import type { Accumulator } from './report.ts'
import {
  exactEstimates,
  numberNames,
  type TrueAnswer,
  type TrueNumber,
  type Truths,
  trueCurve,
  trueGroups,
  trueQuantiles,
  trueTables,
} from './truth.ts'

/** A plan and the data that was read for it. It can be sent to a worker thread. */
export interface ReadPlan {
  readonly plan: Plan
  readonly exact: ExactAggregate
  /**
   * True values of the answer's numbers over all rows that the dataset keeps of each person. Absent if the query does
   * not bound contributions further.
   */
  readonly unbounded?: Truths | undefined
}

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
  /** The true values of an answer's numbers; absent for a selection, which has none. */
  readonly truths?: (plan: PlanOf<Kind>, exact: ExactOf<Kind>) => readonly TrueNumber[]
}

/**
 * Evaluates answers made of numbers.
 * @param evaluated the plan whose numbers are evaluated, if it is another one
 */
function ofNumbers<Kind extends NumbersKind>(
  cost: KindEvaluation<Kind>['cost'],
  truthsOf: (plan: PlanOf<Kind>, exact: ExactOf<Kind>) => TrueAnswer,
  evaluated: (plan: PlanOf<Kind>) => PlanOf<Kind> = (plan) => plan,
): KindEvaluation<Kind> {
  return {
    cost,
    accumulate: (plan, exact, size, _, unbounded) =>
      accumulateNumbers(evaluated(plan), size, truthsOf(plan, exact), unbounded),
    truths: (plan, exact) => truthsOf(plan, exact).numbers,
  }
}

const kindEvaluations: { readonly [Kind in PlanKindName]: KindEvaluation<Kind> } = {
  additive: ofNumbers<'additive'>(
    costOfEstimates,
    (plan, { integers }) => ({ numbers: exactEstimates(plan, integers) }),
    everyGroup,
  ),
  groups: ofNumbers<'groups'>(
    (plan, exact) => costOfGroups(plan, exact?.values),
    (plan, { integers, values }) => trueGroups(plan, integers, values),
  ),
  'noisy-max': {
    cost: costOfCandidates,
    accumulate: (plan, { scores }, size) => accumulateCandidates(plan, size, scores),
  },
  quantile: ofNumbers<'quantile'>(
    (plan, exact) => costOfQuantiles(plan, exact?.values),
    (plan, { values }) => trueQuantiles(plan, values, numberNames(plan)),
  ),
  marginals: ofNumbers<'marginals'>(costOfTables, (plan, { integers }) => ({
    numbers: trueTables(plan, integers),
  })),
  cumulative: ofNumbers<'cumulative'>(costOfCurve, (plan, { nodes }) => ({
    numbers: trueCurve(plan, nodes),
  })),
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

/** True for an answer of numbers, which have true values; false for a selection. */
export function hasTruths({ kind }: Plan): boolean {
  return kindEvaluations[kind].truths !== undefined
}

/** The true values of an answer's numbers; `undefined` for a selection. */
export function truthsOf<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  exact: ExactOf<Kind>,
): Truths | undefined {
  return kindEvaluations[plan.kind].truths?.(plan, exact).map(({ truth }) => truth)
}
