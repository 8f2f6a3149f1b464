import { useBatchPreview } from '../../../api/batch-preview.ts'
import { Curve } from '../../../components/charts/curve.tsx'
import type { LinePoint } from '../../../components/charts/scale.ts'
import { formatExact, formatHalfWidth } from '../../../format/number.ts'
import styles from '../ask.module.css'
import { priceOf, type Question, type QuestionPart, withField, withPrice } from '../question/question.ts'
import {
  confidenceOf,
  curveEpsilons,
  epsilonAt,
  epsilonRange,
  type HalfWidths,
  halfWidthAt,
  halfWidthRange,
  halfWidthsOf,
  permittedPoints,
  reasonOfFailure,
  USUAL_CONFIDENCE,
} from './half-widths.ts'

export interface HalfWidthCurveProps extends QuestionPart {
  /** The question once it has not changed for a moment, of which the curve is drawn. */
  readonly settled: Question
  /** Epsilon that the last preview found for an accuracy. */
  readonly found: number | undefined
}

/** Half-width against epsilon. The chosen point moves along the curve; the handle at the other axis chooses a half-width. */
export function HalfWidthCurve({ dataset, question, settled, found, onChange }: HalfWidthCurveProps) {
  const range = epsilonRange(dataset, settled)
  const halfWidths = useHalfWidths(dataset.id, settled, curveEpsilons(range))
  if (halfWidths === undefined) return undefined
  if (halfWidths.kind === 'absent')
    return (
      <p className={styles.quiet}>
        <strong>No curve of ± against epsilon.</strong> {halfWidths.reason}
      </p>
    )
  const { points, statistic, unit } = halfWidths
  const heights = halfWidthRange(points)
  const chosen = chosenPoint(question, points, found)
  const subject = statistic === undefined ? '' : ` of ${statistic}`
  return (
    <Curve
      label={`Half-width${subject} for each epsilon`}
      x={{
        title: 'epsilon',
        scale: { kind: 'log', ...range },
        format: formatExact,
        onChoose: (epsilon) => onChange(withPrice(question, { by: 'epsilon', epsilon })),
      }}
      y={{
        title: `±${subject}${unit === undefined ? '' : ` (${unit})`}`,
        scale: { kind: 'log', lower: heights.lower / 2, upper: heights.upper * 2 },
        format: formatHalfWidth,
        // Of several statistics none can be asked for by its half-width.
        onChoose:
          statistic === undefined || isAlone(question)
            ? (halfWidth) => onChange(withHalfWidth(question, halfWidth, heights))
            : undefined,
      }}
      lines={[{ name: 'half-width', points }]}
      chosen={chosen}
      height={220}
    />
  )
}

/** Returns the half-widths of a question at some epsilons, undefined until they are known. */
function useHalfWidths(id: string, question: Question, epsilons: readonly number[]): HalfWidths | undefined {
  const all = useCurvePreview(id, question, epsilons)
  // A limit on half-widths refuses the large epsilons.
  const permitted = epsilons.slice(0, permittedPoints(all.error) ?? 0)
  const some = useCurvePreview(id, question, permitted)
  const [used, { data, error }] = permitted.length === 0 ? [epsilons, all] : [permitted, some]
  if (error !== null) return { kind: 'absent', reason: reasonOfFailure(error) }
  return (
    data &&
    halfWidthsOf(
      used,
      data.answers.map(({ accuracy }) => accuracy),
    )
  )
}

function useCurvePreview(id: string, question: Question, epsilons: readonly number[]) {
  const unpriced = withField(withField(question, 'epsilon', undefined), 'accuracy', undefined)
  const queries = epsilons.map((epsilon) => ({ ...unpriced, epsilon }))
  return useBatchPreview(id, queries, { plan: 'separate' }, { staleTime: Number.POSITIVE_INFINITY })
}

/** Returns the chosen point of the curve at once, before a preview confirms it. */
function chosenPoint(question: Question, points: readonly LinePoint[], found: number | undefined) {
  const price = priceOf(question)
  if (price.by === 'epsilon') return { x: price.epsilon, y: halfWidthAt(points, price.epsilon) }
  // The curve has the usual confidence.
  if (confidenceOf(question) === USUAL_CONFIDENCE) {
    const x = epsilonAt(points, price.halfWidth) ?? found
    return x === undefined ? undefined : { x, y: price.halfWidth }
  }
  return found === undefined ? undefined : { x: found, y: halfWidthAt(points, found) }
}

/** Returns a question with a half-width of the curve, which has the usual confidence. */
function withHalfWidth(
  { accuracy: _, ...question }: Question,
  halfWidth: number,
  { lower, upper }: { readonly lower: number; readonly upper: number },
): Question {
  return withPrice(question, { by: 'accuracy', halfWidth: Math.min(upper, Math.max(lower, halfWidth)) })
}

function isAlone(question: Question): boolean {
  return 'statistics' in question && question.statistics.length === 1
}
