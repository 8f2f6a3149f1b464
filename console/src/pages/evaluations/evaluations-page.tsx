import { useState } from 'react'
import { api, useMe } from '../../api/api.ts'
import { type Attempt, useAttempt } from '../../api/use-attempt.ts'
import { useAddressState } from '../../components/address/use-address-state.ts'
import { Button } from '../../components/forms/button.tsx'
import { SelectField, TextAreaField } from '../../components/forms/fields.tsx'
import { Slider } from '../../components/forms/slider.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Facts } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatExact } from '../../format/number.ts'
import { questionText } from '../answers/question-text.ts'
import { readQuestion } from '../ask/question/read-question.ts'
import type { Dataset } from '../datasets/dataset.ts'
import { type Evaluated as EvaluatedQuery, evaluate } from './evaluate.ts'
import type { BatchEvaluation, Progress } from './evaluation-stream.ts'
import { EvaluationView } from './evaluation-view.tsx'
import styles from './evaluations.module.css'
import { type BatchBody, bodyOf, examplesFor, isBatch } from './examples.ts'

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
  const [text, setText] = useState(() => indented(state.q || JSON.stringify(examples[0]?.query)))
  const { attempt, start, stop } = useAttempt<Progress, EvaluatedQuery>()
  if (dataset === undefined) return null
  const read = readQuestion(text)
  const query = bodyOf(read)
  const { runs } = state
  const evaluateNow =
    query &&
    (() =>
      void start({ runs: 0, of: runs }, (options) => evaluate({ dataset: dataset.id, query, runs }, options)))
  return (
    <>
      <Section title="Question">
        <div className={styles.form}>
          <div className={styles.stack}>
            {datasets.length > 1 && (
              <SelectField
                label="Dataset"
                value={dataset.id}
                options={datasets.map(({ id, title }) => [id, title])}
                onChange={(id) => {
                  const next = datasets.find((each) => each.id === id)
                  setText(next === undefined ? '' : indented(JSON.stringify(examplesFor(next)[0]?.query)))
                  change({ dataset: id, q: '' })
                }}
              />
            )}
            <SelectField
              label="Example"
              value=""
              options={[
                ['', 'select an example', true],
                ...examples.map(({ title, query }) => [JSON.stringify(query), title] as const),
              ]}
              onChange={(query) => {
                setText(indented(query))
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
          <TextAreaField
            label="Question as JSON"
            hint={'Several questions as a batch: {"queries": […]}.'}
            error={'error' in read ? read.error : undefined}
            className={styles.question}
            rows={9}
            spellCheck={false}
            value={text}
            onChange={(next) => {
              setText(next)
              const body = bodyOf(readQuestion(next))
              if (body !== undefined) change({ q: JSON.stringify(body) })
            }}
          />
        </div>
        <Actions attempt={attempt} onStart={evaluateNow} onStop={stop} />
      </Section>
      {attempt.state === 'failed' && <ProblemNotice error={attempt.error} onRetry={evaluateNow} />}
      {attempt.state === 'done' && <Evaluated {...attempt.result} />}
    </>
  )
}

function Evaluated({ evaluation, query }: EvaluatedQuery) {
  if (!('evaluations' in evaluation)) return <EvaluationView evaluation={evaluation} />
  return <BatchView evaluation={evaluation} batch={isBatch(query) ? query : { queries: [] }} />
}

/** Indents JSON; another text, which may come from the address, stays. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface ActionsProps {
  readonly attempt: Attempt<Progress, EvaluatedQuery>
  /** Absent while the question is not valid. */
  readonly onStart: (() => void) | undefined
  readonly onStop: () => void
}

function Actions({ attempt, onStart, onStop }: ActionsProps) {
  if (attempt.state !== 'running')
    return (
      <Button look="primary" disabled={onStart === undefined} onClick={onStart}>
        Evaluate
      </Button>
    )
  const { runs, of } = attempt.progress
  return (
    <div className={styles.progress}>
      <progress aria-label="Progress of the evaluation" max={of} value={runs} />
      <span>
        {formatExact(runs)} of {formatExact(of)} runs
      </span>
      <Button onClick={onStop}>Stop</Button>
    </div>
  )
}

interface BatchViewProps {
  readonly evaluation: BatchEvaluation
  readonly batch: BatchBody
}

/** Price of a batch, and the errors of the answers to each of its queries. */
function BatchView({ evaluation, batch }: BatchViewProps) {
  const { evaluations, cost, sumOfPrices } = evaluation
  return (
    <>
      <Section title="Price of the batch" lead="It is not charged.">
        <Facts
          facts={[
            ['Queries', formatExact(evaluations.length)],
            ['As a batch', formatAmount(cost)],
            ['Asked separately', formatAmount(sumOfPrices)],
          ]}
        />
      </Section>
      {evaluations.map((each, place) => {
        const query = batch.queries[place]
        const text =
          query === undefined ? each.kind : questionText(query as Readonly<Record<string, unknown>>)
        // A batch may contain the same query twice.
        // biome-ignore lint/suspicious/noArrayIndexKey: the queries of a batch have no other identity
        return <EvaluationView key={place} evaluation={each} title={`${place + 1}. ${text}`} />
      })}
    </>
  )
}
