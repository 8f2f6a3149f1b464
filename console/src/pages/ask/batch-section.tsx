import { keepPreviousData } from '@tanstack/react-query'
import { memo } from 'react'
import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatHalfWidth, formatRisk } from '../../format/number.ts'
import { questionText } from '../answers/question-text.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './ask.module.css'
import { BudgetAfter } from './preview-figures.tsx'
import { isQuestion, type Question } from './question.ts'
import type { Draft } from './question-address.ts'
import type { Asked } from './use-asking.ts'

type Schemas = components['schemas']

export interface BatchSectionProps {
  readonly dataset: Dataset
  readonly queries: readonly Question[]
  /** Changes the batch, or puts a question of it into the form. */
  readonly onChange: (changes: Partial<Draft>) => void
  /** True if made-up rows answer, at no cost. */
  readonly practice: boolean
  readonly busy: boolean
  readonly onAsk: (asked: Asked) => void
}

/** Questions that are charged together, all or none, and their common price. It is drawn again only if they change. */
export const BatchSection = memo(function BatchSection(props: BatchSectionProps) {
  const { dataset, queries, practice, busy, onChange, onAsk } = props
  const { preview, error, retry } = useBatchPreview(dataset.id, queries)
  return (
    <Section title="Batch" lead="Asked together for one price, all or none.">
      <div className={styles.price}>
        <BatchTable queries={queries} answers={preview?.answers ?? []} onChange={onChange} />
        {error !== null && <ProblemNotice error={error} onRetry={retry} />}
        {preview !== undefined && <BatchFigures preview={preview} practice={practice} />}
        <div>
          <Button
            look="primary"
            busy={busy || (!practice && preview === undefined)}
            disabled={error !== null}
            onClick={() => onAsk({ questions: queries, isBatch: true, practice })}
          >
            {practice || preview === undefined
              ? 'Ask the batch'
              : `Ask the batch for ${formatAmount(preview.cost)}`}
          </Button>
        </div>
      </div>
    </Section>
  )
})

/** Returns the preview of a batch, undefined while it is not known. */
function useBatchPreview(id: string, queries: readonly Question[]) {
  const { data, error, isPlaceholderData, refetch } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/batch/preview',
    { params: { path: { dataset: id } }, body: { queries: queries as unknown as Schemas['Query'][] } },
    { placeholderData: keepPreviousData },
  )
  return { preview: isPlaceholderData || error !== null ? undefined : data, error, retry: refetch }
}

interface BatchRow {
  readonly question: Question
  readonly place: number
}

interface BatchTableProps extends Pick<BatchSectionProps, 'queries' | 'onChange'> {
  readonly answers: readonly BatchPart[]
}

function BatchTable({ queries, answers, onChange }: BatchTableProps) {
  return (
    <Table
      label="Questions of the batch"
      rows={queries.map((question, place) => ({ question, place }))}
      keyOf={({ place }: BatchRow) => String(place)}
      columns={[
        { title: 'Question', cell: ({ question }) => questionText(question as never) },
        { title: 'Price alone', align: 'right', cell: ({ place }) => alone(answers[place]) },
        { title: '±', align: 'right', cell: ({ place }) => halfWidthOf(answers[place]) },
        {
          title: '',
          key: 'actions',
          cell: ({ question, place }) => (
            <div className={styles.actions}>
              <Button look="quiet" onClick={() => onChange({ question })}>
                Open
              </Button>
              <Button
                look="quiet"
                aria-label={`Remove question ${place + 1}`}
                title={`Remove question ${place + 1}`}
                onClick={() => onChange({ batch: queries.toSpliced(place, 1) })}
              >
                <span aria-hidden="true">✕</span>
              </Button>
            </div>
          ),
        },
      ]}
    />
  )
}

interface BatchFiguresProps {
  readonly preview: Schemas['BatchPreview']
  readonly practice: boolean
}

function BatchFigures({ preview, practice }: BatchFiguresProps) {
  return (
    <>
      <p className={styles.quiet}>
        Together {formatAmount(preview.cost)}; one by one {formatAmount(preview.sumOfPrices)}. An adversary
        guesses right at most {formatRisk(preview.disclosureRisk.query.risk)}.
      </p>
      <BudgetAfter preview={preview} subject="the batch" />
      {!practice && !preview.affordable && (
        <Notice tone="cost" title="The budget does not suffice">
          Remove a question or choose a smaller epsilon.
        </Notice>
      )}
    </>
  )
}

type BatchPart = Schemas['BatchPreview']['answers'][number]

function alone(part: BatchPart | undefined): string {
  return part === undefined ? '' : formatAmount(part.price)
}

function halfWidthOf(part: BatchPart | undefined): string {
  if (part === undefined) return ''
  const { halfWidth, estimates } = part.accuracy
  if (halfWidth !== null) return formatHalfWidth(halfWidth)
  return isQuestion(estimates) ? 'by statistic' : 'depends on the data'
}
