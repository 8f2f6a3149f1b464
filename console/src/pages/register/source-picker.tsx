import { useState } from 'react'
import type { components } from 'sotto-client'
import { api, bodyOf, queryClient, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Radios } from '../../components/choice.tsx'
import { Field, FieldRow } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { NumberField } from '../../components/number-field.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { numberOf } from '../../format/number.ts'
import type { Draft, Source } from './declaration.ts'
import styles from './register.module.css'

type DraftedSource = components['schemas']['DraftRequest']['source']
type MadeUpSource = Extract<Source, { kind: 'population' | 'visits' }>
type Upload = components['schemas']['Upload']

/** A source that was chosen: with the draft of its declaration, or made-up people. */
export type PickedSource =
  | { readonly kind: 'drafted'; readonly draft: Draft }
  | { readonly kind: 'made-up'; readonly source: MadeUpSource }

const KINDS = [
  { value: 'upload', label: 'Upload a file', hint: 'CSV, also compressed by gzip, or Parquet.' },
  {
    value: 'file',
    label: 'A file in the data folder',
    hint: 'For large files, which an operator has copied there.',
  },
  { value: 'table', label: 'A table of a database', hint: 'In a database that an operator has connected.' },
  { value: 'made-up', label: 'Made-up people', hint: 'Generated from numbers and a seed, to practise.' },
] as const
type Kind = (typeof KINDS)[number]['value']

interface Entered {
  readonly kind: Kind
  readonly file: File | undefined
  readonly upload: string
  readonly path: string
  readonly connection: string
  readonly table: string
  readonly mode: 'live' | 'snapshot'
  readonly madeUp: MadeUpSource['kind']
  readonly people: string
  readonly rows: string
  readonly seed: string
}

const EMPTY: Entered = {
  kind: 'upload',
  file: undefined,
  upload: '',
  path: '',
  connection: '',
  table: '',
  mode: 'live',
  madeUp: 'population',
  people: '1000',
  rows: '1000',
  seed: 'practice',
}

export interface SourcePickerProps {
  /** Text of the button. */
  readonly action: string
  readonly onPicked: (source: PickedSource) => void
}

/** Form that uploads a file or names a table, and drafts its declaration. */
export function SourcePicker({ action, onPicked }: SourcePickerProps) {
  const [entered, setEntered] = useState(EMPTY)
  const [attempt, setAttempt] = useState<{ readonly busy: string; readonly error?: unknown }>({ busy: '' })
  const change = (changes: Partial<Entered>) => setEntered({ ...entered, ...changes })
  const pick = async () => {
    setAttempt({ busy: 'Reading the source' })
    try {
      onPicked(await pickedOf(entered, (busy) => setAttempt({ busy })))
      setAttempt({ busy: '' })
    } catch (error) {
      setAttempt({ busy: '', error })
    }
  }
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (attempt.busy === '') void pick()
      }}
    >
      <Radios
        legend="Where are the data?"
        value={entered.kind}
        choices={KINDS}
        onChange={(kind) => change({ kind })}
      />
      {entered.kind === 'upload' && <UploadFields entered={entered} onChange={change} />}
      {entered.kind === 'file' && (
        <Field label="Path" hint="Relative to the data folder of the service.">
          {(attributes) => (
            <input
              {...attributes}
              placeholder="survey/staff.csv"
              value={entered.path}
              onChange={(event) => change({ path: event.target.value })}
            />
          )}
        </Field>
      )}
      {entered.kind === 'table' && <TableFields entered={entered} onChange={change} />}
      {entered.kind === 'made-up' && <MadeUpFields entered={entered} onChange={change} />}
      {attempt.error !== undefined && <ProblemNotice error={attempt.error} />}
      <div className={styles.actions}>
        {attempt.busy !== '' && <span role="status">{attempt.busy} …</span>}
        <Button type="submit" look="primary" busy={attempt.busy !== ''} disabled={!isComplete(entered)}>
          {action}
        </Button>
      </div>
    </form>
  )
}

interface PartProps {
  readonly entered: Entered
  readonly onChange: (changes: Partial<Entered>) => void
}

function UploadFields({ entered, onChange }: PartProps) {
  const { data } = api.useQuery('get', '/v1/sources')
  const uploads = data?.sources ?? []
  return (
    <>
      <Field label="File" hint="Only you can use it. It is checked in full when you register it.">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".csv,.tsv,.txt,.gz,.parquet"
            onChange={(event) => onChange({ file: event.target.files?.[0], upload: '' })}
          />
        )}
      </Field>
      {uploads.length > 0 && entered.file === undefined && (
        <Field label="Or a file that you uploaded before">
          {(attributes) => (
            <select
              {...attributes}
              value={entered.upload}
              onChange={(event) => onChange({ upload: event.target.value })}
            >
              <option value="">Choose an upload</option>
              {uploads.map((upload) => (
                <option key={upload.id} value={upload.id}>
                  {titleOfUpload(upload)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </>
  )
}

const megabytes = new Intl.NumberFormat('en', { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 0 })

function titleOfUpload({ name, bytes, uploadedAt }: Upload): string {
  return `${name}, ${megabytes.format(Math.ceil(bytes / 1000))}, ${uploadedAt.slice(0, 16).replace('T', ' ')} UTC`
}

function TableFields({ entered, onChange }: PartProps) {
  const { data, error } = api.useQuery('get', '/v1/connections')
  if (error !== null) return <ProblemNotice error={error} />
  if (data?.connections.length === 0)
    return (
      <Notice title="No database is connected">
        An operator connects databases with <code>SOTTO_CONNECTIONS</code>.
      </Notice>
    )
  const chosen = data?.connections.find(({ name }) => name === entered.connection)
  return (
    <>
      <FieldRow>
        <Field label="Connection">
          {(attributes) => (
            <select
              {...attributes}
              value={entered.connection}
              onChange={(event) => onChange({ connection: event.target.value })}
            >
              <option value="">Choose a connection</option>
              {data?.connections.map(({ name, engine }) => (
                <option key={name} value={name}>
                  {name} ({engine})
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Table or view" hint="Such as clinic.visits.">
          {(attributes) => (
            <input
              {...attributes}
              value={entered.table}
              onChange={(event) => onChange({ table: event.target.value })}
            />
          )}
        </Field>
      </FieldRow>
      {chosen?.reachable === false && <Pill tone="cost">cannot be reached at the moment</Pill>}
      <Radios
        legend="Rows"
        value={entered.mode}
        choices={[
          { value: 'live', label: 'Live', hint: 'Every query reads the table in its database.' },
          { value: 'snapshot', label: 'Snapshot', hint: 'The rows are copied once, at the registration.' },
        ]}
        onChange={(mode) => onChange({ mode })}
      />
    </>
  )
}

function MadeUpFields({ entered, onChange }: PartProps) {
  return (
    <>
      <Radios
        legend="People"
        value={entered.madeUp}
        choices={[
          { value: 'population', label: 'A population', hint: 'One row per person.' },
          { value: 'visits', label: 'Visits to a clinic', hint: 'Several rows per patient.' },
        ]}
        onChange={(madeUp) => onChange({ madeUp })}
      />
      <FieldRow>
        {entered.madeUp === 'visits' && (
          <NumberField label="Patients" value={entered.people} onChange={(people) => onChange({ people })} />
        )}
        <NumberField label="Rows" value={entered.rows} onChange={(rows) => onChange({ rows })} />
        <Field label="Seed" hint="The same seed always gives the same people.">
          {(attributes) => (
            <input
              {...attributes}
              value={entered.seed}
              onChange={(event) => onChange({ seed: event.target.value })}
            />
          )}
        </Field>
      </FieldRow>
    </>
  )
}

function isComplete(entered: Entered): boolean {
  switch (entered.kind) {
    case 'upload':
      return entered.file !== undefined || entered.upload !== ''
    case 'file':
      return entered.path.trim() !== ''
    case 'table':
      return entered.connection !== '' && entered.table.trim() !== ''
    case 'made-up':
      return numberOf(entered.rows) !== undefined && entered.seed !== ''
  }
}

async function pickedOf(entered: Entered, onBusy: (busy: string) => void): Promise<PickedSource> {
  if (entered.kind === 'made-up') return { kind: 'made-up', source: madeUpSourceOf(entered) }
  const { file } = entered
  if (entered.kind === 'upload' && file !== undefined) onBusy('Uploading the file')
  const source = await draftedSourceOf(entered)
  onBusy('Drafting the declaration')
  const draft = await bodyOf(requests.POST('/v1/drafts', { body: { source } }))
  if (source.kind !== 'table') return { kind: 'drafted', draft }
  const declared = draft.declaration.source as object
  const declaration = { ...draft.declaration, source: { ...declared, mode: entered.mode } }
  return { kind: 'drafted', draft: { ...draft, declaration } }
}

async function draftedSourceOf({
  kind,
  file,
  upload,
  path,
  connection,
  table,
}: Entered): Promise<DraftedSource> {
  if (kind === 'file') return { kind, path: path.trim() }
  if (kind === 'table') return { kind, connection, table: table.trim() }
  if (file === undefined) return { kind: 'upload', upload }
  const uploaded = await uploadFile(file)
  return { kind: 'upload', upload: uploaded.id }
}

async function uploadFile(file: File): Promise<Upload> {
  const form = new FormData()
  form.append('file', file)
  const uploaded = await bodyOf(
    requests.POST('/v1/sources', { body: { file: file.name }, bodySerializer: () => form }),
  )
  await queryClient.invalidateQueries({ queryKey: ['get', '/v1/sources'] })
  return uploaded
}

function madeUpSourceOf({ madeUp, people, rows, seed }: Entered): MadeUpSource {
  const size = { rows: numberOf(rows) ?? 0, seed }
  return madeUp === 'population'
    ? { kind: madeUp, ...size }
    : { kind: madeUp, people: numberOf(people) ?? 0, ...size }
}
