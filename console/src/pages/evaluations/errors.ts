import { labelText } from '../answers/answer-text.ts'
import type { QueryEvaluation } from './evaluation-stream.ts'

export type NumberEvaluation = Extract<QueryEvaluation, { readonly values: unknown }>
export type EvaluatedNumber = NumberEvaluation['values'][number]
type MeanError = EvaluatedNumber['meanAbsoluteError']

/** Standard errors by which a measured mean may differ from theory; one in 15,000 means differs by more. */
const TOLERATED_ERRORS = 4

/** Measured error as a multiple of the error in theory. */
export interface RelativeError {
  readonly ratio: number
  /** Two standard errors. */
  readonly halfWidth: number
  readonly agrees: boolean
}

/** Compares a measured error with theory; undefined if there is no theory or only one run. */
export function besideTheory({ value, standardError, theoretical }: MeanError): RelativeError | undefined {
  if (value === null || standardError === null || theoretical === null || theoretical === 0) return undefined
  return {
    ratio: value / theoretical,
    halfWidth: (2 * standardError) / theoretical,
    agrees: Math.abs(value - theoretical) <= TOLERATED_ERRORS * standardError,
  }
}

/** Returns a name of a number of the answer: its cell, statistic or percentage. */
export function nameOfNumber({
  key,
  statistic,
  p,
}: Pick<EvaluatedNumber, 'key' | 'statistic' | 'p'>): string {
  const cell = key === undefined ? [] : [Object.values(key).map(labelText).join(', ')]
  const parts = [
    ...cell,
    ...(statistic === undefined ? [] : [statistic]),
    ...(p === undefined ? [] : [`${p}%`]),
  ]
  return parts.filter((part) => part !== '').join(': ') || 'Answer'
}

/** True if fewer runs are within the half-width than its confidence promises, by more than chance explains. */
export function fallsShort(within: number, confidence: number, runs: number): boolean {
  return within < confidence - TOLERATED_ERRORS * Math.sqrt((confidence * (1 - confidence)) / runs)
}
