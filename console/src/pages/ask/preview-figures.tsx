import { memo } from 'react'
import type { components } from 'sotto-client'
import { Curve } from '../../components/curve.tsx'
import { Gauge } from '../../components/gauge.tsx'
import { formatAmount, sizeOf, smallerOf, unitOf } from '../../format/amount.ts'
import { formatExact, formatHalfWidth, formatRisk, formatShare } from '../../format/number.ts'
import styles from './ask.module.css'
import { errorDensity } from './sketch.ts'

type Schemas = components['schemas']

interface PreviewPart {
  readonly preview: Schemas['Preview']
}

/** What a question would cost and bring: figures, a sketch of the answer, and the budget afterwards. */
export const PreviewFigures = memo(function PreviewFigures({ preview }: PreviewPart) {
  return (
    <>
      <Figures preview={preview} />
      <AnswerSketch preview={preview} />
      <BudgetAfter preview={preview} subject="the question" />
    </>
  )
})

function Figures({ preview: { accuracy, contribution, cost, disclosureRisk } }: PreviewPart) {
  const { query, statement } = disclosureRisk
  return (
    <>
      <dl className={styles.figures}>
        <div>
          <dt>Price</dt>
          <dd>{formatAmount(cost)}</dd>
        </div>
        <div>
          <dt>Half-width at {formatShare(accuracy.confidence)}</dt>
          <dd>{halfWidthText(accuracy)}</dd>
        </div>
        <div>
          <dt>An adversary guesses right</dt>
          <dd>at most {formatRisk(query.risk)}</dd>
        </div>
      </dl>
      <p className={styles.quiet}>{statement}</p>
      {contribution !== undefined && contribution.factor > 1 && (
        <p className={styles.quiet}>
          The noise is {formatHalfWidth(contribution.factor)} times as large as with one row of each person.
        </p>
      )}
      {accuracy.halfWidth === null && accuracy.estimates === undefined && accuracy.reason !== undefined && (
        <p className={styles.quiet}>{accuracy.reason}</p>
      )}
    </>
  )
}

function halfWidthText({ halfWidth, unit, estimates }: Schemas['Accuracy']): string {
  if (halfWidth !== null) return `± ${formatHalfWidth(halfWidth)}${unit === undefined ? '' : ` ${unit}`}`
  const known = Object.entries(estimates ?? {}).flatMap(([name, { halfWidth: each }]) =>
    each === null ? [] : [`${name} ± ${formatHalfWidth(each)}`],
  )
  return known.length === 0 ? 'depends on the data' : known.join(', ')
}

/** Sketch of where the answer may fall around the true value, with the half-width as a band. */
function AnswerSketch({ preview: { accuracy, noise } }: PreviewPart) {
  const { halfWidth, confidence, unit } = accuracy
  if (halfWidth === null || halfWidth === 0 || unit === 'rows' || unit === 'people') return undefined
  const points = errorDensity(noise.mechanism, halfWidth, confidence)
  const reach = Math.abs(points[0]?.x ?? halfWidth)
  return (
    <Curve
      label={`The answer is within ${formatHalfWidth(halfWidth)} of the true value with a probability of ${formatShare(confidence)}.`}
      x={{
        title: `distance from the true value${unit === undefined ? '' : ` (${unit})`}`,
        scale: { kind: 'linear', lower: -reach, upper: reach },
        format: formatExact,
      }}
      y={{ title: '', scale: { kind: 'linear', lower: 0, upper: 1.05 }, hidden: true }}
      lines={[{ name: 'how likely the answer is', points }]}
      bands={[
        {
          name: `± ${formatHalfWidth(halfWidth)}`,
          points: points
            .filter(({ x }) => Math.abs(x) <= halfWidth)
            .map(({ x, y }) => ({ x, lower: 0, upper: y })),
        },
      ]}
      height={150}
    />
  )
}

interface BudgetAfterProps {
  readonly preview: Pick<Schemas['Preview'], 'budget' | 'allotment' | 'cost'>
  readonly subject: string
}

/** What would be left of the budget, and of the analyst's share. */
export function BudgetAfter({ preview: { budget, allotment, cost }, subject }: BudgetAfterProps) {
  const yours =
    allotment === undefined
      ? budget
      : { ...allotment, remaining: smallerOf(budget.remaining, allotment.remaining) }
  const left = Math.max(0, Number((sizeOf(yours.remaining) - sizeOf(cost)).toFixed(12)))
  return (
    <div>
      <Gauge label={`Budget after ${subject}`} cap={yours.cap} spent={yours.spent} proposed={cost} />
      <p className={styles.quiet}>
        {unitOf(cost)} {formatExact(left)} of {formatExact(sizeOf(yours.cap))} would be left for you.
      </p>
    </div>
  )
}
