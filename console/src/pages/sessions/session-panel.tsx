import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { components } from 'sotto-client'
import { api, bodyOf, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatExact } from '../../format/number.ts'
import { predicateText } from '../answers/question-text.ts'
import { ConditionField } from '../ask/condition-field.tsx'
import { initialCondition } from '../ask/kinds.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './sessions.module.css'

type Schemas = components['schemas']
type SessionAnswer = Schemas['Session']['answers'][number]

/** Most answers that are listed. */
const LISTED_ANSWERS = 100

interface SessionPanelProps {
  readonly id: string
  readonly dataset: Dataset
  readonly onLeave: () => void
}

/** A session: what is left of it, its next question, and its answers. */
export function SessionPanel({ id, dataset, onLeave }: SessionPanelProps) {
  const { data, error, refetch } = api.useQuery('get', '/v1/sparse-vector-sessions/{id}', {
    params: { path: { id }, query: { limit: String(LISTED_ANSWERS) } },
  })
  if (error !== null)
    return (
      <>
        <ProblemNotice error={error} onRetry={refetch} />
        <Button onClick={onLeave}>Leave the session</Button>
      </>
    )
  if (data === undefined) return <Loading what="the session" />
  return (
    <>
      <Section
        title={`At least ${formatExact(data.threshold)} ${data.of ?? 'rows'}?`}
        aside={<Button onClick={onLeave}>Leave the session</Button>}
        lead="You can return to the session by its address, or from the list of your sessions."
      >
        <Facts
          facts={[
            ['Positives left', `${data.positivesLeft} of ${data.positives}`],
            ['Questions answered', formatExact(data.answered)],
            ['Paid', formatAmount(data.cost)],
          ]}
        />
        {data.positivesLeft === 0 ? (
          <Notice title="The session is over">All its positives are used. Its answers stay available.</Notice>
        ) : (
          <NextQuestion id={id} dataset={dataset} onAnswer={refetch} />
        )}
      </Section>
      <Answers session={data} />
    </>
  )
}

interface NextQuestionProps {
  readonly id: string
  readonly dataset: Dataset
  readonly onAnswer: () => Promise<unknown>
}

function NextQuestion({ id, dataset, onAnswer }: NextQuestionProps) {
  const [where, setWhere] = useState(() => initialCondition(dataset))
  const asking = useMutation({
    mutationFn: () =>
      bodyOf(
        requests.POST('/v1/sparse-vector-sessions/{id}/questions', {
          params: { path: { id } },
          body: { where: where as unknown as Schemas['Predicate'] },
        }),
      ),
    onSettled: onAnswer,
  })
  return (
    <div className={styles.form}>
      <ConditionField
        label="Rows where"
        dataset={dataset}
        value={where}
        required
        onChange={(next) => {
          asking.reset()
          setWhere(next ?? initialCondition(dataset))
        }}
      />
      <div>
        <Button look="primary" busy={asking.isPending} onClick={() => asking.mutate()}>
          Ask, paid with the session
        </Button>
      </div>
      {asking.error !== null && <ProblemNotice error={asking.error} />}
      {asking.data !== undefined && (
        <Notice tone="success">
          Question {asking.data.question}: {asking.data.above ? 'above' : 'below'} the threshold.
        </Notice>
      )}
    </div>
  )
}

function Answers({ session }: { readonly session: Schemas['Session'] }) {
  return (
    <Section title="Answers" lead="Newest first. Threshold plus gap estimates the count.">
      <Table
        label="Answers of the session"
        rows={session.answers}
        keyOf={({ question }: SessionAnswer) => String(question)}
        empty="No question has been asked in this session."
        columns={[
          { title: 'No.', align: 'right', cell: ({ question }) => question },
          { title: 'Rows where', cell: ({ where }) => predicateText(where) },
          { title: 'Answer', cell: ({ above }) => (above ? 'above' : 'below') },
          {
            title: 'Gap',
            align: 'right',
            cell: ({ gap }) => (gap === undefined ? '' : formatExact(gap)),
          },
        ]}
      />
      {session.next !== undefined && (
        <p className={styles.quiet}>Only the newest {LISTED_ANSWERS} answers are listed.</p>
      )}
    </Section>
  )
}
