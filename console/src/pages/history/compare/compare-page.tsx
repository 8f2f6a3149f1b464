import { Link, useLocation, useSearchParams } from 'wouter'
import { api, at, useMe } from '../../../api/api.ts'
import { Button } from '../../../components/forms/button.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { DateTime, Table } from '../../../components/tables/tables.tsx'
import { formatAmount } from '../../../format/amount.ts'
import { answerText, type StoredDocument } from '../../answers/answer-text.ts'
import { type AskedQuestion, capitalised, questionText } from '../../answers/question-text.ts'
import styles from '../history.module.css'
import { type ReleasePage, releaseParameters } from '../history-filter.ts'
import { asksTheSame } from './comparison.ts'
import { Differences, type Documents } from './differences.tsx'

/** Page that compares two stored answers, whose ids are in the address. */
export default function ComparePage() {
  const [search] = useSearchParams()
  const one = search.get('one') ?? ''
  const other = search.get('other') ?? ''
  return (
    <Page
      title="Compare two answers"
      path={[{ title: 'History', href: '/history' }]}
      lead="How much two answers differ, and whether the noise alone can explain it. This is free."
    >
      {one !== '' && other !== '' && <Pair one={one} other={other} />}
      {one !== '' && other === '' && <ChooseSecond one={one} />}
      {one === '' && <ChooseAnswers />}
    </Page>
  )
}

function Pair(ids: { readonly one: string; readonly other: string }) {
  const one = useRelease(ids.one)
  const other = useRelease(ids.other)
  for (const { error, refetch } of [one, other])
    if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (one.data === undefined || other.data === undefined) return <Loading what="the answers" />
  return (
    <>
      <div className={styles.pair}>
        <AnswerSide title="First" document={one.data} />
        <AnswerSide title="Second" document={other.data} />
      </div>
      <Caveats one={one.data} other={other.data} />
      <Differences one={one.data} other={other.data} />
    </>
  )
}

/** Says what else may explain a difference. */
function Caveats({ one, other }: Documents) {
  const texts: string[] = []
  if (one.id === other.id) texts.push('Both are the same answer. Repeating it reveals nothing more.')
  else if (one.dataset !== other.dataset) texts.push('The answers are about different datasets.')
  else if (one.datasetVersion !== other.datasetVersion)
    texts.push('The answers are about different versions of the dataset, so the rows may differ as well.')
  if (!asksTheSame(one, other)) texts.push('The questions differ.')
  if (texts.length === 0) return null
  return <Notice>{texts.join(' ')}</Notice>
}

const MOST_CANDIDATES = 50

function ChooseAnswers() {
  const [, navigate] = useLocation()
  const compare = (form: FormData) =>
    navigate(comparisonAddress(String(form.get('one')).trim(), String(form.get('other')).trim()))
  return (
    <form className={styles.choose} action={compare}>
      <TextField label="Id of the first answer" name="one" required />
      <TextField
        label="Id of the second answer"
        hint={
          <>
            You can also choose two answers in the <Link href="/history">history</Link>.
          </>
        }
        name="other"
        required
      />
      <div>
        <Button type="submit" look="primary">
          Compare
        </Button>
      </div>
    </form>
  )
}

/** List of the newest answers of the same kind, from which the second is chosen. */
function ChooseSecond({ one }: { readonly one: string }) {
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
      cards
      label="Answers of the same kind"
      rows={page.releases.filter(({ id }) => id !== document.id)}
      keyOf={({ id, analyst }) => `${id} ${analyst}`}
      empty="There is no other answer of this kind."
      columns={[
        [
          'Question',
          ({ id, question }) => (
            <Link href={comparisonAddress(document.id, id)}>{capitalised(questionText(question))}</Link>
          ),
        ],
        ['Answer', ({ answer }) => answerText(answer)],
        ['Price', ({ price }) => formatAmount(price), 'right'],
        ['Dataset', ({ dataset }) => dataset],
        !isOwn && ['Analyst', ({ analyst }) => analyst],
        ['Answered (UTC)', ({ answeredAt }) => <DateTime value={answeredAt} />],
      ]}
    />
  )
}

function comparisonAddress(one: string, other: string): string {
  return `/history/compare?${new URLSearchParams({ one, other })}`
}

function useRelease(id: string) {
  return api.useQuery('get', '/v1/releases/{id}', at({ id }))
}

/** One of two answers: its question, its values and its price. */
function AnswerSide({ title, document }: { readonly title: string; readonly document: StoredDocument }) {
  const question = document.question as AskedQuestion | undefined
  return (
    <Section title={title}>
      <p>
        <Link href={`/history/${document.id}`}>
          {question === undefined ? document.id : capitalised(questionText(question))}
        </Link>
      </p>
      <p className={styles.figure}>{answerText(document)}</p>
      <p className={styles.quiet}>
        {document.dataset}, version {document.datasetVersion}
        {document.answeredAt !== undefined && (
          <>
            , <DateTime value={document.answeredAt} /> UTC
          </>
        )}
        , {formatAmount(document.cost)}
      </p>
    </Section>
  )
}
