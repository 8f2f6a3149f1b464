import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../../components/forms/button.tsx'
import { Checkbox } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { AnswerView } from '../answers/answer-view.tsx'
import { QuestionCode } from '../answers/code/question-code-section.tsx'
import type { Column, DatasetPart } from '../datasets/dataset.ts'
import styles from './ask.module.css'
import { BatchSection } from './batch-section.tsx'
import { PricePanel } from './price/price-panel.tsx'
import type { ExpressionFieldProps } from './question/expression-field.tsx'
import { expressionsOver, withExpressions } from './question/expressions.ts'
import {
  type BatchTerms,
  priceOf,
  type Question,
  type QuestionPart,
  withField,
  withPrice,
} from './question/question.ts'
import { useQuestionAddress } from './question/use-question-address.ts'
import { QuestionJson, QuestionSql } from './question/written-question.tsx'
import { QuestionForm } from './question-form.tsx'
import { useAsking } from './use-asking.ts'

const MODES = [
  ['form', 'Form'],
  ['sql', 'SQL'],
  ['json', 'JSON'],
] as const
type Mode = (typeof MODES)[number][0]

/** Page on which an analyst writes a question, sees its price, and asks it. The address contains the question. */
export default function Ask({ dataset }: DatasetPart) {
  // Another dataset has another question and another answer.
  return <AskDataset key={dataset.id} dataset={dataset} />
}

function AskDataset({ dataset: registered }: DatasetPart) {
  const [{ question, batch, terms, isUnreadable }, change] = useQuestionAddress(registered)
  const [written, setWritten] = useState<readonly Column[]>([])
  const read = useMemo(() => expressionsOver(registered), [registered])
  const dataset = withExpressions(registered, read, question, written)
  const [practice, setPractice] = useState(false)
  const [isPending, setPending] = useState(false)
  const asking = useAsking(dataset.id)
  const priced = withPrice(question, priceOf(question))
  const part = { dataset, question, onChange: (next: Question) => change({ question: next }) }
  const state = { practice, busy: asking.isPending || isPending }
  return (
    <div className={styles.columns}>
      <div className={styles.question}>
        {isUnreadable && (
          <Notice tone="cost" title="The address contains no question that can be read">
            The form begins with a count instead. A link to a long batch works only in the tab that made it.
          </Notice>
        )}
        <QuestionSection
          {...part}
          practice={practice}
          busy={isPending}
          expressions={{ read, onAdd: (column) => setWritten([...written, column]) }}
          onPending={setPending}
          onBatch={(queries, asked) => change({ batch: queries, terms: asked })}
          // The answers of a batch are all fresh.
          onAdd={() => change({ batch: [...batch, withField(priced, 'use', undefined)], terms: {} })}
        />
        {batch.length > 0 && (
          <BatchSection
            {...state}
            dataset={dataset}
            queries={batch}
            terms={terms}
            onChange={change}
            onAsk={asking.ask}
          />
        )}
      </div>
      <div className={styles.side}>
        <PricePanel {...part} {...state} onAsk={() => asking.ask({ questions: [priced], practice })} />
        <Checkbox
          label="Practise on made-up rows"
          hint="Answers in the same form, free, from rows that fit the declaration alone."
          value={practice}
          onChange={setPractice}
        />
      </div>
      <AnswerRegion
        submittedAt={asking.submittedAt}
        isPending={asking.isPending}
        error={asking.error}
        data={asking.data}
      />
    </div>
  )
}

interface QuestionSectionProps extends QuestionPart {
  readonly practice: boolean
  /** True while a text states another question than the form, or none. */
  readonly busy: boolean
  readonly onPending: (isPending: boolean) => void
  readonly onBatch: (queries: readonly Question[], terms: BatchTerms) => void
  readonly onAdd: () => void
  readonly expressions: ExpressionFieldProps
}

/** The question as a form, a statement or JSON, and as code. */
function QuestionSection({
  practice,
  busy,
  expressions,
  onPending,
  onBatch,
  onAdd,
  ...part
}: QuestionSectionProps) {
  const [mode, setMode] = useState<Mode>('form')
  const changeMode = (next: Mode) => {
    setMode(next)
    onPending(false)
  }
  const { dataset, question } = part
  return (
    <Section title="Question" aside={<ModeChoice mode={mode} onChange={changeMode} />}>
      {mode === 'form' && <QuestionForm {...part} expressions={expressions} />}
      {mode === 'json' && <QuestionJson {...part} onBatch={onBatch} onPending={onPending} />}
      {mode === 'sql' && <QuestionSql {...part} onPending={onPending} />}
      <p className={styles.add}>
        <Button busy={busy} onClick={onAdd}>
          Add to a batch
        </Button>
      </p>
      <DeferredCode question={useDeferredValue(question)} dataset={dataset.id} practice={practice} />
    </Section>
  )
}

interface DeferredCodeProps extends Pick<QuestionPart, 'question'> {
  readonly dataset: string
  readonly practice: boolean
}

/** The question as code, which is written after the form has answered a key. */
const DeferredCode = memo(function DeferredCode(props: DeferredCodeProps) {
  return <QuestionCode {...props} question={withPrice(props.question, priceOf(props.question))} />
})

function ModeChoice({ mode, onChange }: { readonly mode: Mode; readonly onChange: (mode: Mode) => void }) {
  return (
    <fieldset className={styles.modes} aria-label="Write the question as">
      {MODES.map(([each, title]) => (
        <label key={each}>
          <input type="radio" name="mode" checked={each === mode} onChange={() => onChange(each)} />
          {title}
        </label>
      ))}
    </fieldset>
  )
}

type AnswerRegionProps = Pick<ReturnType<typeof useAsking>, 'submittedAt' | 'isPending' | 'error' | 'data'>

/** The last answer, or why there is none. It is not drawn again while a question is typed. */
const AnswerRegion = memo(function AnswerRegion({ submittedAt, isPending, error, data }: AnswerRegionProps) {
  const region = useRef<HTMLDivElement>(null)
  // On narrow screens the answer is below the price.
  useEffect(() => {
    if (submittedAt > 0 && !isPending) region.current?.scrollIntoView({ block: 'nearest' })
  }, [submittedAt, isPending])
  return (
    <div className={styles.answer} aria-live="polite" ref={region}>
      {error !== null && <ProblemNotice error={error} />}
      {data !== undefined && <AnswerView {...data} key={submittedAt} />}
    </div>
  )
})
