import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, bodyOf, helpsToRepeat, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { stateParameters } from '../../components/address/address-state.ts'
import { Button, ButtonLink } from '../../components/forms/button.tsx'
import { Pages, Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Facts } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatCount, formatExact, formatHalfWidth, formatShare } from '../../format/number.ts'
import { SessionTable } from '../answers/session-table.tsx'
import { ConditionField } from '../ask/conditions/condition-field.tsx'
import { conditionColumns, initialCondition } from '../ask/kinds/kinds.ts'
import type { Predicate } from '../ask/question/question.ts'
import { BudgetGauge } from '../datasets/budget-gauge.tsx'
import type { Dataset } from '../datasets/dataset.ts'
import { formLike, initialForm } from './session-form.ts'
import styles from './sessions.module.css'

const PAGE_SIZE = '50'

interface SessionPanelProps {
  readonly id: string
  readonly dataset: Dataset
  /** Page of the answers; undefined for the newest. */
  readonly cursor: string | undefined
  /** True if terms that were paid before led back to the session. */
  readonly wasReplayed: boolean
}

/** A session: what is left of it, its next question, and its answers. */
export function SessionPanel({ id, dataset, cursor, wasReplayed }: SessionPanelProps) {
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/sparse-vector-sessions/{id}',
    { params: { path: { id }, query: { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) } } },
    { placeholderData: (previous) => previous },
  )
  const leave = <ButtonLink href={`/datasets/${dataset.id}/sessions`}>Leave the session</ButtonLink>
  if (error !== null)
    return (
      <>
        <ProblemNotice error={error} onRetry={refetch} />
        {leave}
      </>
    )
  if (data === undefined) return <Loading what="the session" />
  return (
    <>
      <Section
        title={`At least ${data.of === 'people' ? formatCount(data.threshold, 'person', 'people') : formatCount(data.threshold, 'row')}?`}
        aside={leave}
        lead="You can return to the session by its address, or from the list of your sessions."
      >
        <div className={styles.form}>
          {wasReplayed && (
            <Notice title="Nothing was charged">
              You have paid for a session with these terms before, and this is it.{' '}
              <Further session={data} dataset={dataset} />
            </Notice>
          )}
          <SessionFacts session={data} />
          <BudgetGauge dataset={dataset.id} />
          <NextQuestion session={data} dataset={dataset} onAnswer={refetch} />
        </div>
      </Section>
      <AnswersSection session={data} dataset={dataset.id} isNewest={cursor === undefined} />
    </>
  )
}

function SessionFacts({ session }: { readonly session: Schemas['Session'] }) {
  const { positives, positivesLeft, answered, cost, contribution } = session
  return (
    <Facts
      facts={[
        ['Positives left', `${positivesLeft} of ${positives}`],
        ['Questions answered', formatExact(answered)],
        ['Paid', formatAmount(cost)],
        [
          'Rows of each person',
          session.of === 'people' || contribution?.rows === undefined
            ? undefined
            : `at most ${formatExact(contribution.rows)}`,
        ],
      ]}
    />
  )
}

/** Link to the form of a further session with the same terms. */
function Further({
  session,
  dataset,
}: {
  readonly session: Schemas['Session']
  readonly dataset: Dataset
}): ReactNode {
  const form = stateParameters(initialForm(dataset), formLike(session.question, dataset))
  return (
    <ButtonLink href={`/datasets/${dataset.id}/sessions?${form}`}>
      Open a further one with the same terms
    </ButtonLink>
  )
}

interface NextQuestionProps {
  readonly session: Schemas['Session']
  readonly dataset: Dataset
  readonly onAnswer: () => Promise<unknown>
}

/** Form of the next question, as long as the session has positives left, and the answer to the one before. */
function NextQuestion({ session, dataset, onAnswer }: NextQuestionProps) {
  const [where, setWhere] = useState<Predicate>(() => initialCondition(dataset))
  const asking = useAsking(session.id, onAnswer)
  const isOver = session.positivesLeft === 0
  return (
    <div className={styles.form}>
      {!isOver && (
        <>
          <ConditionField
            label={session.of === 'people' ? 'People with a row where' : 'Rows where'}
            dataset={dataset}
            value={where}
            required
            onChange={(next) => {
              asking.reset()
              setWhere(next ?? initialCondition(dataset))
            }}
          />
          <div>
            <Button
              look="primary"
              busy={asking.isPending}
              disabled={conditionColumns(dataset).length === 0}
              onClick={() => asking.mutate(where)}
            >
              Ask, paid with the session
            </Button>
          </div>
        </>
      )}
      {asking.error !== null && <ProblemNotice error={asking.error} />}
      {asking.data !== undefined && (
        <Notice tone="success">
          Question {asking.data.question}: {asking.data.above ? 'above' : 'below'} the threshold.
        </Notice>
      )}
      {isOver && (
        <Notice title="The session is over">
          All its positives are used. Its answers stay available.{' '}
          <Further session={session} dataset={dataset} />
        </Notice>
      )}
    </div>
  )
}

/** Asks questions. A question that was answered already is not answered a second time: its answer is stored. */
function useAsking(id: string, onAnswer: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (where: Predicate) =>
      bodyOf(
        requests.POST('/v1/sparse-vector-sessions/{id}/questions', {
          params: { path: { id } },
          body: { where },
        }),
      ),
    retry: helpsToRepeat,
    onSettled: onAnswer,
  })
}

interface AnswersSectionProps {
  readonly session: Schemas['Session']
  readonly dataset: string
  /** True if the answers begin with the newest one. */
  readonly isNewest: boolean
}

function AnswersSection({ session, dataset, isNewest }: AnswersSectionProps) {
  const { id, next, accuracy, of = 'rows' } = session
  const addressOf = (page: Readonly<Record<string, string>>) =>
    `/datasets/${dataset}/sessions?${new URLSearchParams({ session: id, ...page })}`
  return (
    <Section
      title="Answers"
      lead={
        `Newest first. Threshold plus gap estimates a count: ± ${formatHalfWidth(accuracy.gap.halfWidth)} ${of} ` +
        `at ${formatShare(accuracy.confidence)}.`
      }
    >
      <SessionTable session={session} />
      <Pages
        label="Pages of the answers"
        newest={isNewest ? undefined : addressOf({})}
        older={next === undefined ? undefined : addressOf({ cursor: next })}
      />
    </Section>
  )
}
