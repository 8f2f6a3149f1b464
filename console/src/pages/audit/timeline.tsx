import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { api } from '../../api/api.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Pill } from '../../components/tables/tables.tsx'
import { formatTime } from '../../format/time.ts'
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

function usePage() {
  const before = useSearchParams()[0].get('before') ?? undefined
  return { limit: PAGE_SIZE, ...(before === undefined ? {} : { before }) }
}

/** Events of a dataset, newest first. */
export function EventTimeline({ dataset }: { readonly dataset: string }) {
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets/{dataset}/ledger', {
    params: { path: { dataset }, query: usePage() },
  })
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (data === undefined) return <Loading what="the events" />
  return <Timeline events={data.entries.map(shownEntry)} next={data.next} />
}

function shownEntry(entry: LedgerEntry): Shown {
  const { release, reason: detail } = entry
  const { tone, text } = describeEvent(entry)
  const isLinked = entry.kind === 'answered'
  return { ...entry, tone, text: isLinked ? <Link href={`/history/${release}`}>{text}</Link> : text, detail }
}

/** Administrative acts, newest first. */
export function ActTimeline() {
  const { data, error, refetch } = api.useQuery('get', '/v1/administration/events', {
    params: { query: usePage() },
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
          <Link href={`/audit/${subject}?before=${facts.sequence + 1}`}>
            event {facts.sequence} of {subject}
          </Link>
        )}
      </>
    ),
  }
}

interface TimelineProps {
  readonly events: readonly Shown[]
  readonly next: number | undefined
}

function Timeline({ events, next }: TimelineProps) {
  const [location] = useLocation()
  const isFirst = usePage().before === undefined
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
        {!isFirst && <ButtonLink href={location}>Newest</ButtonLink>}
        {next !== undefined && <ButtonLink href={`${location}?before=${next}`}>Older</ButtonLink>}
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
