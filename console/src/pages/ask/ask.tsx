import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Answer, Batch, Query } from 'sotto-client'
import { useSearchParams } from 'wouter'
import { client } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Checkbox } from '../../components/choice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { type AnswerDocument, AnswerView } from '../answers/answer-view.tsx'
import { QuestionCode } from '../answers/question-code-section.tsx'
import type { Dataset } from '../datasets/dataset-kind.ts'
import type { DatasetPart } from '../datasets/dataset-page.tsx'
import styles from './ask.module.css'
import { BatchSection } from './batch-section.tsx'
import { questionOf } from './kinds.ts'
import { PricePanel } from './price-panel.tsx'
import { priceOf, type Question, queriesOf, readQuestion, withPrice } from './question.ts'
import { QuestionForm } from './question-form.tsx'
import { QuestionJson } from './question-json.tsx'
import { QuestionSql } from './question-sql.tsx'

const MODES = [
  ['form', 'Form'],
  ['sql', 'SQL'],
  ['json', 'JSON'],
] as const
type Mode = (typeof MODES)[number][0]

/** Page on which an analyst writes a question, sees its price, and asks it. The address contains the question. */
export default function Ask({ dataset }: DatasetPart) {
  const [{ question, batch }, change] = useAddressQuestion(dataset)
  const [mode, setMode] = useState<Mode>('form')
  const [practice, setPractice] = useState(false)
  const [isPending, setPending] = useState(false)
  const asking = useAsking(dataset.id)
  const answer = useRef<HTMLDivElement>(null)
  // On narrow screens the answer is below the price.
  useEffect(() => {
    if (asking.submittedAt > 0 && !asking.isPending) answer.current?.scrollIntoView({ block: 'nearest' })
  }, [asking.submittedAt, asking.isPending])
  const priced = withPrice(question, priceOf(question))
  const changeQuestion = (next: Question) => {
    const queries = queriesOf(next)
    change(queries === undefined ? { question: next, batch } : { question, batch: queries })
  }
  const changeMode = (next: Mode) => {
    setMode(next)
    setPending(false)
  }
  const part = { dataset, question, onChange: changeQuestion }
  const state = { practice, busy: asking.isPending || isPending }
  return (
    <div className={styles.columns}>
      <div className={styles.question}>
        <Section title="Question" aside={<ModeChoice mode={mode} onChange={changeMode} />}>
          {mode === 'form' && <QuestionForm {...part} />}
          {mode === 'json' && <QuestionJson {...part} onPending={setPending} />}
          {mode === 'sql' && <QuestionSql {...part} onPending={setPending} />}
          <p>
            <Button busy={isPending} onClick={() => change({ question, batch: [...batch, priced] })}>
              Add to a batch
            </Button>
          </p>
          <QuestionCode question={priced} dataset={dataset.id} practice={practice} />
        </Section>
        {batch.length > 0 && (
          <BatchSection
            {...state}
            dataset={dataset}
            queries={batch}
            onChange={(queries) => change({ question, batch: queries })}
            onEdit={(edited) => change({ question: edited, batch })}
            onAsk={() => asking.ask({ questions: batch, isBatch: true, practice })}
          />
        )}
      </div>
      <div className={styles.side}>
        <PricePanel
          {...part}
          {...state}
          onAsk={() => asking.ask({ questions: [priced], isBatch: false, practice })}
        />
        <Checkbox
          label="Practise on made-up rows"
          hint="Answers in the same form, free, from rows that fit the declaration alone."
          checked={practice}
          onChange={setPractice}
        />
      </div>
      <div className={styles.answer} aria-live="polite" ref={answer}>
        {asking.error !== null && <ProblemNotice error={asking.error} />}
        {asking.data !== undefined && <AnswerView {...asking.data} key={asking.submittedAt} />}
      </div>
    </div>
  )
}

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

interface Draft {
  readonly question: Question
  /** Questions that are asked together. */
  readonly batch: readonly Question[]
}

/** Returns the question and the batch of the address, or a count, and a function that changes them. */
function useAddressQuestion(dataset: Dataset) {
  const [parameters, setParameters] = useSearchParams()
  const [draft, setDraft] = useState<Draft>(() => {
    const question = addressQuestion(parameters.get('q'))
    const batch =
      (question && queriesOf(question)) ?? queriesOf(addressQuestion(parameters.get('batch')) ?? {})
    const single = question !== undefined && queriesOf(question) === undefined ? question : batch?.[0]
    return { question: single ?? questionOf('count', dataset), batch: batch ?? [] }
  })
  const change = (next: Draft) => {
    setDraft(next)
    const batch = next.batch.length === 0 ? {} : { batch: JSON.stringify({ queries: next.batch }) }
    setParameters({ q: JSON.stringify(next.question), ...batch }, { replace: true })
  }
  return [draft, change] as const
}

function addressQuestion(text: string | null): Question | undefined {
  const read = text === null ? undefined : readQuestion(text)
  return read !== undefined && 'question' in read ? read.question : undefined
}

interface Asked {
  readonly questions: readonly Question[]
  readonly isBatch: boolean
  readonly practice: boolean
}

interface Answered {
  readonly document: AnswerDocument
  readonly replayed: boolean
}

/** Asks questions. A repeat of a question is answered at no cost, so that a lost connection costs nothing either. */
function useAsking(id: string) {
  const queries = useQueryClient()
  const mutationKey = ['ask', id]
  const mutation = useMutation<Answered, Error, Asked>({
    mutationKey,
    mutationFn: async ({ questions, isBatch, practice }) => {
      const dataset = client.dataset(id, practice ? { on: 'dummy' } : undefined)
      const asked = questions.map((body) => ({ kind: body.kind, body })) as unknown as readonly Query[]
      const [first] = asked
      if (first === undefined) throw new TypeError('there is no question to ask')
      const answer: Answer | Batch = isBatch ? await dataset.batch(asked) : await dataset.ask(first)
      return { document: answer.raw as AnswerDocument, replayed: answer.replayed }
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  // The second click of a double click can come before the button is drawn as busy.
  const ask = (asked: Asked) => queries.isMutating({ mutationKey }) === 0 && mutation.mutate(asked)
  return { ...mutation, ask }
}
