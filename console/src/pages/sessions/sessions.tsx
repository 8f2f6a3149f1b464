import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { api } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { stateParameters } from '../../components/address/address-state.ts'
import { useAddressState } from '../../components/address/use-address-state.ts'
import { Pages, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Table } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { capitalised, questionText } from '../answers/question-text.ts'
import type { DatasetPart } from '../datasets/dataset.ts'
import { type OpenedNow, OpenSession } from './open-session.tsx'
import { initialForm, type SessionForm } from './session-form.ts'
import { SessionPanel } from './session-panel.tsx'

const PAGE_SIZE = '20'

/** Page on which an analyst opens a sparse vector session, or continues one. The address contains the session's id. */
export default function Sessions({ dataset }: DatasetPart) {
  const [parameters, setParameters] = useSearchParams()
  const [opened, setOpened] = useState<OpenedNow>()
  const id = parameters.get('session')
  if (id !== null)
    return (
      <SessionPanel
        key={id}
        id={id}
        dataset={dataset}
        cursor={parameters.get('cursor') ?? undefined}
        wasReplayed={opened?.id === id && opened.replayed}
      />
    )
  const open = (next: OpenedNow) => {
    setOpened(next)
    setParameters({ session: next.id })
  }
  return <NewSession dataset={dataset} onOpen={open} />
}

function NewSession({ dataset, onOpen }: DatasetPart & { readonly onOpen: (opened: OpenedNow) => void }) {
  const initial = initialForm(dataset)
  const { state, change } = useAddressState<SessionForm>(initial, { of: ['rows', 'people'] })
  const addressOf = (cursor: string) => {
    const next = stateParameters(initial, { ...state, cursor }).toString()
    return `/datasets/${dataset.id}/sessions${next === '' ? '' : `?${next}`}`
  }
  return (
    <>
      <OpenSession dataset={dataset} form={state} onChange={change} onOpen={onOpen} />
      <OpenedSessions dataset={dataset.id} cursor={state.cursor} addressOf={addressOf} />
    </>
  )
}

interface OpenedSessionsProps {
  readonly dataset: string
  readonly cursor: string
  /** Returns the address of a page of the list; the first has no cursor. */
  readonly addressOf: (cursor: string) => string
}

/** Sessions that the analyst has paid for. Each can be continued until its positives are used. */
function OpenedSessions({ dataset, cursor, addressOf }: OpenedSessionsProps) {
  const query = {
    dataset,
    kind: 'sparseVector' as const,
    limit: PAGE_SIZE,
    ...(cursor === '' ? {} : { cursor }),
  }
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases',
    { params: { query } },
    { placeholderData: (previous) => previous },
  )
  const page = typeof data === 'object' ? data : undefined
  return (
    <Section title="Your sessions" lead="Newest first. Continuing a session costs nothing.">
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {error === null && page === undefined && <Loading what="your sessions" />}
      {page !== undefined && (
        <>
          <Table
            cards
            label="Your sessions"
            rows={page.releases}
            keyOf={({ id }: Schemas['ListedRelease']) => id}
            empty="You have not opened a session yet."
            columns={[
              ['Session', ({ question }) => capitalised(questionText(question))],
              ['Price', ({ price }) => formatAmount(price), 'right'],
              ['Opened (UTC)', ({ answeredAt }) => <DateTime value={answeredAt} />],
              [
                '',
                ({ id }) => (
                  <Link href={`/datasets/${dataset}/sessions?${new URLSearchParams({ session: id })}`}>
                    Continue
                  </Link>
                ),
              ],
            ]}
          />
          <Pages
            label="Pages of your sessions"
            newest={cursor === '' ? undefined : addressOf('')}
            older={page.next === undefined ? undefined : addressOf(page.next)}
          />
        </>
      )}
    </Section>
  )
}
