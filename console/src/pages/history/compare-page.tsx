import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { api } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { Page } from '../../components/page.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatEstimate, formatHalfWidth, formatShare } from '../../format/number.ts'
import { answerText, type StoredDocument } from '../answers/answer-text.ts'
import { type Question, questionText } from '../answers/question-text.ts'
import { type ComparedValue, compareAnswers, type Difference } from './comparison.ts'
import styles from './history.module.css'
import { Interval } from './interval.tsx'
import { type ReleasePage, releaseParameters } from './release.ts'

/** Answers from which the second is chosen. */
const MOST_CANDIDATES = 50

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

function comparisonAddress(one: string, other: string): string {
  return `/history/compare?${new URLSearchParams({ one, other })}`
}

/** Form that asks for the ids of two answers. */
function ChooseAnswers() {
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
function ChooseSecond({ one }: { readonly one: string }) {
  const { data, error, refetch } = useRelease(one)
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (data === undefined) return <Loading what="the answer" />
  return (
    <>
      <Side title="First" document={data} />
      <Section title="Second" lead="The newest answers of the same kind.">
        <Candidates document={data} />
      </Section>
    </>
  )
}

function Candidates({ document }: { readonly document: StoredDocument }) {
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
        { title: 'Answered (UTC)', cell: ({ answeredAt }) => <DateTime value={answeredAt} /> },
      ]}
    />
  )
}

function useRelease(id: string) {
  return api.useQuery('get', '/v1/releases/{id}', { params: { path: { id } } })
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
        <Side title="First" document={one.data} />
        <Side title="Second" document={other.data} />
      </div>
      <Caveats one={one.data} other={other.data} />
      <Differences one={one.data} other={other.data} />
    </>
  )
}

function Side({ title, document }: { readonly title: string; readonly document: StoredDocument }) {
  const question = document.question as Question | undefined
  return (
    <Section title={title}>
      <p>
        <Link href={`/history/${document.id}`}>
          {question === undefined ? document.id : questionText(question)}
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

interface Documents {
  readonly one: StoredDocument
  readonly other: StoredDocument
}

/** Says what else may explain a difference. */
function Caveats({ one, other }: Documents) {
  const texts: string[] = []
  if (one.id === other.id) texts.push('Both are the same answer. Repeating it reveals nothing more.')
  else if (one.dataset !== other.dataset) texts.push('The answers are about different datasets.')
  else if (one.datasetVersion !== other.datasetVersion)
    texts.push('The answers are about different versions of the dataset, so the rows may differ as well.')
  if (subjectOf(one) !== subjectOf(other)) texts.push('The questions differ.')
  if (texts.length === 0) return null
  return <Notice>{texts.join(' ')}</Notice>
}

/** Returns a question without its price, by which two questions are compared. */
function subjectOf({ question }: StoredDocument): string {
  const { epsilon, delta, accuracy, mechanism, calibration, ...subject } = (question ?? {}) as Question
  return JSON.stringify(subject)
}

function Differences({ one, other }: Documents) {
  const { differences, unmatched } = compareAnswers(one, other)
  if (differences.length === 0)
    return <Notice>The answers have no number in common that could be subtracted.</Notice>
  const lowest = Math.min(...differences.map(({ confidence }) => confidence))
  const isOne = differences.length === 1
  const span = Math.max(
    ...differences.map(({ difference, halfWidth }) => Math.abs(difference) + (halfWidth ?? 0)),
  )
  return (
    <Section title="Difference" lead="The second answer minus the first.">
      <Table
        label="Differences"
        rows={differences}
        keyOf={({ label }) => label}
        columns={[
          ...(isOne ? [] : [{ title: 'Value of', cell: ({ label }: Difference) => label }]),
          { title: 'First', align: 'right' as const, cell: ({ one }: Difference) => valueCell(one) },
          { title: 'Second', align: 'right' as const, cell: ({ other }: Difference) => valueCell(other) },
          { title: 'Difference', align: 'right' as const, cell: differenceText },
          { title: 'Against 0', cell: (row: Difference) => <Interval {...row} span={span} /> },
          { title: 'Meaning', cell: VerdictPill },
        ]}
      />
      <div className={styles.notes}>
        <p>
          The ± of a difference is the sum of both half-widths. It holds with a probability of at least{' '}
          {formatShare(lowest)}
          {isOne ? '' : ', for each row on its own'}, whatever the noise of the two answers. It is cautious: a
          smaller difference may be real as well.
        </p>
        <p>
          It covers the noise that was added for privacy, and no other cause, such as chance in who is in the
          data.
          {isOne ? '' : ' Of many rows, a few may differ by more than the bound by chance.'}
        </p>
        {differences.some(({ verdict }) => verdict === 'unknown') && (
          <p>
            Where no ± is given, at least one of the half-widths is unknown, or is a number of rows, which
            says nothing about the distance between two values.
          </p>
        )}
        {unmatched.length > 0 && <p>Only one of the answers has: {unmatched.join('; ')}.</p>}
      </div>
    </Section>
  )
}

function valueCell({ shown, halfWidth }: ComparedValue): ReactNode {
  return halfWidth === null ? shown : `${shown} ± ${formatHalfWidth(halfWidth)}`
}

function differenceText({ difference, halfWidth, unit }: Difference): ReactNode {
  const sign = difference > 0 ? '+' : ''
  const bound = halfWidth === null ? '' : ` ± ${formatHalfWidth(halfWidth)}`
  return (
    <strong>
      {sign}
      {formatEstimate(difference)}
      {bound} {unit}
    </strong>
  )
}

function VerdictPill({ verdict }: Difference) {
  switch (verdict) {
    case 'larger':
      return <Pill tone="accent">larger than the noise</Pill>
    case 'noise':
      return <Pill>within the noise</Pill>
    case 'unknown':
      return <Pill tone="cost">no bound known</Pill>
  }
}
