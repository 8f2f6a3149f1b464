import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { api, requests, useMe } from '../../api/api.ts'
import { cursorOfLink } from '../../api/pages.ts'
import { saveFile } from '../../api/save-file.ts'
import { ActionButton } from '../../components/forms/action-button.tsx'
import { Button } from '../../components/forms/button.tsx'
import { Page, Pages, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Pill, Table, type TableProps } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatCount } from '../../format/number.ts'
import { answerText } from '../answers/answer-text.ts'
import { askAddress, capitalised, questionText } from '../answers/question-text.ts'
import styles from './history.module.css'
import { wholeCsv } from './history-csv.ts'
import {
  addressOf,
  filterOf,
  type HistoryFilter,
  LARGE_PAGE_SIZE,
  type ListedRelease,
  type ReleasePage,
  type ReleaseParameters,
  releaseParameters,
  shownReleases,
} from './history-filter.ts'
import { HistoryFilters } from './history-filters.tsx'
import { SpendingSection } from './spending-chart.tsx'

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
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases',
    { params: { query: releaseParameters(filter) } },
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
    <Section title="Questions and answers" aside={<CompareBar compared={compared} />}>
      <Table
        cards
        label="Questions and answers"
        rows={shownReleases(page.releases, filter)}
        keyOf={({ id, analyst }) => `${id} ${analyst}`}
        empty={
          addressOf(filter) === '/history'
            ? 'No question has been asked yet. Choose a dataset to ask one.'
            : 'No question fits this selection.'
        }
        columns={columnsFor(me.role, compared, toggle)}
      />
      {(filter.search ?? filter.sort) !== undefined && page.next !== undefined && (
        <p className={styles.quiet}>
          Searched and sorted: {LARGE_PAGE_SIZE} questions of the selection. Older ones follow on the next
          page.
        </p>
      )}
      <Pages
        label="Pages"
        newest={filter.cursor === undefined ? undefined : addressOf({ ...filter, cursor: '' })}
        older={page.next === undefined ? undefined : addressOf({ ...filter, cursor: page.next })}
      />
    </Section>
  )
}

function columnsFor(
  role: string,
  compared: readonly string[],
  toggle: (id: string) => void,
): TableProps<ListedRelease>['columns'] {
  return [
    [
      'Compare',
      ({ id, question }) => (
        <input
          type="checkbox"
          aria-label={`Compare: ${questionText(question)}`}
          checked={compared.includes(id)}
          onChange={() => toggle(id)}
        />
      ),
    ],
    ['Question', QuestionCell],
    ['Answer', ({ answer }) => <span className={styles.answer}>{answerText(answer)}</span>],
    ['Price', ({ price }) => formatAmount(price), 'right'],
    ['Dataset', ({ dataset }) => <Link href={`/datasets/${dataset}`}>{dataset}</Link>],
    role !== 'analyst' && ['Analyst', ({ analyst }) => analyst],
    ['Answered (UTC)', ({ answeredAt }) => <DateTime value={answeredAt} />],
    role === 'analyst' && ['', AskAgain],
  ]
}

function QuestionCell({ id, question, shared, inferredFrom }: ListedRelease) {
  return (
    <div className={styles.question}>
      <Link href={`/history/${id}`}>{capitalised(questionText(question))}</Link>{' '}
      {shared === true && <Pill>shared</Pill>}
      {inferredFrom !== undefined && <Pill>follows from {formatCount(inferredFrom.length, 'answer')}</Pill>}
    </div>
  )
}

function AskAgain({ dataset, question, kind }: ListedRelease) {
  if (kind === 'sparseVector') return null
  return (
    <Link className={styles.again ?? ''} href={askAddress(dataset, question)}>
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
  const download = async () =>
    saveFile('sotto-history.csv', new Blob([await historyCsv(filter)], { type: 'text/csv' }))
  return <ActionButton action={download}>Download CSV</ActionButton>
}

async function historyCsv({ cursor: _, ...filter }: HistoryFilter): Promise<string> {
  return wholeCsv(async (cursor) => {
    const query: ReleaseParameters = {
      ...releaseParameters(filter, LARGE_PAGE_SIZE),
      format: 'csv',
      ...(cursor === undefined ? {} : { cursor }),
    }
    const { response } = await requests.GET('/v1/releases', { params: { query }, parseAs: 'stream' })
    const next = cursorOfLink(response.headers.get('link'))
    return { text: await response.text(), ...(next === undefined ? {} : { next }) }
  })
}
