import { keepPreviousData } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { api } from '../../../api/api.ts'
import type { Schemas } from '../../../api/schemas.ts'
import { Button } from '../../../components/forms/button.tsx'
import { Radios, SelectField } from '../../../components/forms/fields.tsx'
import { Slider } from '../../../components/forms/slider.tsx'
import { useDebounced } from '../../../components/forms/use-debounced.ts'
import { Section } from '../../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { formatAmount, sizeOf } from '../../../format/amount.ts'
import { formatShare } from '../../../format/number.ts'
import styles from '../ask.module.css'
import {
  type Price,
  priceOf,
  type Question,
  type QuestionPart,
  withField,
  withPrice,
} from '../question/question.ts'
import { HalfWidthCurve } from './half-width-curve.tsx'
import { confidenceOf, epsilonRange, withConfidence } from './half-widths.ts'
import { chosenUse, isImpossible, previewedQuestion, previewOf, withUse } from './offers.ts'
import { OffersChoice } from './offers-choice.tsx'
import { PreviewFigures } from './preview-figures.tsx'

/** Factor by which the ends of the slider of half-widths differ from its middle. */
const REACH = 100
/** Half-width that is asked for first, if none was known. */
const USUAL_HALF_WIDTH = 10
/** Probabilities that are offered for a half-width. */
const CONFIDENCES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999] as const

export interface PricePanelProps extends QuestionPart {
  /** True if made-up rows answer, at no cost. */
  readonly practice: boolean
  readonly busy: boolean
  readonly onAsk: () => void
}

/** Price of a question, what it buys, and the button that asks it. Nothing here is charged, and no data is read. */
export function PricePanel({ dataset, question, onChange, practice, busy, onAsk }: PricePanelProps) {
  const { preview, error, settled, isCurrent, retry } = usePreview(dataset.id, question)
  const known = error === null ? preview : undefined
  const use = known === undefined ? 'fresh' : chosenUse(question, known)
  const chosen = known === undefined ? undefined : previewOf(known, use)
  const impossible = isCurrent && known !== undefined && isImpossible(question, known)
  useEffect(() => {
    if (impossible) onChange(withField(question, 'use', undefined))
  }, [impossible, question, onChange])
  return (
    <Section title="Price and accuracy" lead="Free until you ask.">
      <div className={styles.price}>
        <PriceChoice dataset={dataset} question={question} preview={known} onChange={onChange} />
        {error !== null && <ProblemNotice error={error} onRetry={retry} />}
        {known !== undefined && !practice && (
          <OffersChoice preview={known} use={use} onChange={(next) => onChange(withUse(question, next))} />
        )}
        {chosen !== undefined && (
          <div className={styles.preview} data-current={isCurrent}>
            <PreviewFigures preview={chosen} />
          </div>
        )}
        <HalfWidthCurve
          dataset={dataset}
          question={question}
          settled={settled}
          found={known?.disclosureRisk.query.epsilon || undefined}
          onChange={onChange}
        />
        <div className={styles.ask}>
          <Button
            look="primary"
            busy={busy || (!practice && !isCurrent)}
            disabled={error !== null || impossible}
            onClick={onAsk}
          >
            {buttonText(isCurrent ? chosen : undefined, practice)}
          </Button>
          {!practice && chosen?.affordable === false && (
            <Notice tone="cost" title="The budget does not suffice">
              Choose a smaller epsilon.
            </Notice>
          )}
        </div>
      </div>
    </Section>
  )
}

/** Returns the preview of a question once it has not changed for a moment. The one before is cancelled. */
function usePreview(id: string, question: Question) {
  const text = JSON.stringify(withPrice(previewedQuestion(question), priceOf(question)))
  const settledText = useDebounced(text)
  const settled = useMemo(() => JSON.parse(settledText) as Question, [settledText])
  const { data, error, isPlaceholderData, refetch } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/preview',
    { params: { path: { dataset: id } }, body: settled },
    { placeholderData: keepPreviousData },
  )
  // A question is asked only while the button shows its own price, not that of the question before.
  const isCurrent = !isPlaceholderData && settledText === text
  return { preview: data, error, settled, isCurrent, retry: refetch }
}

interface PriceChoiceProps extends QuestionPart {
  readonly preview: Schemas['Preview'] | undefined
}

/** Choice of an epsilon, or of a half-width for which the service finds the smallest one. */
function PriceChoice({ dataset, question, preview, onChange }: PriceChoiceProps) {
  const price = priceOf(question)
  const change = (next: Price) => onChange(withPrice(question, next))
  const { minEpsilon = 1e-9, maxEpsilon = 1_000 } = dataset.queryLimits
  return (
    <>
      <Radios
        legend="Choose"
        value={price.by}
        choices={[
          { value: 'epsilon', label: 'what to pay (epsilon)' },
          { value: 'accuracy', label: 'how accurate it must be (±)' },
        ]}
        onChange={(by) =>
          // Under either accounting the risk states the epsilon that was found.
          change(
            by === 'epsilon'
              ? { by, epsilon: preview?.disclosureRisk.query.epsilon || 0.1 }
              : { by, halfWidth: preview?.accuracy.halfWidth ?? USUAL_HALF_WIDTH },
          )
        }
      />
      {price.by === 'epsilon' ? (
        <Slider
          label="Epsilon"
          value={price.epsilon}
          scale={{ kind: 'log', ...epsilonRange(dataset, question) }}
          range={{ lower: minEpsilon, upper: maxEpsilon }}
          onChange={(epsilon) => change({ by: 'epsilon', epsilon })}
        />
      ) : (
        <>
          <HalfWidthSlider
            halfWidth={price.halfWidth}
            onChange={(halfWidth) => change({ by: 'accuracy', halfWidth })}
          />
          <ConfidenceField question={question} onChange={onChange} />
        </>
      )}
    </>
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

function ConfidenceField({ question, onChange }: Pick<PriceChoiceProps, 'question' | 'onChange'>) {
  const confidence = confidenceOf(question)
  const offered = [...new Set([...CONFIDENCES, confidence])].sort((one, other) => one - other)
  return (
    <SelectField
      label="With a probability of"
      value={confidence}
      options={offered.map((each) => [each, formatShare(each)])}
      onChange={(next) => onChange(withConfidence(question, next))}
    />
  )
}

function buttonText(preview: Schemas['Preview'] | undefined, practice: boolean): string {
  if (practice) return 'Ask the made-up rows, free'
  if (preview === undefined) return 'Ask'
  if (preview.paid) return 'Ask again, free'
  return sizeOf(preview.cost) === 0 ? 'Ask, free' : `Ask for ${formatAmount(preview.cost)}`
}
