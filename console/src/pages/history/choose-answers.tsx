import { Link, useLocation } from 'wouter'
import { api } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import { answerText, type StoredDocument } from '../answers/answer-text.ts'
import { questionText } from '../answers/question-text.ts'
import { AnswerSide, useRelease } from './answer-side.tsx'
import styles from './history.module.css'
import { type ListedRelease, type ReleasePage, releaseParameters } from './release.ts'

/** Answers from which the second is chosen. */
const MOST_CANDIDATES = 50

/** Form that asks for the ids of two answers. */
export function ChooseAnswers() {
  const [, navigate] = useLocation()
  const compare = (form: FormData) =>
    navigate(comparisonAddress(String(form.get('one')).trim(), String(form.get('other')).trim()))
  return (
    <form className={styles.choose} action={compare}>
      <Field label="Id of the first answer">
        {(attributes) => <input {...attributes} name="one" required />}
      </Field>
      <Field
        label="Id of the second answer"
        hint={
          <>
            You can also choose two answers in the <Link href="/history">history</Link>.
          </>
        }
      >
        {(attributes) => <input {...attributes} name="other" required />}
      </Field>
      <div>
        <Button type="submit" look="primary">
          Compare
        </Button>
      </div>
    </form>
  )
}

/** List of the newest answers of the same kind, from which the second is chosen. */
export function ChooseSecond({ one }: { readonly one: string }) {
  const { data, error, refetch } = useRelease(one)
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (data === undefined) return <Loading what="the answer" />
  return (
    <>
      <AnswerSide title="First" document={data} />
      <Section title="Second" lead="The newest answers of the same kind.">
        <Candidates document={data} />
      </Section>
    </>
  )
}

function Candidates({ document }: { readonly document: StoredDocument }) {
  const isOwn = useMe()?.role === 'analyst'
  const kind = 'kind' in document ? document.kind : 'batch'
  const { data, error, refetch } = api.useQuery('get', '/v1/releases', {
    params: { query: releaseParameters({ kind }, MOST_CANDIDATES) },
  })
  const page = data as ReleasePage | undefined
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (page === undefined) return <Loading what="the answers" />
  return (
    <Table
      label="Answers of the same kind"
      rows={page.releases.filter(({ id }) => id !== document.id)}
      keyOf={({ id, analyst }) => `${id} ${analyst}`}
      empty="There is no other answer of this kind."
      columns={[
        {
          title: 'Question',
          cell: ({ id, question }) => (
            <Link href={comparisonAddress(document.id, id)}>{questionText(question)}</Link>
          ),
        },
        { title: 'Answer', cell: ({ answer }) => answerText(answer) },
        { title: 'Price', align: 'right', cell: ({ price }) => formatAmount(price) },
        { title: 'Dataset', cell: ({ dataset }) => dataset },
        ...(isOwn ? [] : [{ title: 'Analyst', cell: ({ analyst }: ListedRelease) => analyst }]),
        { title: 'Answered (UTC)', cell: ({ answeredAt }) => <DateTime value={answeredAt} /> },
      ]}
    />
  )
}

function comparisonAddress(one: string, other: string): string {
  return `/history/compare?${new URLSearchParams({ one, other })}`
}
