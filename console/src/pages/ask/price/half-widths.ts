import { Problem } from 'sotto-client'
import type { Schemas } from '../../../api/schemas.ts'
import type { LinePoint } from '../../../components/charts/scale.ts'
import { epsilonsBetween } from '../../risk/typical-queries.ts'
import { fieldValue, type Question, withField } from '../question/question.ts'

type Accuracy = Schemas['Accuracy']

/** Range of epsilons that a slider offers; the text field accepts more. */
const USUAL_EPSILONS = { lower: 0.001, upper: 10 } as const
/** Largest epsilon of the classic calibration. */
const LARGEST_CLASSIC = 1
/** Points of the curve. They fit into one preview of a batch. */
const POINTS = 19

export interface EpsilonRange {
  readonly lower: number
  readonly upper: number
}

/** Limits of a dataset on the epsilon of each question. */
export interface EpsilonLimits {
  readonly queryLimits: Pick<Schemas['QueryLimits'], 'minEpsilon' | 'maxEpsilon'>
}

/** Returns the usual epsilons that the limits of a dataset and the calibration of a question permit. */
export function epsilonRange({ queryLimits }: EpsilonLimits, question?: Question): EpsilonRange {
  const { minEpsilon = 0, maxEpsilon = Number.POSITIVE_INFINITY } = queryLimits
  const calibrated =
    question !== undefined && fieldValue(question, 'calibration') === 'classic'
      ? LARGEST_CLASSIC
      : Number.POSITIVE_INFINITY
  const most = Math.min(maxEpsilon, calibrated)
  const lower = Math.min(most, Math.max(minEpsilon, USUAL_EPSILONS.lower))
  // A dataset that permits only large epsilons has its own range.
  const upper = Math.max(lower, Math.min(most, Math.max(USUAL_EPSILONS.upper, lower * 10)))
  return { lower, upper }
}

/** Returns the epsilons of the curve within a range, in ascending order. */
export function curveEpsilons({ lower, upper }: EpsilonRange): readonly number[] {
  if (lower === upper) return [lower]
  const within = epsilonsBetween(lower, upper, POINTS).map((epsilon) =>
    Math.min(upper, Math.max(lower, epsilon)),
  )
  return [...new Set(within)]
}

/** Half-widths by epsilon, or why they cannot be drawn. */
export type HalfWidths =
  | {
      readonly kind: 'line'
      readonly points: readonly LinePoint[]
      /** Name of the statistic, if the answer has several. */
      readonly statistic: string | undefined
      readonly unit: string | undefined
    }
  | { readonly kind: 'absent'; readonly reason: string }

/** Returns the half-widths of previews at ascending epsilons. */
export function halfWidthsOf(epsilons: readonly number[], accuracies: readonly Accuracy[]): HalfWidths {
  const [first] = accuracies
  const statistic = first === undefined || first.halfWidth !== null ? undefined : firstKnown(accuracies)
  const points = epsilons.flatMap((x, place) => {
    const y = halfWidthIn(accuracies[place], statistic)
    return y === undefined || y <= 0 ? [] : [{ x, y }]
  })
  if (points.length < 2)
    return { kind: 'absent', reason: reasonIn(accuracies) ?? 'Only one epsilon gives a half-width above 0.' }
  const unit = statistic === undefined ? first?.unit : undefined
  return { kind: 'line', points, statistic, unit }
}

/** Returns the name of the first statistic with a known half-width. */
function firstKnown(accuracies: readonly Accuracy[]): string | undefined {
  for (const { estimates = {} } of accuracies)
    for (const [name, { halfWidth }] of Object.entries(estimates)) if (halfWidth !== null) return name
  return undefined
}

function halfWidthIn(accuracy: Accuracy | undefined, statistic: string | undefined): number | undefined {
  if (accuracy === undefined) return undefined
  const { halfWidth, estimates } = accuracy
  return (statistic === undefined ? halfWidth : estimates?.[statistic]?.halfWidth) ?? undefined
}

function reasonIn(accuracies: readonly Accuracy[]): string | undefined {
  for (const accuracy of accuracies) {
    if (accuracy.halfWidth === 0) return 'The answer is exact: its half-width is 0.'
    const reason = reasonOf(accuracy)
    if (reason !== undefined) return `The half-width ${reason}.`
  }
  return undefined
}

/** Rules of the service about fields, with the names that the form gives these. */
const NAMES_IN_FORM: readonly (readonly [string, string])[] = [
  ['give supposed.rows', 'state the supposed number of rows under “Further options”'],
  ['no counts are released; set counts', 'is that of counts, and none are released'],
]

/** Returns why a half-width is not known, that of the first statistic where there are several. */
export function reasonOf({ reason, estimates = {} }: Accuracy): string | undefined {
  const [first] = Object.values(estimates).flatMap((estimate) => estimate.reason ?? [])
  const stated = first ?? reason
  return NAMES_IN_FORM.reduce<string | undefined>((text, [field, name]) => text?.replace(field, name), stated)
}

/**
 * Returns the number of the first epsilons of a curve that a dataset permits, if a preview was refused for one of the
 * others: a limit on half-widths permits small epsilons only. Undefined for other refusals.
 */
export function permittedPoints(error: unknown): number | undefined {
  if (!(error instanceof Problem)) return undefined
  const places = error.errors.flatMap(({ field }) => {
    const [, place] = /^queries\.(\d+)\.epsilon$/.exec(field) ?? []
    return place === undefined ? [] : [Number(place)]
  })
  const least = Math.min(...places)
  return Number.isFinite(least) && least >= 2 ? least : undefined
}

/** Says why the half-widths are not known after a preview failed. */
export function reasonOfFailure(error: unknown): string {
  if (!(error instanceof Problem)) return 'The service did not answer.'
  const [first] = error.errors
  if (first === undefined) return error.detail
  return `${first.field.replace(/^queries\.\d+\.?/, '') || 'the question'} ${first.rule}.`
}

/** Returns the half-width at an epsilon, between points on logarithmic scales; undefined outside of them. */
export function halfWidthAt(points: readonly LinePoint[], epsilon: number): number | undefined {
  const after = points.findIndex(({ x }) => x >= epsilon)
  const [left, right] = [points[after - 1], points[after]]
  if (right === undefined) return undefined
  if (right.x === epsilon) return right.y
  return left && between(left.y, right.y, Math.log(epsilon / left.x) / Math.log(right.x / left.x))
}

/** Returns the smallest epsilon whose half-width is at most the given one; undefined outside of the points. */
export function epsilonAt(points: readonly LinePoint[], halfWidth: number): number | undefined {
  const after = points.findIndex(({ y }) => y <= halfWidth)
  const [left, right] = [points[after - 1], points[after]]
  if (right === undefined) return undefined
  if (left === undefined) return right.y === halfWidth ? right.x : undefined
  return between(left.x, right.x, Math.log(halfWidth / left.y) / Math.log(right.y / left.y))
}

function between(from: number, to: number, share: number): number {
  return from * (to / from) ** share
}

/** Returns the range of half-widths of some points. */
export function halfWidthRange(points: readonly LinePoint[]): EpsilonRange {
  const heights = points.map(({ y }) => y)
  return { lower: Math.min(...heights), upper: Math.max(...heights) }
}

/** Confidence of a half-width, unless a question states another. */
export const USUAL_CONFIDENCE = 0.95

/** Returns the confidence with which the half-width of a question must hold. */
export function confidenceOf({ accuracy }: Question): number {
  return accuracy?.confidence ?? USUAL_CONFIDENCE
}

/** Returns a question whose accuracy must hold with a confidence. */
export function withConfidence(question: Question, confidence: number): Question {
  if (question.accuracy === undefined) return question
  const stated = confidence === USUAL_CONFIDENCE ? undefined : confidence
  return { ...question, accuracy: withField(question.accuracy, 'confidence', stated) }
}
