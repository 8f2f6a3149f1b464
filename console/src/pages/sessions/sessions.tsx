import type { components } from 'sotto-client'
import { Link, useSearchParams } from 'wouter'
import { api } from '../../api/api.ts'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { questionText } from '../answers/question-text.ts'
import type { DatasetPart } from '../datasets/dataset-page.tsx'
import { OpenSession } from './open-session.tsx'
import { SessionPanel } from './session-panel.tsx'

type Release = components['schemas']['ListedRelease']

/** Page on which an analyst opens a sparse vector session, or continues one. The address contains the session's id. */
export default function Sessions({ dataset }: DatasetPart) {
  const [parameters, setParameters] = useSearchParams()
  const id = parameters.get('session')
  if (id !== null)
    return <SessionPanel key={id} id={id} dataset={dataset} onLeave={() => setParameters({})} />
  return (
    <>
      <OpenSession dataset={dataset} onOpen={(session) => setParameters({ session })} />
      <OpenedSessions dataset={dataset.id} />
    </>
  )
}

/** Sessions that the analyst has paid for. Each can be continued until its positives are used. */
function OpenedSessions({ dataset }: { readonly dataset: string }) {
  const { data, error, refetch } = api.useQuery('get', '/v1/releases', {
    params: { query: { dataset, kind: 'sparseVector' } },
  })
  return (
    <Section title="Your sessions" lead="Newest first. Continuing a session costs nothing.">
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {typeof data === 'object' && (
        <Table
          label="Your sessions"
          rows={data.releases}
          keyOf={({ id }: Release) => id}
          empty="You have not opened a session yet."
          columns={[
            { title: 'Session', cell: ({ question }) => questionText(question) },
            { title: 'Opened', cell: ({ answeredAt }) => answeredAt },
            {
              title: '',
              key: 'actions',
              cell: ({ id }) => (
                <Link href={`/datasets/${dataset}/sessions?${new URLSearchParams({ session: id })}`}>
                  Continue
                </Link>
              ),
            },
          ]}
        />
      )}
    </Section>
  )
}
