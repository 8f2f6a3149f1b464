import { memo } from 'react'
import { useBatchPreview } from '../../api/batch-preview.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { Radios } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Table } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatHalfWidth, formatRisk } from '../../format/number.ts'
import { questionText } from '../answers/question-text.ts'
import type { AskedDataset } from '../datasets/dataset.ts'
import styles from './ask.module.css'
import { RemoveButton } from './fields.tsx'
import { BudgetAfter } from './price/preview-figures.tsx'
import type { BatchTerms, Question } from './question/question.ts'
import type { Draft } from './question/question-address.ts'
import type { Asked } from './use-asking.ts'

export interface BatchSectionProps {
  readonly dataset: AskedDataset
  readonly queries: readonly Question[]
  readonly terms: BatchTerms
  /** Changes the batch, or puts a question of it into the form. */
  readonly onChange: (changes: Partial<Draft>) => void
  /** True if made-up rows answer, at no cost. */
  readonly practice: boolean
  readonly busy: boolean
  readonly onAsk: (asked: Asked) => void
}

/** Questions that are charged together, all or none, and their common price. It is drawn again only if they change. */
export const BatchSection = memo(function BatchSection(props: BatchSectionProps) {
  const { dataset, queries, terms, practice, busy, onChange, onAsk } = props
  const { data, error, isPlaceholderData, refetch } = useBatchPreview(dataset.id, queries, terms)
  const preview = isPlaceholderData || error !== null ? undefined : data
  return (
    <Section title="Batch" lead="Asked together for one price, all or none.">
      <div className={styles.price}>
        <BatchTable queries={queries} answers={preview?.answers ?? []} onChange={onChange} />
        {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
        {preview !== undefined && <PlanChoice preview={preview} onChange={onChange} />}
        {preview !== undefined && <BatchFigures preview={preview} practice={practice} />}
        <div>
          <Button
            look="primary"
            busy={busy || (!practice && preview === undefined)}
            disabled={error !== null}
            onClick={() => onAsk({ questions: queries, terms, practice })}
          >
            {practice || preview === undefined
              ? 'Ask the batch'
              : preview.paid
                ? 'Ask the batch again, free'
                : `Ask the batch for ${formatAmount(preview.cost)}`}
          </Button>
        </div>
      </div>
    </Section>
  )
})

interface BatchTableProps extends Pick<BatchSectionProps, 'queries' | 'onChange'> {
  readonly answers: readonly BatchPart[]
}

function BatchTable({ queries, answers, onChange }: BatchTableProps) {
  return (
    <Table
      label="Questions of the batch"
      rows={queries}
      keyOf={(_, place) => String(place)}
      columns={[
        ['Question', questionText],
        ['Price alone', (_, place) => alone(answers[place]), 'right'],
        ['±', (_, place) => halfWidthOf(answers[place]), 'right'],
        [
          '',
          (question, place) => (
            <div className={styles.actions}>
              <Button look="quiet" onClick={() => onChange({ question })}>
                Open
              </Button>
              <RemoveButton
                label={`Remove question ${place + 1}`}
                onRemove={() => onChange({ batch: queries.toSpliced(place, 1), terms: {} })}
              />
            </div>
          ),
        ],
      ]}
    />
  )
}

interface PlanChoiceProps extends Pick<BatchSectionProps, 'onChange'> {
  readonly preview: Schemas['BatchPreview']
}

/** The price of the batch under each plan, and the choice between them. */
function PlanChoice({ preview: { plan, plans }, onChange }: PlanChoiceProps) {
  const { separate, together } = plans
  if (!('price' in together)) return null
  return (
    <Radios
      legend="Plan"
      value={plan}
      choices={[
        {
          value: 'together',
          label: `Together for ${formatAmount(together.price)}`,
          hint: 'The answers agree with each other, and no ± is larger than alone.',
        },
        {
          value: 'separate',
          label: `Each by itself for ${formatAmount(separate.price)}`,
          hint: 'Every answer has noise of its own.',
        },
      ]}
      onChange={(chosen) => onChange({ terms: { plan: chosen } })}
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
        {preview.paid ? 'Paid already' : `The batch costs ${formatAmount(preview.cost)}`}; one by one{' '}
        {formatAmount(preview.sumOfPrices)}. An adversary guesses right at most{' '}
        {formatRisk(preview.disclosureRisk.query.risk)}.
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
  if (estimates === undefined) return 'depends on the data'
  return Object.entries(estimates)
    .map(([name, each]) => `${name} ${each.halfWidth === null ? 'unknown' : formatHalfWidth(each.halfWidth)}`)
    .join(', ')
}
