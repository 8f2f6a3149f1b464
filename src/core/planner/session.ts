import type { z } from 'zod'
import type { sessionRequest } from '../../../schemas/answers/sparse-vector.ts'
import type { Amount } from '../../privacy/accounting.ts'
import {
  coversLoss,
  DEFAULT_CONFIDENCE,
  epsilonFromWire,
  epsilonNano,
  epsilonNumber,
  NO_LOSS,
} from '../../privacy/loss.ts'
import { refuseField } from '../../privacy/refusal.ts'
import type { Dataset } from '../dataset/dataset.ts'
import {
  calibrateSparseVector,
  LEAST_SPARSE_VECTOR_EPSILON_NANO,
  type SparseVectorMeasurement,
  sparseVectorGapAccuracy,
  sparseVectorPrivacyMap,
  sparseVectorRho,
} from '../mechanisms/selection/sparse-vector.ts'
import {
  type ContributionReport,
  contributionTo,
  planBounding,
  requireNoClamp,
  requirePeople,
} from './language/contribution.ts'
import { priceOf } from './price/price.ts'
import { requireEpsilonWithin, requireHalfWidthWithin } from './price/query-limits.ts'
import { type Counted, stabilityOfCounts } from './price/stability.ts'

/** Session of the sparse vector technique as an analyst requests it. */
export type SessionRequest = z.output<typeof sessionRequest>

/** Everything that is decided about a session before it is charged. It depends on public facts only. */
export interface SessionPlan {
  readonly dataset: Dataset
  /** In rows, or people. */
  readonly threshold: bigint
  /** Subject of each question's count. */
  readonly counted: Counted
  readonly measurement: SparseVectorMeasurement
  /** Bounds on what each person contributes; absent where rows are the privacy units. */
  readonly contribution?: ContributionReport
}

/**
 * Plans a session.
 * @throws Refusal for an invalid epsilon, one too small to be divided between threshold and questions, one beyond the
 * dataset's limits, or a contribution that does not fit the dataset.
 */
export function planSession(
  { threshold, positives, epsilon, of = 'rows', contribution: requested }: SessionRequest,
  dataset: Dataset,
): SessionPlan {
  const whole = epsilonFromWire(epsilon, 'epsilon')
  requireEpsilonWithin(whole, dataset.queryLimits, 'epsilon')
  if (whole < LEAST_SPARSE_VECTOR_EPSILON_NANO) {
    const least = epsilonNumber(epsilonNano(LEAST_SPARSE_VECTOR_EPSILON_NANO))
    throw refuseField(
      'invalid-request',
      'epsilon',
      `must be at least ${least}, because it is divided between two noises`,
    )
  }
  requireNoClamp(requested)
  requirePeople(of, dataset)
  const bounding = planBounding(requested, dataset, 'one')
  const sensitivityOf = (counted: Counted) => stabilityOfCounts(counted, dataset)
  const counted = { of, bounding } as const
  const shape = { positives, ...sensitivityOf(counted) }
  const measurement = calibrateSparseVector(shape, whole)
  const gapHalfWidth = () => sparseVectorGapAccuracy(measurement, DEFAULT_CONFIDENCE).halfWidth
  requireHalfWidthWithin(gapHalfWidth, dataset.queryLimits, 'epsilon')
  return {
    dataset,
    threshold: BigInt(threshold),
    counted,
    measurement,
    ...contributionTo(bounding, (bounding) => [sensitivityOf({ of, bounding }).sensitivity]),
  }
}

/** Price of the whole session, for any questions: the loss of the threshold and of all answers together. */
export function priceOfSession({ dataset, measurement }: SessionPlan): Amount {
  return priceOf({ loss: measurement.loss, rho: sparseVectorRho(measurement) }, dataset.accounting)
}

/**
 * Stored form of the terms under which a session answers, apart from its positives and its noise. Integers are texts,
 * to stay exact.
 */
export interface SessionTerms {
  readonly threshold: string
  readonly sensitivity: string
  readonly monotonic: boolean
  readonly fractionBits: number
  readonly thresholdScale: string
  readonly questionScale: string
  readonly epsilonNano: string
  readonly counted: Counted
}

/** Terms of a session to be opened. */
export function termsOfSession({ threshold, counted, measurement }: SessionPlan): SessionTerms {
  return {
    threshold: String(threshold),
    sensitivity: String(measurement.sensitivity),
    monotonic: measurement.monotonic,
    fractionBits: measurement.fractionBits,
    thresholdScale: String(measurement.thresholdScale),
    questionScale: String(measurement.questionScale),
    epsilonNano: String(measurement.loss.epsilonNano),
    counted,
  }
}

/**
 * Restores the plan of an open session from its terms. The threshold's noise was drawn under these terms, so they
 * remain in force even if a later release of the software would calibrate differently.
 * @throws Error if the terms would cost more than the charge.
 */
export function sessionUnderTerms(
  terms: SessionTerms,
  positives: number,
): Pick<SessionPlan, 'threshold' | 'counted' | 'measurement'> {
  const measurement: SparseVectorMeasurement = {
    positives,
    sensitivity: BigInt(terms.sensitivity),
    monotonic: terms.monotonic,
    fractionBits: terms.fractionBits,
    thresholdScale: BigInt(terms.thresholdScale),
    questionScale: BigInt(terms.questionScale),
    loss: { ...NO_LOSS, epsilonNano: epsilonNano(BigInt(terms.epsilonNano)) },
  }
  if (!coversLoss(measurement.loss, sparseVectorPrivacyMap(measurement)))
    throw new Error('the terms of a session do not fit what was charged for it')
  return { threshold: BigInt(terms.threshold), counted: terms.counted, measurement }
}
