import { useState } from 'react'
import { api } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { useAddressState } from '../../components/use-address-state.ts'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import { BatchView } from './batch-view.tsx'
import { EvaluationView } from './evaluation-view.tsx'
import styles from './evaluations.module.css'
import { type Example, examplesFor, isBatch, parseQuestion } from './examples.ts'
import { type EvaluationState, type EvaluationTerms, useEvaluation } from './use-evaluation.ts'

/** What the page shows. The address contains all of it: the question as JSON in `q`. */
const INITIAL = { dataset: '', q: '', runs: 1_000 }

/** Page that answers a question many times over synthetic data and compares the errors with theory. */
export default function EvaluationsPage() {
  const me = useMe()
  const { state, change, visit } = useAddressState(INITIAL)
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets')
  const synthetic = data?.datasets.filter((dataset) => dataset.synthetic)
  return (
    <Page
      title="Evaluations"
      lead="Answers a question many times over made-up people, whose true values may be shown, and compares the errors with theory. Nothing is charged."
    >
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {(synthetic === undefined || me === undefined) && error === null && <Loading what="the datasets" />}
      {me?.role === 'auditor' && (
        <Notice title="Your role cannot evaluate questions">Analysts and custodians can.</Notice>
      )}
      {synthetic?.length === 0 && (
        <Notice title="There is no synthetic dataset">
          Evaluations show true values, so they are limited to made-up data, such as the demo (
          <code>SOTTO_DEMO=true</code>).
        </Notice>
      )}
      {me !== undefined && me.role !== 'auditor' && synthetic !== undefined && synthetic.length > 0 && (
        <EvaluationForm key={visit} datasets={synthetic} state={state} change={change} />
      )}
    </Page>
  )
}

interface EvaluationFormProps {
  readonly datasets: readonly Dataset[]
  readonly state: typeof INITIAL
  readonly change: (changes: Partial<typeof INITIAL>) => void
}

function EvaluationForm({ datasets, state, change }: EvaluationFormProps) {
  const dataset = datasets.find(({ id }) => id === state.dataset) ?? datasets[0]
  const examples = dataset === undefined ? [] : examplesFor(dataset)
  const text = useQuestionText(state.q === '' ? JSON.stringify(examples[0]?.query) : state.q)
  const { state: evaluation, start, stop } = useEvaluation()
  if (dataset === undefined) return null
  const parsed = parseQuestion(text.value)
  const terms = parsed.valid ? { dataset: dataset.id, query: parsed.query, runs: state.runs } : undefined
  return (
    <>
      <Section title="Question">
        <div className={styles.form}>
          <div className={styles.stack}>
            {datasets.length > 1 && (
              <DatasetField
                datasets={datasets}
                chosen={dataset.id}
                onChange={(id) => {
                  const next = datasets.find((each) => each.id === id)
                  text.set(next === undefined ? '' : indented(JSON.stringify(examplesFor(next)[0]?.query)))
                  change({ dataset: id, q: '' })
                }}
              />
            )}
            <ExampleField
              examples={examples}
              onChange={(query) => {
                text.set(indented(query))
                change({ q: query })
              }}
            />
            <Slider
              label="Runs"
              hint="Each run answers the question with fresh noise."
              value={state.runs}
              scale={{ kind: 'log', lower: 10, upper: 10_000 }}
              range={{ lower: 1, upper: 100_000 }}
              whole
              format={formatExact}
              onChange={(runs) => change({ runs })}
            />
          </div>
          <QuestionField
            text={text.value}
            rule={parsed.valid ? undefined : parsed.rule}
            onChange={(next) => {
              text.set(next)
              const read = parseQuestion(next)
              if (read.valid) change({ q: JSON.stringify(read.query) })
            }}
          />
        </div>
        <Actions terms={terms} evaluation={evaluation} start={start} stop={stop} />
      </Section>
      {evaluation.state === 'failed' && (
        <ProblemNotice
          error={evaluation.error}
          {...(terms === undefined ? {} : { onRetry: () => void start(terms) })}
        />
      )}
      {evaluation.state === 'done' && <Evaluated {...evaluation} />}
    </>
  )
}

function Evaluated({ evaluation, query }: Extract<EvaluationState, { readonly state: 'done' }>) {
  if (!('evaluations' in evaluation)) return <EvaluationView evaluation={evaluation} />
  return <BatchView evaluation={evaluation} batch={isBatch(query) ? query : { queries: [] }} />
}

interface DatasetFieldProps {
  readonly datasets: readonly Dataset[]
  readonly chosen: string
  readonly onChange: (dataset: string) => void
}

function DatasetField({ datasets, chosen, onChange }: DatasetFieldProps) {
  return (
    <Field label="Dataset">
      {(attributes) => (
        <select {...attributes} value={chosen} onChange={(event) => onChange(event.target.value)}>
          {datasets.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface ExampleFieldProps {
  readonly examples: readonly Example[]
  /** Takes the chosen question as JSON. */
  readonly onChange: (query: string) => void
}

function ExampleField({ examples, onChange }: ExampleFieldProps) {
  return (
    <Field label="Example">
      {(attributes) => (
        <select {...attributes} value="" onChange={(event) => onChange(event.target.value)}>
          <option value="" disabled>
            select an example
          </option>
          {examples.map(({ title, query }) => (
            <option key={title} value={JSON.stringify(query)}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface QuestionFieldProps {
  readonly text: string
  readonly rule: string | undefined
  readonly onChange: (text: string) => void
}

function QuestionField({ text, rule, onChange }: QuestionFieldProps) {
  return (
    <Field label="Question as JSON" hint={'Several questions as a batch: {"queries": […]}.'} error={rule}>
      {(attributes) => (
        <textarea
          {...attributes}
          className={styles.question}
          rows={9}
          spellCheck={false}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

function indented(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2)
}

/** Text of a question that starts as the indented JSON of the address, if that is JSON. */
function useQuestionText(initial: string) {
  const [value, set] = useState(() => {
    try {
      return indented(initial)
    } catch {
      return initial
    }
  })
  return { value, set }
}

interface ActionsProps extends Pick<ReturnType<typeof useEvaluation>, 'start' | 'stop'> {
  /** Absent while the question is not valid. */
  readonly terms: EvaluationTerms | undefined
  readonly evaluation: ReturnType<typeof useEvaluation>['state']
}

function Actions({ terms, evaluation, start, stop }: ActionsProps) {
  if (evaluation.state !== 'running')
    return (
      <Button
        look="primary"
        disabled={terms === undefined}
        onClick={() => terms !== undefined && void start(terms)}
      >
        Evaluate
      </Button>
    )
  const { runs, of } = evaluation.progress
  return (
    <div className={styles.progress}>
      <progress aria-label="Progress of the evaluation" max={of} value={runs} />
      <span>
        {formatExact(runs)} of {formatExact(of)} runs
      </span>
      <Button onClick={stop}>Stop</Button>
    </div>
  )
}
