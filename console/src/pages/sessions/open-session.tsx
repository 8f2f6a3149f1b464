import { keepPreviousData, useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { api, client, refreshAll } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { Checkbox, FieldRow, NumberField, NumberFields, Radios } from '../../components/forms/fields.tsx'
import { fieldsOf } from '../../components/forms/fields-of.ts'
import { useDebounced } from '../../components/forms/use-debounced.ts'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Facts } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatCount, formatHalfWidth, formatRisk, formatShare } from '../../format/number.ts'
import { BudgetGauge } from '../datasets/budget-gauge.tsx'
import type { Dataset } from '../datasets/dataset.ts'
import { newKey, type ReadTerms, readTerms, type SessionForm, type SessionRequest } from './session-form.ts'
import styles from './sessions.module.css'

/** A session that was opened now, or one that the terms lead back to. */
export interface OpenedNow {
  readonly id: string
  readonly replayed: boolean
}

interface OpenSessionProps {
  readonly dataset: Dataset
  readonly form: SessionForm
  readonly onChange: (changes: Partial<SessionForm>) => void
  readonly onOpen: (opened: OpenedNow) => void
}

/** Terms of a new session, with its price and accuracy before it is opened. */
export function OpenSession({ dataset, form, onChange, onOpen }: OpenSessionProps) {
  const read = readTerms(form, dataset)
  const preview = usePreview(dataset.id, read)
  const opening = useOpening(dataset.id, onOpen)
  const isAgain = form.again === 'yes'
  const { price } = preview
  return (
    <Section
      title="Open a session"
      lead="A session reports which counts reach a threshold. You pay once, for any number of questions."
    >
      <div className={styles.form}>
        <BudgetGauge dataset={dataset.id} proposed={price?.cost} />
        <TermFields
          dataset={dataset}
          form={form}
          read={read}
          onChange={(changes) => {
            opening.reset()
            onChange(changes)
          }}
        />
        <Checkbox
          label="Open a further session, even if I have paid for one with these terms"
          hint="Otherwise terms that you have paid for lead back to their session, free."
          value={isAgain}
          onChange={(again) => onChange({ again: again ? 'yes' : '' })}
        />
        {read.kind === 'open' && <p className={styles.quiet}>Complete the terms to see the price.</p>}
        {preview.error !== null && <ProblemNotice error={preview.error} onRetry={preview.retry} />}
        {preview.shown !== undefined && <PreviewFacts preview={preview.shown} isAgain={isAgain} />}
        {opening.error !== null && <ProblemNotice error={opening.error} />}
        <div>
          <Button
            look="primary"
            busy={opening.isPending || (read.kind === 'complete' && preview.isPending)}
            disabled={read.kind === 'open' || preview.error !== null}
            onClick={() =>
              read.kind === 'complete' && opening.mutate({ request: read.request, again: isAgain })
            }
          >
            {price === undefined ? 'Open' : buttonText(price, isAgain)}
          </Button>
        </div>
      </div>
    </Section>
  )
}

/** Previews terms once they have not changed for a moment. */
function usePreview(dataset: string, read: ReadTerms) {
  const current = read.kind === 'complete' ? JSON.stringify(read.request) : ''
  const settled = useDebounced(current)
  const isComplete = current !== '' && settled !== ''
  const body = (settled === '' ? {} : JSON.parse(settled)) as SessionRequest
  const { data, error, isPlaceholderData, refetch } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/sparse-vector-sessions/preview',
    { params: { path: { dataset } }, body },
    { placeholderData: keepPreviousData, enabled: isComplete },
  )
  const isCurrent = isComplete && !isPlaceholderData && settled === current
  const shown = isComplete && error === null ? data : undefined
  return {
    /** Schemas['SessionPreview'] of these terms, or of earlier ones until it has arrived. */
    shown,
    /** Schemas['SessionPreview'] of exactly these terms. */
    price: isCurrent ? shown : undefined,
    error: isComplete ? error : null,
    isPending: error === null && !(isCurrent && data !== undefined),
    retry: refetch,
  }
}

/** Opens sessions. A repeat of the same opening, after a lost connection or a second click, is charged once. */
function useOpening(dataset: string, onOpen: (opened: OpenedNow) => void) {
  const keys = useRef(new Map<string, string>())
  const keyOf = (request: SessionRequest) => {
    const terms = JSON.stringify(request)
    const key = keys.current.get(terms) ?? newKey()
    keys.current.set(terms, key)
    return key
  }
  return useMutation({
    mutationFn: ({ request, again }: { readonly request: SessionRequest; readonly again: boolean }) =>
      client.dataset(dataset).session({
        ...(request as Parameters<ReturnType<typeof client.dataset>['session']>[0]),
        ...(again ? { idempotencyKey: keyOf(request) } : {}),
      }),
    onSuccess: async ({ id, replayed }, { again }) => {
      // With a key of its own, a replay is a repeat of this opening.
      onOpen({ id, replayed: replayed && !again })
      await refreshAll()
    },
  })
}

interface TermFieldsProps extends Pick<OpenSessionProps, 'dataset' | 'form' | 'onChange'> {
  readonly read: ReadTerms
}

function TermFields({ dataset, form, read, onChange }: TermFieldsProps) {
  const field = fieldsOf(form, onChange)
  const { privacyUnit } = dataset
  const rules = read.kind === 'open' ? read.rules : {}
  return (
    <>
      {privacyUnit.kind === 'person' && (
        <Radios
          legend="Count"
          {...field('of')}
          choices={[
            { value: 'rows', label: 'Rows', hint: 'A person counts with each of their rows.' },
            { value: 'people', label: 'People', hint: 'A person counts once, which needs less noise.' },
          ]}
        />
      )}
      <FieldRow>
        <NumberFields
          form={form}
          rules={rules}
          fields={[
            ['threshold', `Threshold (${form.of})`, 'Each question asks if a count reaches it.'],
            ['positives', 'Positives', 'The session ends after this number of answers above the threshold.'],
            ['epsilon', 'Epsilon', 'Price of all questions together.'],
          ]}
          onChange={onChange}
        />
        {privacyUnit.kind === 'person' && form.of === 'rows' && (
          <NumberField
            label="Rows of each person"
            hint={`Fewer rows need less noise, but leave more data out. Default: ${privacyUnit.maxRows}.`}
            {...field('rows')}
            rule={rules.rows}
          />
        )}
      </FieldRow>
    </>
  )
}

function buttonText({ paid, price }: Schemas['SessionPreview'], isAgain: boolean): string {
  return paid && !isAgain ? 'Return to the paid session, free' : `Open for ${formatAmount(price)}`
}

interface PreviewFactsProps {
  readonly preview: Schemas['SessionPreview']
  readonly isAgain: boolean
}

function PreviewFacts({ preview, isAgain }: PreviewFactsProps) {
  const { accuracy, price, disclosureRisk, affordable, of = 'rows' } = preview
  return (
    <>
      <Facts
        facts={[
          ['Price', preview.paid && !isAgain ? 'paid already' : formatAmount(price)],
          ...accuracy.halfWidths.map(
            ({ questions, halfWidth }) =>
              [
                `Margin for ${formatCount(questions, 'question')}`,
                `± ${formatHalfWidth(halfWidth)} ${of} at ${formatShare(accuracy.confidence)}`,
              ] as const,
          ),
          ['An adversary guesses right', `at most ${formatRisk(disclosureRisk.query.risk)}`],
        ]}
      />
      {!affordable && (
        <Notice tone="cost" title="The budget does not suffice">
          Choose a smaller epsilon, or ask the custodian to raise the budget.
        </Notice>
      )}
    </>
  )
}
