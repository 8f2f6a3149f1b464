import type { z } from 'zod'
import type {
  batchEvaluation,
  evaluatedCandidates,
  evaluatedKeys,
  evaluatedNumbers,
  evaluation,
} from '../../../schemas/studies/evaluation.ts'
import type { PlanKindName, ReleaseOf } from '../../core/planner/plans/plan-kinds.ts'

/** Sums over the runs so far of a plan of one kind. */
export interface Accumulator<Kind extends PlanKindName = PlanKindName> {
  /** @param run the number of runs added before */
  readonly add: (released: ReleaseOf<Kind>, run: number) => void
  readonly evaluation: () => Evaluation
}

/** Evaluation of an answer made of numbers. */
export type EvaluatedNumbers = z.output<typeof evaluatedNumbers>

/** Evaluation of a selection among candidates. */
export type EvaluatedCandidates = z.output<typeof evaluatedCandidates>

/** Evaluation of a selection of keys. */
export type EvaluatedKeys = z.output<typeof evaluatedKeys>

/** Result of an evaluation. Every number is finite. */
export type Evaluation = EvaluatedNumbers | EvaluatedCandidates | EvaluatedKeys

/** An evaluated query, with the public facts of its answer. */
export type EvaluatedQuery = z.output<typeof evaluation>

/** An evaluated batch. */
export type EvaluatedBatch = z.output<typeof batchEvaluation>
