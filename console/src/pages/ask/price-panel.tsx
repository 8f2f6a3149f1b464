import { keepPreviousData } from '@tanstack/react-query'
import { useRef } from 'react'
import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Radios } from '../../components/choice.tsx'
import { Curve } from '../../components/curve.tsx'
import { Gauge } from '../../components/gauge.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { formatAmount, sizeOf, smallerOf } from '../../format/amount.ts'
import { formatExact, formatHalfWidth, formatRisk, formatShare } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import { epsilonsBetween } from '../risk/typical-queries.ts'
import styles from './ask.module.css'
import { type Price, priceOf, type Question, withPrice } from './question.ts'
import { errorDensity } from './sketch.ts'

type Schemas = components['schemas']

/** Range of the slider; the text field accepts more. */
const EPSILONS = { kind: 'log', lower: 0.001, upper: 10 } as const
/** Epsilons of the curve: 19 fit into one preview of a batch. */
const CURVE_EPSILONS = epsilonsBetween(EPSILONS.lower, EPSILONS.upper, 19)
/** Factor by which the ends of the slider of half-widths differ from its middle. */
const REACH = 100
/** Half-width that is asked for first, if none was known. */
const USUAL_HALF_WIDTH = 10

export interface PricePanelProps {
  readonly dataset: Dataset
  readonly question: Question
  readonly onChange: (question: Question) => void
  /** True if made-up rows answer, at no cost. */
  readonly practice: boolean
  readonly busy: boolean
  readonly onAsk: () => void
}

/** Price of a question, what it buys, and the button that asks it. Nothing here is charged, and no data is read. */
export function PricePanel({ dataset, question, onChange, practice, busy, onAsk }: PricePanelProps) {
  const price = priceOf(question)
  const change = (next: Price) => onChange(withPrice(question, next))
  const current = withPrice(question, price)
  const settled = useSettled(current)
  const {
    data: preview,
    error,
    isPlaceholderData,
  } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/preview',
    { params: { path: { dataset: dataset.id } }, body: settled as unknown as Schemas['Query'] },
    { placeholderData: keepPreviousData, retry: false },
  )
  // A question is asked only while the button shows its own price, not that of the question before.
  const isPriced = practice || (!isPlaceholderData && JSON.stringify(settled) === JSON.stringify(current))
  const found =
    preview !== undefined && error === null && 'epsilon' in preview.cost ? preview.cost.epsilon : undefined
  return (
    <Section title="Price and accuracy" lead="Free until you ask.">
      <div className={styles.price}>
        <Radios
          legend="Choose"
          value={price.by}
          choices={[
            { value: 'epsilon', label: 'what to pay (epsilon)' },
            { value: 'accuracy', label: 'how accurate it must be (±)' },
          ]}
          onChange={(by) =>
            change(
              by === 'epsilon'
                ? { by, epsilon: found ?? 0.1 }
                : { by, halfWidth: preview?.accuracy.halfWidth ?? USUAL_HALF_WIDTH },
            )
          }
        />
        {price.by === 'epsilon' ? (
          <Slider
            label="Epsilon"
            value={price.epsilon}
            scale={EPSILONS}
            range={{ lower: 1e-9, upper: 1_000 }}
            onChange={(epsilon) => change({ by: 'epsilon', epsilon })}
          />
        ) : (
          <HalfWidthSlider
            halfWidth={price.halfWidth}
            onChange={(halfWidth) => change({ by: 'accuracy', halfWidth })}
          />
        )}
        {error !== null && <ProblemNotice error={error} />}
        {error === null && preview !== undefined && (
          <>
            <PreviewFigures preview={preview} />
            <AnswerSketch preview={preview} />
            <BudgetAfter preview={preview} />
          </>
        )}
        <HalfWidthCurve
          dataset={dataset.id}
          question={settled}
          epsilon={price.by === 'epsilon' ? price.epsilon : found}
          onChange={change}
        />
        <div className={styles.ask}>
          <Button look="primary" busy={busy || !isPriced} disabled={error !== null} onClick={onAsk}>
            {buttonText(preview, practice)}
          </Button>
          {!practice && preview?.affordable === false && (
            <Notice tone="cost" title="The budget does not suffice">
              Choose a smaller epsilon. A question that you have paid before is still free.
            </Notice>
          )}
        </div>
      </div>
    </Section>
  )
}

interface HalfWidthSliderProps {
  readonly halfWidth: number
  readonly onChange: (halfWidth: number) => void
}

/** Slider for a half-width. Its scale stays where it is until the half-width leaves it. */
function HalfWidthSlider({ halfWidth, onChange }: HalfWidthSliderProps) {
  const middle = useRef(halfWidth)
  if (halfWidth < middle.current / REACH || halfWidth > middle.current * REACH) middle.current = halfWidth
  return (
    <Slider
      label="Half-width (±)"
      value={halfWidth}
      scale={{ kind: 'log', lower: middle.current / REACH, upper: middle.current * REACH }}
      range={{ lower: Number.MIN_VALUE, upper: Number.MAX_VALUE }}
      onChange={onChange}
    />
  )
}

/** Returns a question once it has not changed for a moment. */
function useSettled(question: Question): Question {
  return JSON.parse(useDebounced(JSON.stringify(question))) as Question
}

function buttonText(preview: Schemas['Preview'] | undefined, practice: boolean): string {
  if (practice) return 'Ask the made-up rows, free'
  return preview === undefined ? 'Ask' : `Ask for ${formatAmount(preview.cost)}`
}

function PreviewFigures({ preview }: { readonly preview: Schemas['Preview'] }) {
  const { accuracy, cost, disclosureRisk } = preview
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
function AnswerSketch({ preview: { accuracy, noise } }: { readonly preview: Schemas['Preview'] }) {
  const { halfWidth, confidence, unit } = accuracy
  if (halfWidth === null || halfWidth === 0 || unit === 'rows' || unit === 'people') return undefined
  const points = errorDensity(noise.mechanism, halfWidth, confidence)
  const reach = Math.abs(points[0]?.x ?? halfWidth)
  return (
    <Curve
      label={`The answer is within ${formatHalfWidth(halfWidth)} of the true value with a probability of ${formatShare(confidence)}.`}
      x={{
        title: 'distance from the true value',
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

function BudgetAfter({ preview }: { readonly preview: Schemas['Preview'] }) {
  const { budget, allotment, cost } = preview
  const yours =
    allotment === undefined
      ? budget
      : { ...allotment, remaining: smallerOf(budget.remaining, allotment.remaining) }
  const left = Math.max(0, Number((sizeOf(yours.remaining) - sizeOf(cost)).toFixed(9)))
  return (
    <div>
      <Gauge label="Budget after the question" cap={yours.cap} spent={yours.spent} proposed={cost} />
      <p className={styles.quiet}>
        {formatExact(left)} of {formatExact(sizeOf(yours.cap))} would be left for you.
      </p>
    </div>
  )
}

interface HalfWidthCurveProps {
  readonly dataset: string
  readonly question: Question
  readonly epsilon: number | undefined
  readonly onChange: (price: Price) => void
}

/** Half-width against epsilon. The chosen point moves along the curve; the handle at the other axis chooses a half-width. */
function HalfWidthCurve({ dataset, question, epsilon, onChange }: HalfWidthCurveProps) {
  const { epsilon: _, accuracy: __, ...unpriced } = question
  const queries = CURVE_EPSILONS.map((each) => ({ ...unpriced, epsilon: each }))
  const { data } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/batch/preview',
    { params: { path: { dataset } }, body: { queries: queries as unknown as Schemas['Query'][] } },
    { placeholderData: keepPreviousData, staleTime: Number.POSITIVE_INFINITY, retry: false },
  )
  const points = CURVE_EPSILONS.flatMap((x, place) => {
    const y = data?.answers[place]?.accuracy.halfWidth
    return y === null || y === undefined || y <= 0 ? [] : [{ x, y }]
  })
  const heights = points.map(({ y }) => y)
  if (points.length < 2) return undefined
  return (
    <Curve
      label="Half-width of the answer for each epsilon"
      x={{
        title: 'epsilon',
        scale: EPSILONS,
        format: formatExact,
        onChoose: (chosen) => onChange({ by: 'epsilon', epsilon: chosen }),
      }}
      y={{
        title: '±',
        scale: { kind: 'log', lower: Math.min(...heights) / 2, upper: Math.max(...heights) * 2 },
        format: formatHalfWidth,
        onChoose: (halfWidth) => onChange({ by: 'accuracy', halfWidth }),
      }}
      lines={[{ name: 'half-width', points }]}
      {...(epsilon === undefined ? {} : { chosen: { x: epsilon } })}
      height={220}
    />
  )
}
