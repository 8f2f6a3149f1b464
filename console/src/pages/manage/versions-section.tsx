import { useCallback, useState } from 'react'
import type { components } from 'sotto-client'
import { api, bodyOf, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Checkbox, Radios } from '../../components/choice.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Notice } from '../../components/notice.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import type { DatasetPart } from '../datasets/dataset-page.tsx'
import { ColumnEditor, TimeZones } from '../register/column-editor.tsx'
import { type ColumnForm, declaredColumn, formOfColumn, openFieldsOf } from '../register/column-form.ts'
import type { Source } from '../register/declaration.ts'
import { type IngestionCounts, IngestionProgress, IngestionReport } from '../register/ingestion.tsx'
import type { PickedSource } from '../register/picked-source.ts'
import { needsSecondBudget, SecondBudgetField } from '../register/second-budget-field.tsx'
import { SourcePicker } from '../register/source-picker.tsx'
import styles from './manage.module.css'
import { refreshAll } from './refresh.ts'

type NewVersion = components['schemas']['NewVersion']

/** Versions of the rows, and the publication of new ones. */
export function VersionsSection({ dataset }: DatasetPart) {
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets/{dataset}/versions', {
    params: { path: { dataset: dataset.id } },
  })
  const [publishing, setPublishing] = useState(false)
  const isPublic = data?.versions.some(({ rows, people }) => (rows ?? people) !== undefined) ?? false
  return (
    <Section
      title="Versions"
      lead="A new version replaces the rows under the same declaration and budget. What is spent stays spent."
      aside={!publishing && <Button onClick={() => setPublishing(true)}>Publish new rows</Button>}
    >
      <div className={styles.form}>
        {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
        <Table
          label="Versions"
          rows={data?.versions ?? []}
          keyOf={({ version }) => version}
          columns={[
            {
              title: 'Version',
              cell: ({ version }) => (
                <>
                  <strong>{version}</strong>{' '}
                  {version === dataset.version && <Pill tone="accent">present</Pill>}
                </>
              ),
            },
            { title: 'Published (UTC)', cell: ({ publishedAt }) => <DateTime value={publishedAt} /> },
            ...(isPublic
              ? [
                  {
                    title: 'People or rows',
                    cell: ({ rows, people }: { rows?: number; people?: number }) =>
                      formatExact(people ?? rows ?? 0),
                  },
                ]
              : []),
          ]}
        />
        {publishing && <NewVersionForm dataset={dataset} onClose={() => setPublishing(false)} />}
      </div>
    </Section>
  )
}

/** A version has no draft. */
const NO_REMARKS: readonly never[] = []

type Attempt =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly dryRun: boolean }
  | { readonly state: 'tried'; readonly counts: IngestionCounts; readonly unchanged: boolean }
  | { readonly state: 'published'; readonly version: string; readonly counts: IngestionCounts | undefined }
  | { readonly state: 'failed'; readonly error: unknown }

interface NewVersionFormProps extends DatasetPart {
  readonly onClose: () => void
}

function NewVersionForm({ dataset, onClose }: NewVersionFormProps) {
  const [terms, setTerms] = useState(UNCHANGED)
  const [attempt, setAttempt] = useState<Attempt>({ state: 'none' })
  const change = (changes: Partial<VersionTerms>) => setTerms((present) => ({ ...present, ...changes }))
  const publish = async (dryRun: boolean) => {
    setAttempt({ state: 'running', dryRun })
    try {
      setAttempt(await publishVersion(dataset.id, bodyOfTerms(terms), dryRun))
      if (!dryRun) await refreshAll()
    } catch (error) {
      setAttempt({ state: 'failed', error })
    }
  }
  const isRunning = attempt.state === 'running'
  const { separateBudget } = terms
  return (
    <div className={styles.form}>
      <SourceChoice terms={terms} onChange={change} />
      <WidenedColumns dataset={dataset} columns={terms.columns} onChange={setTerms} />
      {isRunning && <IngestionProgress dataset={dataset.id} />}
      <Outcome attempt={attempt} />
      {((attempt.state === 'failed' && needsSecondBudget(attempt.error)) || separateBudget !== '') && (
        <SecondBudgetField value={separateBudget} onChange={(reason) => change({ separateBudget: reason })} />
      )}
      <div className={`${styles.buttons} ${styles.end}`}>
        <Button onClick={onClose} disabled={isRunning}>
          Close
        </Button>
        <Button
          busy={isRunning && attempt.dryRun}
          disabled={!isReady(terms) || isRunning}
          onClick={() => publish(true)}
        >
          Dry run
        </Button>
        <Button
          look="primary"
          busy={isRunning && !attempt.dryRun}
          disabled={!isReady(terms) || isRunning}
          onClick={() => publish(false)}
        >
          Publish the version
        </Button>
      </div>
    </div>
  )
}

/** What a new version changes, as it was entered. */
interface VersionTerms {
  readonly from: 'present' | 'other'
  /** Source that was chosen in place of the present one. */
  readonly source: Source | undefined
  /** Undefined as long as the declaration stays. */
  readonly columns: readonly ColumnForm[] | undefined
  readonly separateBudget: string
}

const UNCHANGED: VersionTerms = {
  from: 'present',
  source: undefined,
  columns: undefined,
  separateBudget: '',
}

function isReady({ from, source, columns = [] }: VersionTerms): boolean {
  return (
    (from === 'present' || source !== undefined) &&
    columns.every((column) => !column.included || openFieldsOf(column).length === 0)
  )
}

function bodyOfTerms({ from, source, columns, separateBudget }: VersionTerms): NewVersion {
  return {
    ...(from === 'present' || source === undefined ? {} : { source }),
    ...(columns === undefined
      ? {}
      : { columns: columns.filter(({ included }) => included).map(declaredColumn) }),
    ...(separateBudget.trim() === '' ? {} : { separateBudget: separateBudget.trim() }),
  }
}

interface SourceChoiceProps {
  readonly terms: VersionTerms
  readonly onChange: (changes: Partial<VersionTerms>) => void
}

function SourceChoice({ terms: { from, source }, onChange }: SourceChoiceProps) {
  return (
    <>
      <Radios
        legend="Rows"
        value={from}
        choices={[
          { value: 'present', label: 'Read the present source again' },
          { value: 'other', label: 'Another source with the same columns' },
        ]}
        onChange={(next) => onChange({ from: next })}
      />
      {from === 'other' && source === undefined && (
        <SourcePicker
          action="Use this source"
          onPicked={(picked) => onChange({ source: sourceOf(picked) })}
        />
      )}
      {from === 'other' && source !== undefined && (
        <Notice tone="success" title="The source was chosen.">
          <Button onClick={() => onChange({ source: undefined })}>Choose another</Button>
        </Notice>
      )}
    </>
  )
}

interface WidenedColumnsProps extends DatasetPart {
  readonly columns: readonly ColumnForm[] | undefined
  readonly onChange: (change: (present: VersionTerms) => VersionTerms) => void
}

function WidenedColumns({ dataset, columns, onChange }: WidenedColumnsProps) {
  // It never changes, so that a column is drawn again only if it has changed.
  const changeColumn = useCallback(
    (position: number, changes: Partial<ColumnForm>) =>
      onChange((present) => ({
        ...present,
        columns: present.columns?.map((column) =>
          column.position === position ? { ...column, ...changes } : column,
        ),
      })),
    [onChange],
  )
  return (
    <>
      <Checkbox
        label="Widen the declaration"
        hint="Further categories after the known ones, wider bounds, higher limits. Nothing may become narrower."
        checked={columns !== undefined}
        onChange={(widen) =>
          onChange((present) => ({ ...present, columns: widen ? columnsOf(dataset) : undefined }))
        }
      />
      {columns !== undefined && (
        <div className={styles.columns}>
          {columns.map((column) => (
            <ColumnEditor
              key={column.name}
              column={column}
              questions={NO_REMARKS}
              notes={NO_REMARKS}
              ofPeople={dataset.privacyUnit.kind === 'person'}
              onChange={changeColumn}
            />
          ))}
          <TimeZones />
        </div>
      )}
    </>
  )
}

function Outcome({ attempt }: { readonly attempt: Attempt }) {
  switch (attempt.state) {
    case 'none':
    case 'running':
      return null
    case 'failed':
      return <ProblemNotice error={attempt.error} />
    case 'tried':
      return (
        <>
          <Notice tone="success" title="The rows can be published. Nothing was published yet.">
            {attempt.unchanged &&
              'They are the rows of the present version: publishing would change nothing.'}
          </Notice>
          <IngestionReport counts={attempt.counts} />
        </>
      )
    case 'published':
      return (
        <>
          <Notice tone="success" title={`Version ${attempt.version} is present.`} />
          {attempt.counts !== undefined && <IngestionReport counts={attempt.counts} />}
        </>
      )
  }
}

async function publishVersion(dataset: string, body: NewVersion, dryRun: boolean): Promise<Attempt> {
  const answer = await bodyOf(
    requests.POST('/v1/datasets/{dataset}/versions', {
      params: { path: { dataset }, query: { dryRun: dryRun ? 'true' : 'false' } },
      body,
    }),
  )
  return 'dryRun' in answer
    ? { state: 'tried', counts: answer.ingestion, unchanged: answer.unchanged }
    : { state: 'published', version: answer.version, counts: answer.ingestion }
}

function sourceOf(picked: PickedSource): Source {
  return picked.kind === 'made-up' ? picked.source : (picked.draft.declaration.source as Source)
}

function columnsOf({ columns }: Dataset): readonly ColumnForm[] {
  return columns.map((column, position) => formOfColumn({ ...column }, position))
}
