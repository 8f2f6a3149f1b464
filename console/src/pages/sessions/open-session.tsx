import { keepPreviousData, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { components } from 'sotto-client'
import { api, client } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Notice } from '../../components/notice.tsx'
import { NumberField } from '../../components/number-field.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { formatAmount } from '../../format/amount.ts'
import { formatExact, formatHalfWidth, formatRisk, formatShare, numberOf } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './sessions.module.css'

type Preview = components['schemas']['SessionPreview']

interface OpenSessionProps {
  readonly dataset: Dataset
  readonly onOpen: (id: string) => void
}

/** Terms of a new session, with its price and accuracy before it is opened. */
export function OpenSession({ dataset, onOpen }: OpenSessionProps) {
  const [typed, setTyped] = useState({ threshold: '20000', positives: '3', epsilon: '0.5' })
  const terms = {
    threshold: numberOf(typed.threshold) ?? 0,
    positives: numberOf(typed.positives) ?? 0,
    epsilon: numberOf(typed.epsilon) ?? 0,
  }
  const current = JSON.stringify(terms)
  const settled = useDebounced(current)
  const { data, error, isPlaceholderData } = api.useQuery(
    'post',
    '/v1/datasets/{dataset}/sparse-vector-sessions/preview',
    { params: { path: { dataset: dataset.id } }, body: JSON.parse(settled) as typeof terms },
    { placeholderData: keepPreviousData, retry: false },
  )
  const queries = useQueryClient()
  const opening = useMutation({
    mutationFn: () => client.dataset(dataset.id).session(terms),
    onSuccess: async ({ id }) => {
      onOpen(id)
      await queries.invalidateQueries()
    },
  })
  const isPriced = data !== undefined && !isPlaceholderData && settled === current
  const set = (name: keyof typeof typed) => (value: string) => setTyped({ ...typed, [name]: value })
  return (
    <Section
      title="Open a session"
      lead="A session reports which counts reach a threshold. You pay once, for any number of questions."
    >
      <div className={styles.form}>
        <NumberField label="Threshold (rows)" value={typed.threshold} onChange={set('threshold')} />
        <NumberField
          label="Positives"
          hint="The session ends after this number of answers above the threshold."
          value={typed.positives}
          onChange={set('positives')}
        />
        <NumberField label="Epsilon" value={typed.epsilon} onChange={set('epsilon')} />
        {error !== null && <ProblemNotice error={error} />}
        {error === null && data !== undefined && <PreviewFacts preview={data} />}
        {opening.error !== null && <ProblemNotice error={opening.error} />}
        <div>
          <Button
            look="primary"
            busy={opening.isPending || !isPriced}
            disabled={error !== null}
            onClick={() => opening.mutate()}
          >
            {isPriced ? `Open for ${formatAmount(data.cost)}` : 'Open'}
          </Button>
        </div>
        <p className={styles.quiet}>
          The terms of a session that you have paid before lead back to it, free. Change a term to open
          another.
        </p>
      </div>
    </Section>
  )
}

function PreviewFacts({ preview }: { readonly preview: Preview }) {
  const { accuracy, cost, disclosureRisk, affordable } = preview
  return (
    <>
      <Facts
        facts={[
          ['Price', formatAmount(cost)],
          ...accuracy.margins.map(
            ({ questions, margin }) =>
              [
                `Margin for ${formatExact(questions)} questions`,
                `± ${formatHalfWidth(margin)} at ${formatShare(accuracy.confidence)}`,
              ] as const,
          ),
          ['An adversary guesses right', `at most ${formatRisk(disclosureRisk.query.risk)}`],
        ]}
      />
      {!affordable && (
        <Notice tone="cost" title="The budget does not suffice">
          Choose a smaller epsilon. A session that you have paid before is still free.
        </Notice>
      )}
    </>
  )
}
