import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { api, requests } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { saveFile } from '../../api/save-file.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Loading } from '../../components/loading.tsx'
import { Page } from '../../components/page.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Table, type TableColumn } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import { answerText } from '../answers/answer-text.ts'
import { questionText } from '../answers/question-text.ts'
import styles from './history.module.css'
import { cursorOfLink, wholeCsv } from './history-csv.ts'
import { addressOf, askAgainAddress, filterOf, type HistoryFilter } from './history-filter.ts'
import { HistoryFilters } from './history-filters.tsx'
import { type ListedRelease, type ReleasePage, type ReleaseParameters, releaseParameters } from './release.ts'
import { SpendingSection } from './spending-chart.tsx'

/** Releases in one page of the list. */
const PAGE_SIZE = 25
/** Releases in one page of a download. */
const DOWNLOAD_PAGE_SIZE = 200

/** Page that lists paid questions with their answers. Its selection is in the address. */
export default function HistoryPage() {
  const [search] = useSearchParams()
  const filter = filterOf(search)
  const me = useMe()
  const lead =
    me?.role === 'analyst'
      ? 'All questions that you paid for. Looking at an answer again is free.'
      : 'All questions that analysts paid for, on the datasets that you may see.'
  return (
    <Page title="History" lead={lead} actions={<DownloadButton filter={filter} />}>
      <HistoryFilters filter={filter} />
      {filter.dataset !== undefined && <SpendingSection key={filter.dataset} dataset={filter.dataset} />}
      <Releases filter={filter} />
    </Page>
  )
}

function Releases({ filter }: { readonly filter: HistoryFilter }) {
  const [compared, setCompared] = useState<readonly string[]>([])
  const { data, error, refetch, isPlaceholderData } = api.useQuery(
    'get',
    '/v1/releases',
    { params: { query: releaseParameters(filter, PAGE_SIZE) } },
    // The page before stays until the next has arrived.
    { placeholderData: (previous) => previous },
  )
  const me = useMe()
  const page = data as ReleasePage | undefined
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (page === undefined || me === undefined) return <Loading what="the questions" />
  const toggle = (id: string) =>
    setCompared((ids) => (ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id].slice(-2)))
  return (
    <div aria-busy={isPlaceholderData}>
      <CompareBar compared={compared} />
      <Table
        label="Questions and answers"
        rows={page.releases}
        keyOf={({ id, analyst }) => `${id} ${analyst}`}
        empty={
          addressOf(filter) === '/history'
            ? 'No question has been asked yet. Choose a dataset to ask one.'
            : 'No question fits this selection.'
        }
        columns={columnsFor(me.role, compared, toggle)}
      />
      <nav className={styles.pages} aria-label="Pages">
        {filter.cursor !== undefined && (
          <ButtonLink href={addressOf({ ...filter, cursor: '' })}>Newest</ButtonLink>
        )}
        {page.next !== undefined && (
          <ButtonLink href={addressOf({ ...filter, cursor: page.next })}>Older</ButtonLink>
        )}
      </nav>
    </div>
  )
}

function columnsFor(
  role: string,
  compared: readonly string[],
  toggle: (id: string) => void,
): readonly TableColumn<ListedRelease>[] {
  return [
    {
      title: 'Compare',
      cell: ({ id, question }) => (
        <input
          type="checkbox"
          aria-label={`Compare: ${questionText(question)}`}
          checked={compared.includes(id)}
          onChange={() => toggle(id)}
        />
      ),
    },
    { title: 'Question', cell: QuestionCell },
    { title: 'Answer', cell: AnswerCell },
    { title: 'Price', align: 'right', cell: ({ price }) => formatAmount(price) },
    { title: 'Dataset', cell: ({ dataset }) => <Link href={`/datasets/${dataset}`}>{dataset}</Link> },
    ...(role === 'analyst' ? [] : [{ title: 'Analyst', cell: ({ analyst }: ListedRelease) => analyst }]),
    { title: 'Answered (UTC)', cell: ({ answeredAt }) => <DateTime value={answeredAt} /> },
    ...(role === 'analyst' ? [{ title: '', cell: AskAgain }] : []),
  ]
}

function QuestionCell({ id, question, shared }: ListedRelease) {
  return (
    <div className={styles.question}>
      <Link href={`/history/${id}`}>{questionText(question)}</Link> {shared === true && <Pill>shared</Pill>}
    </div>
  )
}

function AnswerCell({ answer }: ListedRelease) {
  return <span className={styles.answer}>{answerText(answer)}</span>
}

function AskAgain({ dataset, question, kind }: ListedRelease) {
  if (kind === 'sparseVector') return null
  return (
    <Link className={styles.again ?? ''} href={askAgainAddress(dataset, question)}>
      Ask again
    </Link>
  )
}

function CompareBar({ compared }: { readonly compared: readonly string[] }) {
  const [, navigate] = useLocation()
  const [one, other] = compared
  return (
    <div className={styles.compare}>
      <Button
        disabled={one === undefined || other === undefined}
        onClick={() =>
          navigate(`/history/compare?${new URLSearchParams({ one: one ?? '', other: other ?? '' })}`)
        }
      >
        Compare two answers
      </Button>
      <span>
        {compared.length === 0 ? 'Choose two answers in the list.' : `${compared.length} of 2 chosen`}
      </span>
    </div>
  )
}

function DownloadButton({ filter }: { readonly filter: HistoryFilter }) {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error?: unknown }>({ busy: false })
  const download = async () => {
    setState({ busy: true })
    try {
      saveFile('sotto-history.csv', new Blob([await historyCsv(filter)], { type: 'text/csv' }))
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return (
    <>
      <Button onClick={download} busy={state.busy}>
        Download CSV
      </Button>
      {state.error !== undefined && <ProblemNotice error={state.error} onRetry={download} />}
    </>
  )
}

/** Reads all releases of a selection as CSV. */
async function historyCsv({ cursor: _, ...filter }: HistoryFilter): Promise<string> {
  return wholeCsv(async (cursor) => {
    const query: ReleaseParameters = {
      ...releaseParameters(filter, DOWNLOAD_PAGE_SIZE),
      format: 'csv',
      ...(cursor === undefined ? {} : { cursor }),
    }
    const { response } = await requests.GET('/v1/releases', { params: { query }, parseAs: 'stream' })
    const next = cursorOfLink(response.headers.get('link'))
    return { text: await response.text(), ...(next === undefined ? {} : { next }) }
  })
}
