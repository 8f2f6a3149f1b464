import {
  type SparseVectorMeasurement,
  sparseVectorGapAccuracy,
  sparseVectorMargin,
  sparseVectorShares,
  type ThresholdAnswer,
} from '../../core/mechanisms/selection/sparse-vector.ts'
import type { SessionPlan, SessionRequest } from '../../core/planner/session.ts'
import { defined } from '../../privacy/defined.ts'
import { DEFAULT_CONFIDENCE, epsilonNumber } from '../../privacy/loss.ts'
import { coverageOfSelection } from './coverage.ts'
/* What is shown of a session: its request, its noise and accuracy, and its answers. */

/** Returns a request as it was made, in its shortest form: without the fields that equal their defaults. */
export function shortestSession({ of, contribution, ...request }: SessionRequest): SessionRequest {
  return {
    ...request,
    ...(of === undefined || of === 'rows' ? {} : { of }),
    ...defined({ contribution }),
  }
}

/** Numbers of questions for which a preview states the margin. */
const STATED_QUESTIONS = [1, 10, 100, 1_000]

/** Describes a session's noise and accuracy, which are public before it is paid for. */
export function sessionReport({ dataset, threshold, counted, measurement, contribution }: SessionPlan) {
  const { positives, sensitivity, monotonic, thresholdScale, questionScale, fractionBits } = measurement
  const granularity = 2 ** -fractionBits
  const shares = sparseVectorShares(measurement)
  const gap = sparseVectorGapAccuracy(measurement, DEFAULT_CONFIDENCE)
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    threshold: Number(threshold),
    positives,
    ...(counted.of === 'people' ? { of: counted.of } : {}),
    ...defined({ contribution }),
    coverage: coverageOfSelection({ dataset, contribution, part: 'one question', subject: counted.of }),
    noise: {
      mechanism: 'sparse-vector' as const,
      neighbours: dataset.neighbours,
      monotonic,
      sensitivity: Number(sensitivity),
      granularity,
      threshold: { scale: Number(thresholdScale) * granularity, epsilon: epsilonNumber(shares.threshold) },
      questions: { scale: Number(questionScale) * granularity, epsilon: epsilonNumber(shares.questions) },
    },
    accuracy: {
      confidence: DEFAULT_CONFIDENCE,
      halfWidths: STATED_QUESTIONS.map((questions) => ({
        questions,
        halfWidth: sparseVectorMargin(measurement, DEFAULT_CONFIDENCE, questions),
      })),
      gap: { halfWidth: gap.halfWidth, expectedAbsoluteError: gap.expectedAbsoluteError },
    },
  }
}

/** One answer, its gap in rows or people. */
export function comparisonReport(answer: ThresholdAnswer, { fractionBits }: SparseVectorMeasurement) {
  return answer.above ? { above: true, gap: Number(answer.gap) * 2 ** -fractionBits } : { above: false }
}
