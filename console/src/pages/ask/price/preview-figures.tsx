import { memo } from 'react'
import type { Schemas } from '../../../api/schemas.ts'
import { Curve } from '../../../components/charts/curve.tsx'
import { Gauge } from '../../../components/charts/gauge.tsx'
import { formatAmount, leftOf, sizeOf, unitOf } from '../../../format/amount.ts'
import { formatExact, formatHalfWidth, formatRisk, formatShare } from '../../../format/number.ts'
import { freshnessText } from '../../answers/answer-text.ts'
import styles from '../ask.module.css'
import { errorDensity, sketchOf } from '../sketch.ts'

interface PreviewPart {
  readonly preview: Schemas['Preview']
}

/** Price and accuracy of a question: figures, a sketch of the answer, and the budget afterwards. */
export const PreviewFigures = memo(function PreviewFigures({ preview }: PreviewPart) {
  return (
    <>
      <Figures preview={preview} />
      <AnswerSketch preview={preview} />
      <BudgetAfter preview={preview} subject="the question" />
    </>
  )
})

function Figures({ preview }: PreviewPart) {
  const { accuracy, contribution, coverage, cost, noise, paid, disclosureRisk, replaysUntil } = preview
  const { query, statement } = disclosureRisk
  // A free answer is computed from released ones, so it reveals nothing more than they do.
  const isInferred = noise.mechanism === 'combined'
  return (
    <>
      <dl className={styles.figures}>
        <div>
          <dt>Price</dt>
          <dd>{paid ? 'paid already' : sizeOf(cost) === 0 ? 'free' : formatAmount(cost)}</dd>
        </div>
        <div>
          <dt>
            {accuracy.rootMeanSquaredError === undefined ? 'Half-width' : 'Largest half-width'} at{' '}
            {formatShare(accuracy.confidence)}
          </dt>
          {halfWidthTexts(accuracy).map((text) => (
            <dd key={text}>{text}</dd>
          ))}
        </div>
        {accuracy.rootMeanSquaredError !== undefined && (
          <div>
            <dt>Root mean squared error of all counts</dt>
            <dd>{formatHalfWidth(accuracy.rootMeanSquaredError)}</dd>
          </div>
        )}
        <div>
          <dt>An adversary guesses right</dt>
          <dd>{isInferred ? 'no more often than before' : `at most ${formatRisk(query.risk)}`}</dd>
        </div>
      </dl>
      {!isInferred && <p className={styles.quiet}>{statement}</p>}
      <p className={styles.quiet}>{coverage.statement}</p>
      {replaysUntil !== undefined && <p className={styles.quiet}>{freshnessText({ replaysUntil })}</p>}
      {contribution !== undefined && contribution.factor > 1 && (
        <p className={styles.quiet}>
          The noise is {formatHalfWidth(contribution.factor)} times as large as with one row of each person.
        </p>
      )}
      {accuracy.statement !== undefined && <p className={styles.quiet}>{accuracy.statement}</p>}
    </>
  )
}

/** Returns a line for each statistic. */
function halfWidthTexts(accuracy: Schemas['Accuracy']): readonly string[] {
  const { estimates } = accuracy
  if (estimates === undefined) return [halfWidthText(accuracy)]
  return Object.entries(estimates).map(([name, each]) => `${name}: ${halfWidthText(each)}`)
}

function halfWidthText({ halfWidth, unit, reason }: StatedError): string {
  if (halfWidth === null) return `unknown (${reason ?? 'depends on the data'})`
  return `± ${formatHalfWidth(halfWidth)}${unit === undefined ? '' : ` ${unit}`}`
}

type StatedError = Pick<Schemas['Accuracy'], 'halfWidth' | 'unit' | 'reason'>

/** Subjects of half-widths in rows or people, where these are no ranks. */
const RANKED: Readonly<Record<string, string>> = {
  noisyMax: 'the count of the chosen candidate',
  keySelection: 'each count',
}

/** Sketch of where the answer may fall around the true value, with the half-width as a band. */
function AnswerSketch({ preview }: PreviewPart) {
  const sketch = sketchOf(preview)
  if (sketch === undefined) return undefined
  const { confidence } = preview.accuracy
  if (sketch.kind === 'rank')
    return (
      <p className={styles.quiet}>
        With a probability of {formatShare(confidence)}, {RANKED[preview.kind] ?? 'the rank of the value'} is
        within {formatHalfWidth(sketch.halfWidth)} {sketch.unit} of{' '}
        {preview.kind === 'noisyMax' ? 'the largest' : 'the true one'}.
      </p>
    )
  const { halfWidth, mechanism, statistic, unit } = sketch
  const points = errorDensity(mechanism, halfWidth, confidence)
  const reach = Math.abs(points[0]?.x ?? halfWidth)
  const subject = statistic ?? 'the answer'
  return (
    <Curve
      label={`With a probability of ${formatShare(confidence)}, ${subject} is within ${formatHalfWidth(halfWidth)} of the true value.`}
      x={{
        title: `distance from the true value${unit === undefined ? '' : ` (${unit})`}`,
        scale: { kind: 'linear', lower: -reach, upper: reach },
        format: formatExact,
      }}
      y={{ title: '', scale: { kind: 'linear', lower: 0, upper: 1.05 }, hidden: true }}
      lines={[{ name: `how likely ${subject} is`, points }]}
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
  readonly preview: Pick<Schemas['Preview'], 'budget' | 'allotment' | 'population' | 'cost'>
  readonly subject: string
}

/** Shows what would be left of the budget or the analyst's allotment, and of the population if that is less. */
export function BudgetAfter({ preview: { budget, allotment, population, cost }, subject }: BudgetAfterProps) {
  const yours = { ...(allotment ?? budget), remaining: leftOf({ ...budget, allotment }, population) }
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
