import { Link, useParams } from 'wouter'
import { api, at, useMe } from '../../api/api.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Facts } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatEstimate } from '../../format/number.ts'
import { freshnessText, type StoredDocument } from '../answers/answer-text.ts'
import { AnswerView } from '../answers/answer-view.tsx'
import { DownloadAnswer } from '../answers/downloads.tsx'
import { type AskedQuestion, askAddress, capitalised, questionText } from '../answers/question-text.ts'
import { SessionTable } from '../answers/session-table.tsx'
import styles from './history.module.css'

const PATH = [{ title: 'History', href: '/history' }]

/** Page of a release: the stored answer, the question, and the facts of its charge. */
export default function ReleasePage() {
  const { release = '' } = useParams<{ release: string }>()
  const { data, error, refetch } = api.useQuery('get', '/v1/releases/{id}', at({ id: release }))
  if (error !== null)
    return (
      <Page title="Release" path={PATH}>
        <ProblemNotice error={error} onRetry={refetch} />
      </Page>
    )
  if (data === undefined) return <Loading what="the release" />
  const question = data.question as AskedQuestion | undefined
  return (
    <Page
      title={question === undefined ? 'Release' : capitalised(questionText(question))}
      path={PATH}
      lead={
        <>
          <Link href={`/datasets/${data.dataset}`}>{data.dataset}</Link>, version {data.datasetVersion}
          {data.answeredAt !== undefined && (
            <>
              , answered <DateTime value={data.answeredAt} /> UTC
            </>
          )}
        </>
      }
      actions={<Actions document={data} question={question} />}
    >
      {'positivesLeft' in data ? (
        <SessionAnswers id={data.id} />
      ) : (
        <AnswerView key={data.id} document={data} isInHistory />
      )}
      <ChargeFacts document={data} />
      {question !== undefined && (
        <Section title="Question" lead="The question as it was asked. It can be sent again as it is.">
          <pre className={styles.json}>{JSON.stringify(question, undefined, 2)}</pre>
        </Section>
      )}
    </Page>
  )
}

interface ActionsProps {
  readonly document: StoredDocument
  readonly question: AskedQuestion | undefined
}

function Actions({ document, question }: ActionsProps) {
  const me = useMe()
  const isSession = 'positivesLeft' in document
  return (
    <>
      {question !== undefined && !isSession && me?.role === 'analyst' && (
        <ButtonLink href={askAddress(document.dataset, question)}>Ask again</ButtonLink>
      )}
      {!isSession && <ButtonLink href={`/history/compare?one=${document.id}`}>Compare</ButtonLink>}
      <DownloadAnswer id={document.id} />
    </>
  )
}

function ChargeFacts({ document }: { readonly document: StoredDocument }) {
  const { id, dataset, cost, budget, receipt, softwareVersion } = document
  const me = useMe()
  const mayAudit = me !== undefined && me.role !== 'analyst'
  const event = `event ${receipt.sequence}`
  return (
    <Section title="Charge">
      <Facts
        facts={[
          ['Price', formatAmount(cost)],
          ['Budget left then', `${formatAmount(budget.remaining)} of ${formatAmount(budget.cap)}`],
          ['Release', <code key="id">{id}</code>],
          [
            'Receipt',
            <span key="receipt" className={styles.hash}>
              {mayAudit ? <Link href={`/audit/${dataset}`}>{event}</Link> : event} of the ledger,{' '}
              <code>{receipt.hash}</code>
              {receipt.signature === undefined ? '' : ', signed'}
            </span>,
          ],
          ['Rows and repeats', freshnessText(document) || undefined],
          ['Answered by', softwareVersion === undefined ? undefined : `Sotto ${softwareVersion}`],
        ]}
      />
    </Section>
  )
}

const MOST_ANSWERS = '100'

/** Answers of a sparse vector session. Only the analyst who opened it may read them. */
function SessionAnswers({ id }: { readonly id: string }) {
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
      <SessionTable session={data} />
    </Section>
  )
}
