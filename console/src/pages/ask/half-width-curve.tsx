import { keepPreviousData } from '@tanstack/react-query'
import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { Curve } from '../../components/curve.tsx'
import { formatExact, formatHalfWidth } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './ask.module.css'
import {
  confidenceOf,
  curveEpsilons,
  epsilonAt,
  epsilonRange,
  type HalfWidthPoint,
  type HalfWidths,
  halfWidthAt,
  halfWidthRange,
  halfWidthsOf,
  permittedPoints,
  reasonOfFailure,
  USUAL_CONFIDENCE,
} from './half-widths.ts'
import { priceOf, type Question, withField, withPrice } from './question.ts'

type Schemas = components['schemas']

export interface HalfWidthCurveProps {
  readonly dataset: Dataset
  /** The question as it is written. */
  readonly question: Question
  /** The question once it has not changed for a moment, of which the curve is drawn. */
  readonly settled: Question
  /** Epsilon that the last preview found for an accuracy. */
  readonly found: number | undefined
  readonly onChange: (question: Question) => void
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
        ...(statistic === undefined || isAlone(question)
          ? { onChoose: (halfWidth: number) => onChange(withHalfWidth(question, halfWidth, heights)) }
          : {}),
      }}
      lines={[{ name: 'half-width', points }]}
      {...(chosen === undefined ? {} : { chosen })}
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
  return api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/batch/preview',
    { params: { path: { dataset: id } }, body: { queries: queries as unknown as Schemas['Query'][] } },
    {
      enabled: epsilons.length > 0,
      placeholderData: keepPreviousData,
      staleTime: Number.POSITIVE_INFINITY,
    },
  )
}

/** Returns the chosen point of the curve at once, before a preview confirms it. */
function chosenPoint(question: Question, points: readonly HalfWidthPoint[], found: number | undefined) {
  const price = priceOf(question)
  if (price.by === 'epsilon') {
    const y = halfWidthAt(points, price.epsilon)
    return y === undefined ? { x: price.epsilon } : { x: price.epsilon, y }
  }
  // The curve has the usual confidence.
  if (confidenceOf(question) === USUAL_CONFIDENCE) {
    const x = epsilonAt(points, price.halfWidth) ?? found
    return x === undefined ? undefined : { x, y: price.halfWidth }
  }
  if (found === undefined) return undefined
  const y = halfWidthAt(points, found)
  return y === undefined ? { x: found } : { x: found, y }
}

/** Returns a question with a half-width of the curve, which has the usual confidence. */
function withHalfWidth(
  { accuracy: _, ...question }: Question,
  halfWidth: number,
  { lower, upper }: { readonly lower: number; readonly upper: number },
): Question {
  return withPrice(question, { by: 'accuracy', halfWidth: Math.min(upper, Math.max(lower, halfWidth)) })
}

function isAlone({ statistics }: Question): boolean {
  return Array.isArray(statistics) && statistics.length === 1
}
