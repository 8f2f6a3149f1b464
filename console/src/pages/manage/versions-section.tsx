import { useMutation } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { defined } from '../../../../src/privacy/defined.ts'
import { api, at, bodyOf, refreshAll, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { Checkbox, Radios } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Pill, Table } from '../../components/tables/tables.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset, DatasetPart } from '../datasets/dataset.ts'
import { needsSecondBudget, SecondBudgetField } from '../register/budget/second-budget-field.tsx'
import { ColumnEditor, TimeZones } from '../register/columns/column-editor.tsx'
import {
  type ColumnForm,
  declaredColumn,
  formOfColumn,
  openFieldsOf,
  withColumn,
} from '../register/columns/column-form.ts'
import type { Source } from '../register/declaration.ts'
import { IngestionProgress, IngestionReport, PublishButtons } from '../register/ingestion.tsx'
import type { PickedSource } from '../register/source/picked-source.ts'
import { SourcePicker } from '../register/source/source-picker.tsx'
import styles from './manage.module.css'

/** Versions of the rows, and the publication of new ones. */
export function VersionsSection({ dataset }: DatasetPart) {
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/datasets/{dataset}/versions',
    at({ dataset: dataset.id }),
  )
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
            [
              'Version',
              ({ version }) => (
                <>
                  <strong>{version}</strong>{' '}
                  {version === dataset.version && <Pill tone="accent">present</Pill>}
                </>
              ),
            ],
            ['Published (UTC)', ({ publishedAt }) => <DateTime value={publishedAt} />],
            isPublic && ['People or rows', ({ rows, people }) => formatExact(people ?? rows ?? 0)],
          ]}
        />
        {publishing && <NewVersionForm dataset={dataset} onClose={() => setPublishing(false)} />}
      </div>
    </Section>
  )
}

/** A version has no draft. */
const NO_REMARKS: readonly never[] = []

interface NewVersionFormProps extends DatasetPart {
  readonly onClose: () => void
}

function NewVersionForm({ dataset, onClose }: NewVersionFormProps) {
  const [terms, setTerms] = useState(UNCHANGED)
  const change = (changes: Partial<VersionTerms>) => setTerms((present) => ({ ...present, ...changes }))
  const attempt = useMutation({
    mutationFn: (dryRun: boolean) =>
      bodyOf(
        requests.POST('/v1/datasets/{dataset}/versions', {
          params: { path: { dataset: dataset.id }, query: { dryRun: dryRun ? 'true' : 'false' } },
          body: bodyOfTerms(terms),
        }),
      ),
    onSuccess: (_, dryRun) => (dryRun ? undefined : refreshAll()),
  })
  const { data, error, isPending, variables: dryRun } = attempt
  const { separateBudget } = terms
  return (
    <div className={styles.form}>
      <SourceChoice dataset={dataset} terms={terms} onChange={change} />
      <WidenedColumns dataset={dataset} columns={terms.columns} onChange={setTerms} />
      {isPending && <IngestionProgress dataset={dataset.id} />}
      {error !== null && <ProblemNotice error={error} />}
      {data !== undefined && <Outcome published={data} />}
      {(needsSecondBudget(error) || separateBudget !== '') && (
        <SecondBudgetField value={separateBudget} onChange={(reason) => change({ separateBudget: reason })} />
      )}
      <div className={`${styles.buttons} ${styles.end}`}>
        <Button onClick={onClose} disabled={isPending}>
          Close
        </Button>
        <PublishButtons
          action="Publish the version"
          running={isPending ? dryRun : undefined}
          isReady={isReady(terms)}
          onSend={attempt.mutate}
        />
      </div>
    </div>
  )
}

/** Changes of a new version, as they were entered. */
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

function bodyOfTerms({ from, source, columns, separateBudget }: VersionTerms): Schemas['NewVersion'] {
  return defined({
    source: from === 'present' ? undefined : source,
    columns: columns?.filter(({ included }) => included).map(declaredColumn),
    separateBudget: separateBudget.trim() || undefined,
  })
}

interface SourceChoiceProps extends DatasetPart {
  readonly terms: VersionTerms
  readonly onChange: (changes: Partial<VersionTerms>) => void
}

function SourceChoice({ dataset, terms: { from, source }, onChange }: SourceChoiceProps) {
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
          onPicked={(picked) => onChange({ source: sourceOf(picked, dataset) })}
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
      onChange((present) => ({ ...present, columns: withColumn(present.columns, position, changes) })),
    [onChange],
  )
  return (
    <>
      <Checkbox
        label="Widen the declaration"
        hint="Further categories after the known ones, wider bounds, higher limits. Nothing may become narrower."
        value={columns !== undefined}
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

function Outcome({
  published,
}: {
  readonly published: Schemas['PublishedVersion'] | Schemas['TriedVersion']
}) {
  return (
    <>
      {'dryRun' in published ? (
        <Notice tone="success" title="The rows can be published. Nothing was published yet.">
          {published.unchanged &&
            'They are the rows of the present version: publishing would change nothing.'}
        </Notice>
      ) : (
        <Notice tone="success" title={`Version ${published.version} is present.`} />
      )}
      {published.ingestion !== undefined && <IngestionReport counts={published.ingestion} />}
    </>
  )
}

/** Files of joined tables are joined as those of the present version are. */
function sourceOf(picked: PickedSource, { source: present }: Dataset): Source {
  if (picked.kind === 'made-up') return picked.source
  const source = picked.draft.declaration.source as Source
  return source.kind === 'joined' && present.kind === 'joined' ? { ...source, joins: present.joins } : source
}

function columnsOf({ columns }: Dataset): readonly ColumnForm[] {
  return columns.map((column, position) => formOfColumn({ ...column }, position))
}
