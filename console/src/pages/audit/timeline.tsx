import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { defined } from '../../../../src/privacy/defined.ts'
import { api, at, useMe } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { including, SelectField } from '../../components/forms/fields.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Pill } from '../../components/tables/tables.tsx'
import { formatTime } from '../../format/time.ts'
import { capitalised, questionText } from '../answers/question-text.ts'
import styles from './audit.module.css'
import {
  type Act,
  actText,
  describeEvent,
  type EventTone,
  factsText,
  type LedgerEntry,
} from './event-text.ts'

const PAGE_SIZE = '50'

/** Event of either chain, as the timeline shows it. */
interface Shown {
  readonly sequence: number
  readonly at: string
  readonly hash: string
  readonly kind: string
  readonly tone: EventTone
  readonly text: ReactNode
  readonly detail?: ReactNode
}

/** Reads the page of the list from the address, and the analyst whose events it shows. */
function usePage() {
  const [parameters] = useSearchParams()
  const { cursor, analyst } = Object.fromEntries(parameters)
  return defined({ limit: PAGE_SIZE, cursor: cursor || undefined, analyst: analyst || undefined })
}

/** Events of a dataset, newest first. */
export function EventTimeline({ dataset }: { readonly dataset: string }) {
  const query = usePage()
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets/{dataset}/ledger', {
    params: { path: { dataset }, query },
  })
  const questions = useQuestions(dataset, query.analyst, data?.entries[0]?.at)
  return (
    <>
      <AnalystFilter dataset={dataset} analyst={query.analyst} />
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {error === null && data === undefined && <Loading what="the events" />}
      {data !== undefined && (
        <Timeline events={data.entries.map((entry) => shownEntry(entry, questions))} next={data.next} />
      )}
    </>
  )
}

/** Largest number of releases that the service lists at once. A page of events has fewer. */
const MOST_RELEASES = '200'

/** Time within which the last question of a page of events is answered. */
const ANSWERED_WITHIN_MS = 3_600_000

/** Returns the questions of the releases until shortly after a time, by the ids of the releases. */
function useQuestions(dataset: string, analyst: string | undefined, until: string | undefined) {
  const to = until === undefined ? '' : new Date(Date.parse(until) + ANSWERED_WITHIN_MS).toISOString()
  const { data } = api.useQuery(
    'get',
    '/v1/releases',
    {
      params: { query: { dataset, to, limit: MOST_RELEASES, ...(analyst === undefined ? {} : { analyst }) } },
    },
    { enabled: until !== undefined },
  )
  // The list has no other form unless CSV is asked for.
  const { releases = [] } = (data ?? {}) as Partial<Schemas['ReleasePage']>
  return new Map<string | undefined, string>(
    releases.map(({ id, question }) => [id, capitalised(questionText(question))]),
  )
}

/** Choice of the analyst whose events are shown. Analysts see their own events only. */
function AnalystFilter({
  dataset,
  analyst = '',
}: {
  readonly dataset: string
  readonly analyst: string | undefined
}) {
  const me = useMe()
  const [location, navigate] = useLocation()
  const { data } = api.useQuery('get', '/v1/datasets/{dataset}/analysts', at({ dataset }))
  if (me === undefined || me.role === 'analyst') return null
  const names = data?.analysts.map((each) => each.analyst) ?? []
  return (
    <div className={styles.filter}>
      <SelectField
        label="Analyst"
        value={analyst}
        options={[['', 'All events'], ...including(names, analyst).filter((name) => name !== '')]}
        onChange={(name) =>
          navigate(name === '' ? location : `${location}?${new URLSearchParams({ analyst: name })}`)
        }
      />
    </div>
  )
}

function shownEntry(entry: LedgerEntry, questions: ReadonlyMap<string | undefined, string>): Shown {
  const { release, reason } = entry
  const { tone, text } = describeEvent(entry)
  const question = questions.get(release)
  const isLinked = entry.kind === 'answered'
  return {
    ...entry,
    tone,
    text: isLinked ? <Link href={`/history/${release}`}>{text}</Link> : text,
    detail: question === undefined || reason === undefined ? (question ?? reason) : `${question}: ${reason}`,
  }
}

/** Administrative acts, newest first. */
export function ActTimeline() {
  const { limit, cursor } = usePage()
  const { data, error, refetch } = api.useQuery('get', '/v1/administration/events', {
    params: { query: { limit, ...(cursor === undefined ? {} : { cursor }) } },
  })
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (data === undefined) return <Loading what="the acts" />
  return <Timeline events={data.events.map(shownAct)} next={data.next} />
}

function shownAct(act: Act): Shown {
  const { kind, subject, facts } = act
  return {
    ...act,
    tone: /refused|deleted|withdrawn|suspended/.test(kind) ? 'danger' : 'plain',
    text: actText(act),
    detail: (
      <>
        {factsText(act)}{' '}
        {typeof facts.sequence === 'number' && (
          <Link href={`/audit/${subject}?cursor=${facts.sequence + 1}`}>
            event {facts.sequence} of {subject}
          </Link>
        )}
      </>
    ),
  }
}

interface TimelineProps {
  readonly events: readonly Shown[]
  readonly next: string | undefined
}

function Timeline({ events, next }: TimelineProps) {
  const [location] = useLocation()
  const { cursor, analyst } = usePage()
  const of = analyst === undefined ? {} : { analyst }
  const hrefOf = (page: Readonly<Record<string, string>>) =>
    `${location}?${new URLSearchParams({ ...of, ...page })}`
  if (events.length === 0) return <Notice>Nothing has happened yet.</Notice>
  return (
    <>
      {byDay(events).map(([day, ofDay]) => (
        <section key={day} className={styles.day} aria-label={formatTime(day)}>
          <h2>{formatTime(day)}</h2>
          <ol className={styles.timeline}>
            {ofDay.map((event) => (
              <li key={event.sequence} data-tone={event.tone}>
                <Event {...event} />
              </li>
            ))}
          </ol>
        </section>
      ))}
      <nav className={styles.pages} aria-label="Pages">
        {cursor !== undefined && <ButtonLink href={hrefOf({})}>Newest</ButtonLink>}
        {next !== undefined && <ButtonLink href={hrefOf({ cursor: next })}>Older</ButtonLink>}
      </nav>
    </>
  )
}

function Event({ sequence, at, hash, kind, tone, text, detail }: Shown) {
  return (
    <>
      <div className={styles.when}>
        <DateTime value={at} timeOnly />
        <span className={styles.sequence}>#{sequence}</span>
      </div>
      <div className={styles.what}>
        <div className={styles.line}>
          {text} <Pill tone={tone}>{kind}</Pill>
        </div>
        {detail !== undefined && <div className={styles.detail}>{detail}</div>}
      </div>
      <code className={styles.hash} title={hash}>
        {hash.slice(0, 12)}…
      </code>
    </>
  )
}

/** Groups events by their day in UTC, in their order. */
function byDay(events: readonly Shown[]): readonly (readonly [day: string, events: readonly Shown[]])[] {
  const days = new Map<string, Shown[]>()
  for (const event of events) {
    const day = event.at.slice(0, 10)
    days.set(day, [...(days.get(day) ?? []), event])
  }
  return [...days]
}
