import type { Released } from '../planner/plan-kinds.ts'
import type { Report } from '../planner/report-kinds.ts'
import type { Evaluation } from './report.ts'

/** Sums over the runs so far. */
export interface Accumulator {
  /** @param run how many were added before. */
  readonly add: (released: Released, answer: Report, run: number) => void
  readonly evaluation: () => Evaluation
}
