import type { components } from 'sotto-client'
import { ButtonLink } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Pill } from '../../components/pill.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatEstimate, formatHalfWidth, formatShare } from '../../format/number.ts'
import { predicateText } from '../answers/question-text.ts'
import styles from './sessions.module.css'

type Session = components['schemas']['Session']

interface AnswersSectionProps {
  readonly session: Session
  readonly dataset: string
  /** True if the answers begin with the newest one. */
  readonly isNewest: boolean
}

/** Answers of a session, page by page. */
export function AnswersSection({ session, dataset, isNewest }: AnswersSectionProps) {
  const { id, answers, next, threshold, accuracy, of = 'rows' } = session
  const { halfWidth } = accuracy.gap
  const addressOf = (page: Readonly<Record<string, string>>) =>
    `/datasets/${dataset}/sessions?${new URLSearchParams({ session: id, ...page })}`
  return (
    <Section
      title="Answers"
      lead={
        `Newest first. Threshold plus gap estimates a count: ± ${formatHalfWidth(halfWidth)} ${of} ` +
        `at ${formatShare(accuracy.confidence)}.`
      }
    >
      <Table
        label="Answers of the session"
        rows={answers}
        keyOf={({ question }) => String(question)}
        empty="No question has been asked in this session."
        columns={[
          { title: 'No.', align: 'right', cell: ({ question }) => question },
          {
            title: of === 'people' ? 'People with a row where' : 'Rows where',
            cell: ({ where }) => predicateText(where),
          },
          {
            title: 'Answer',
            cell: ({ above }) => (above ? <Pill tone="accent">above</Pill> : <Pill>below</Pill>),
          },
          {
            title: 'Gap',
            align: 'right',
            cell: ({ gap }) => (gap === undefined ? '' : formatEstimate(gap, halfWidth)),
          },
          {
            title: 'Count, about',
            align: 'right',
            cell: ({ gap }) => (gap === undefined ? '' : formatEstimate(threshold + gap, halfWidth)),
          },
          { title: 'Answered (UTC)', cell: ({ answeredAt }) => <DateTime value={answeredAt} /> },
        ]}
      />
      <nav className={styles.pages} aria-label="Pages of the answers">
        {!isNewest && <ButtonLink href={addressOf({})}>Newest</ButtonLink>}
        {next !== undefined && <ButtonLink href={addressOf({ before: String(next) })}>Older</ButtonLink>}
      </nav>
    </Section>
  )
}
