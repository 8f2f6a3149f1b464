import { Link, useParams } from 'wouter'
import { api } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { ButtonLink } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Facts } from '../../components/facts.tsx'
import { Loading } from '../../components/loading.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { formatAmount } from '../../format/amount.ts'
import type { StoredDocument } from '../answers/answer-text.ts'
import { AnswerView } from '../answers/answer-view.tsx'
import { DownloadAnswer } from '../answers/downloads.tsx'
import { type Question, questionText } from '../answers/question-text.ts'
import styles from './history.module.css'
import { askAgainAddress } from './history-filter.ts'
import { SessionAnswers } from './session-answers.tsx'

const PATH = [{ title: 'History', href: '/history' }]

/** Page of a release: the stored answer, the question, and the facts of its charge. */
export default function ReleasePage() {
  const { release = '' } = useParams<{ release: string }>()
  const { data, error, refetch } = api.useQuery('get', '/v1/releases/{id}', {
    params: { path: { id: release } },
  })
  if (error !== null)
    return (
      <Page title="Release" path={PATH}>
        <ProblemNotice error={error} onRetry={refetch} />
      </Page>
    )
  if (data === undefined) return <Loading what="the release" />
  const question = data.question as Question | undefined
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
  readonly question: Question | undefined
}

function Actions({ document, question }: ActionsProps) {
  const me = useMe()
  const isSession = 'positivesLeft' in document
  return (
    <>
      {question !== undefined && !isSession && me?.role === 'analyst' && (
        <ButtonLink href={askAgainAddress(document.dataset, question)}>Ask again</ButtonLink>
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
          ['Answered by', softwareVersion === undefined ? undefined : `Sotto ${softwareVersion}`],
        ]}
      />
    </Section>
  )
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
