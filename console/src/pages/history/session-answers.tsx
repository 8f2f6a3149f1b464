import { api } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { DateTime } from '../../components/date-time.tsx'
import { Loading } from '../../components/loading.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatEstimate } from '../../format/number.ts'
import { predicateText } from '../answers/question-text.ts'

/** Most answers of a session that are listed. */
const MOST_ANSWERS = '100'

/** Answers of a sparse vector session. Only the analyst who opened it may read them. */
export function SessionAnswers({ id }: { readonly id: string }) {
  const me = useMe()
  return me?.role === 'analyst' ? (
    <OwnAnswers id={id} />
  ) : (
    <Section title="Answers">
      <p>Only the analyst who opened the session may read its answers.</p>
    </Section>
  )
}

function OwnAnswers({ id }: { readonly id: string }) {
  const { data, error, refetch } = api.useQuery('get', '/v1/sparse-vector-sessions/{id}', {
    params: { path: { id }, query: { limit: MOST_ANSWERS } },
  })
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (data === undefined) return <Loading what="the session" />
  const { answers, answered, positivesLeft, positives, threshold } = data
  return (
    <Section
      title="Answers"
      lead={
        `Each question asks if a count is at least ${formatEstimate(threshold)}. ` +
        `${positivesLeft} of ${positives} answers "above" are left.` +
        (answered > answers.length ? ` The newest ${answers.length} of ${answered} answers:` : '')
      }
    >
      <Table
        label="Answers of the session"
        rows={answers}
        keyOf={({ question }) => String(question)}
        empty="No question has been asked in this session."
        columns={[
          { title: '#', cell: ({ question }) => question },
          { title: 'Rows where', cell: ({ where }) => predicateText(where) },
          {
            title: 'Answer',
            cell: ({ above }) => (above ? <Pill tone="accent">above</Pill> : <Pill>below</Pill>),
          },
          {
            title: 'Count, about',
            align: 'right',
            cell: ({ gap }) => (gap === undefined ? '' : formatEstimate(threshold + gap)),
          },
          { title: 'Answered (UTC)', cell: ({ answeredAt }) => <DateTime value={answeredAt} /> },
        ]}
      />
    </Section>
  )
}
