import { useState } from 'react'
import type { Amount, components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { saveFile } from '../../api/save-file.ts'
import { Button } from '../../components/button.tsx'
import { Checkbox } from '../../components/choice.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { Picture } from '../../components/picture.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { useTheme } from '../../components/use-theme.ts'
import { formatAmount } from '../../format/amount.ts'
import { formatHalfWidth, formatShare } from '../../format/number.ts'
import { type AnswerCell, csvOf, tableOf } from './answer-table.ts'
import { type AnswerPart, answerText, valueText } from './answer-text.ts'
import styles from './answers.module.css'
import { QuestionCode } from './question-code-section.tsx'
import { type Question, questionText } from './question-text.ts'

type Schemas = components['schemas']

/** Answer to a question or a batch, stored or from made-up rows. */
export type AnswerDocument =
  | Schemas['Answer']
  | Schemas['BatchAnswer']
  | Schemas['DummyAnswer']
  | Schemas['DummyBatchAnswer']

export interface AnswerViewProps {
  readonly document: AnswerDocument
  /** True if a stored answer was sent again, at no cost. */
  readonly replayed?: boolean
}

/** An answer: its values with their half-widths, a picture, post-processing, and what it cost. */
export function AnswerView({ document, replayed = false }: AnswerViewProps) {
  const isDummy = 'dummy' in document
  const [processing, setProcessing] = useState({ round: false, nonNegative: false })
  const isProcessed = processing.round || processing.nonNegative
  const {
    data: processed,
    error,
    isFetching,
  } = api.useQuery(
    'post',
    '/v1/releases/{id}/postprocess',
    { params: { path: { id: document.id } }, body: processing },
    { enabled: isProcessed && !isDummy, staleTime: Number.POSITIVE_INFINITY },
  )
  const shown = isProcessed && processed !== undefined ? processed : document
  return (
    <Section title="Answer" lead={costSentence(document, replayed)}>
      {isDummy && (
        <Notice tone="cost" title="Made-up rows">
          The answer is about made-up rows that fit the declaration. It says nothing about the data.
        </Notice>
      )}
      {'answers' in shown ? (
        shown.answers.map((part, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the answers of a batch have no other name
          <div key={place} className={styles.part}>
            <h3>{partTitle(shown, place)}</h3>
            <Values part={part} />
          </div>
        ))
      ) : (
        <Values part={shown} />
      )}
      {!isDummy && (
        <>
          <div className={styles.processing}>
            <Checkbox
              label="Round to whole numbers"
              checked={processing.round}
              onChange={(round) => setProcessing({ ...processing, round })}
            />
            <Checkbox
              label="Replace negative values by 0"
              checked={processing.nonNegative}
              onChange={(nonNegative) => setProcessing({ ...processing, nonNegative })}
            />
            <span className={styles.free}>Free: it uses the paid answer only.</span>
          </div>
          {isProcessed && isFetching && <Loading what="the post-processed values" />}
          {isProcessed && error !== null && <ProblemNotice error={error} />}
          <ReleasePicture id={document.id} label={answerText(document)} />
        </>
      )}
      <Downloads document={shown} />
      {document.question !== undefined && (
        <QuestionCode
          question={document.question as Question}
          dataset={document.dataset}
          practice={isDummy}
        />
      )}
    </Section>
  )
}

function costSentence(document: AnswerDocument, replayed: boolean): string {
  const { budget } = document
  const left = `${formatAmount(budget.remaining)} of ${formatAmount(budget.cap)} left`
  if ('dummy' in document) return `Free. On the data it would cost ${formatAmount(document.cost)}.`
  if (replayed) return `Free: this question was paid before${paidText(document)}. ${left}.`
  return `Cost ${formatAmount(document.cost)}. ${left}.`
}

function paidText({ paid }: { readonly paid?: Amount }): string {
  return paid === undefined ? '' : `, with ${formatAmount(paid)}`
}

function partTitle(document: Extract<AnswerDocument, { answers: unknown }>, place: number): string {
  const question = document.question?.queries[place] as Question | undefined
  return question === undefined ? `Question ${place + 1}` : questionText(question)
}

interface NumberedRow {
  readonly cells: readonly AnswerCell[]
  readonly place: number
}

/** Values of one answer: a large number, or a table. */
function Values({ part }: { readonly part: AnswerPart }) {
  const { result, accuracy } = part
  const table = tableOf(part)
  if (table === undefined)
    return 'value' in result ? (
      <div className={styles.figure}>
        <output className={styles.value}>{valueText(result.value)}</output>
        <span className={styles.bound}>{boundSentence(accuracy)}</span>
      </div>
    ) : null
  return (
    <>
      <Table
        label="Values"
        rows={table.rows.map((cells, place) => ({ cells, place }))}
        keyOf={({ place }: NumberedRow) => String(place)}
        columns={table.columns.map(({ title, isNumber }, column) => ({
          key: String(column),
          title,
          align: isNumber ? ('right' as const) : ('left' as const),
          cell: ({ cells }: NumberedRow) => cells[column]?.shown,
        }))}
        empty="The answer is empty."
      />
      <p className={styles.free}>
        Half-widths (±) hold with a probability of {formatShare(accuracy.confidence)}.
      </p>
    </>
  )
}

function boundSentence({ halfWidth, unit, confidence, reason }: AnswerPart['accuracy']): string {
  if (halfWidth === null) return reason ?? 'No bound on the error is known.'
  const shown = `± ${formatHalfWidth(halfWidth)}`
  const of = unit === 'rows' || unit === 'people' ? ` ${unit} in rank` : unit === undefined ? '' : ` ${unit}`
  return `${shown}${of}, with a probability of ${formatShare(confidence)}`
}

/** Picture of a release in the colours of the page. */
function ReleasePicture({ id, label }: { readonly id: string; readonly label: string }) {
  const theme = useTheme()
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/plot',
    { params: { path: { id }, query: { theme } }, parseAs: 'text' },
    { staleTime: Number.POSITIVE_INFINITY },
  )
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (typeof data !== 'string') return <div className={styles.awaited} />
  return (
    <>
      <Picture svg={data} label={`Chart: ${label}`} />
      <Button
        look="quiet"
        onClick={() => saveFile(`release-${id}.svg`, new Blob([data], { type: 'image/svg+xml' }))}
      >
        Download SVG
      </Button>
    </>
  )
}

function Downloads({ document }: { readonly document: AnswerDocument }) {
  const parts: readonly AnswerPart[] = 'answers' in document ? document.answers : [document]
  const tables = parts.flatMap((part) => tableOf(part) ?? [])
  const [table] = tables
  return (
    <div className={styles.downloads}>
      {tables.length === 1 && table !== undefined && (
        <Button
          look="quiet"
          onClick={() =>
            saveFile(`release-${document.id}.csv`, new Blob([csvOf(table)], { type: 'text/csv' }))
          }
        >
          Download CSV
        </Button>
      )}
    </div>
  )
}
