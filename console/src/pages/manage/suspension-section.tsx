import { useState } from 'react'
import { api, at, refreshAll, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { FormDialog } from '../../components/layout/dialog.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Table } from '../../components/tables/tables.tsx'
import type { DatasetPart } from '../datasets/dataset.ts'
import styles from './manage.module.css'
import { ReasonField } from './reason-field.tsx'

/** Failures of a dataset, and the resumption of a suspended one. */
export function SuspensionSection({ dataset: { id, failureLimit } }: DatasetPart) {
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/datasets/{dataset}/suspension',
    at({ dataset: id }),
  )
  const [resuming, setResuming] = useState(false)
  if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  // A dataset without failures needs no attention.
  if (data === undefined || (!data.suspended && data.failures === 0)) return null
  return (
    <Section
      title={data.suspended ? 'The dataset is suspended' : 'Failures'}
      aside={
        data.suspended && (
          <Button look="primary" onClick={() => setResuming(true)}>
            Resume
          </Button>
        )
      }
    >
      <div className={styles.form}>
        <Explanation suspension={data} failureLimit={failureLimit} />
        {data.table !== undefined && data.table.changes.length > 0 && (
          <Table
            label="Changed columns"
            rows={data.table.changes}
            keyOf={(change) => `${change.column} ${change.change}`}
            columns={[
              ['Column', ({ column }) => <code>{column}</code>],
              ['Change', describeChange],
            ]}
          />
        )}
        <Table
          label="Failures after a charge"
          rows={data.counted}
          keyOf={({ sequence }) => String(sequence)}
          empty="No failure was counted."
          columns={[
            ['Time (UTC)', ({ at }) => <DateTime value={at} />],
            ['Analyst', ({ principal }) => principal],
            ['Failure', ({ errorClass }) => <code>{errorClass ?? 'unknown'}</code>],
            ['Release', ({ release }) => <code>{release.slice(0, 8)}</code>],
          ]}
        />
      </div>
      {resuming && <ResumeDialog dataset={id} onClose={() => setResuming(false)} />}
    </Section>
  )
}

interface ExplanationProps {
  readonly suspension: Schemas['Suspension']
  readonly failureLimit: number
}

function Explanation({ suspension, failureLimit }: ExplanationProps) {
  const { suspended, reason, message, failures } = suspension
  if (!suspended)
    return (
      <p>
        {failures} of {failureLimit} failures that suspend the dataset. Each may depend on the data.
      </p>
    )
  if (reason === 'table-changed')
    return (
      <Notice tone="danger" title="The table has changed in its database">
        {message} Do not publish this.
      </Notice>
    )
  return (
    <Notice tone="danger" title="Analysts get stored answers only">
      {failures} queries failed after they were charged. Whether a query fails may depend on a single person.
      Find the cause first, for example a time limit that is too short for the data.
    </Notice>
  )
}

function describeChange(change: Schemas['ColumnChange']): string {
  switch (change.change) {
    case 'missing':
      return 'is missing, or may no longer be read'
    case 'type':
      return `was ${change.registered}, is ${change.present}`
    case 'nullable':
      return 'may now be NULL'
    case 'not-null':
      return 'can no longer be NULL'
    case 'not-unique':
      return 'may now have a value twice'
  }
}

function ResumeDialog({ dataset, onClose }: { readonly dataset: string; readonly onClose: () => void }) {
  const [reason, setReason] = useState('')
  return (
    <FormDialog
      title="Resume the dataset"
      action="Resume"
      ready={reason.trim() !== ''}
      onSubmit={() =>
        requests.POST('/v1/datasets/{dataset}/resume', {
          params: { path: { dataset } },
          body: { reason: reason.trim() },
        })
      }
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>Analysts may query the dataset again. The count of failures starts at 0.</p>
      <ReasonField value={reason} onChange={setReason} />
    </FormDialog>
  )
}
