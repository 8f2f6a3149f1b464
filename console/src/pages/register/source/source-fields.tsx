import { api } from '../../../api/api.ts'
import type { Schemas } from '../../../api/schemas.ts'
import {
  Field,
  FieldRow,
  NumberField,
  Radios,
  SelectField,
  TextField,
} from '../../../components/forms/fields.tsx'
import { fieldsOf } from '../../../components/forms/fields-of.ts'
import { Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { Pill } from '../../../components/tables/tables.tsx'
import { formatTime } from '../../../format/time.ts'
import styles from '../register.module.css'
import { type EnteredSource, tablesOf } from './picked-source.ts'

export interface SourceFieldsProps {
  readonly entered: EnteredSource
  readonly onChange: (changes: Partial<EnteredSource>) => void
}

/** Fields of the kind of source that was chosen. */
export function SourceFields(props: SourceFieldsProps) {
  const { entered, onChange } = props
  switch (entered.kind) {
    case 'upload':
      return <UploadFields {...props} />
    case 'joined':
      return <JoinedFields {...props} />
    case 'file':
      return (
        <TextField
          label="Path"
          hint="Relative to the data folder of the service."
          placeholder="survey/staff.csv"
          value={entered.path}
          onChange={(path) => onChange({ path })}
        />
      )
    case 'table':
      return <TableFields {...props} />
    case 'made-up':
      return <MadeUpFields {...props} />
  }
}

function UploadFields({ entered, onChange }: SourceFieldsProps) {
  const { data } = api.useQuery('get', '/v1/sources')
  const uploads = data?.sources ?? []
  return (
    <>
      <Field
        label="File"
        hint="Drop a file here, or choose one. Only you can use it. It is checked in full when you register it."
      >
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            className={styles.drop}
            accept=".csv,.tsv,.txt,.gz,.parquet"
            onChange={(event) => onChange({ file: event.target.files?.[0], upload: '' })}
          />
        )}
      </Field>
      {uploads.length > 0 && entered.file === undefined && (
        <SelectField
          label="Or a file that you uploaded before"
          value={entered.upload}
          options={[
            ['', 'Choose an upload'],
            ...uploads.map((each) => [each.id, titleOfUpload(each)] as const),
          ]}
          onChange={(upload) =>
            onChange({ upload, uploadName: uploads.find(({ id }) => id === upload)?.name ?? '' })
          }
        />
      )}
    </>
  )
}

function JoinedFields({ entered, onChange }: SourceFieldsProps) {
  const tables = tablesOf(entered)
  return (
    <>
      <Field label="Files" hint="One file for each table, which has the name of the file.">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            multiple
            className={styles.drop}
            accept=".csv,.tsv,.txt,.gz,.parquet"
            onChange={(event) => onChange({ files: [...(event.target.files ?? [])] })}
          />
        )}
      </Field>
      {tables.length > 0 && <p>Tables: {tables.join(', ')}</p>}
      {tables.length !== new Set(tables).size && (
        <Notice tone="cost" title="Two files have the same name">
          Rename one of them.
        </Notice>
      )}
    </>
  )
}

const kilobytes = new Intl.NumberFormat('en', { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 0 })

function titleOfUpload({ name, bytes, uploadedAt }: Schemas['Upload']): string {
  return `${name}, ${kilobytes.format(Math.ceil(bytes / 1000))}, ${formatTime(uploadedAt)} UTC`
}

function TableFields({ entered, onChange }: SourceFieldsProps) {
  const { data, error } = api.useQuery('get', '/v1/connections')
  if (error !== null) return <ProblemNotice error={error} />
  if (data?.connections.length === 0)
    return (
      <Notice title="No database is connected">
        An operator connects databases with <code>SOTTO_CONNECTIONS</code>.
      </Notice>
    )
  return (
    <>
      <TableField entered={entered} connections={data?.connections ?? []} onChange={onChange} />
      <Radios
        legend="Rows"
        value={entered.mode}
        choices={[
          { value: 'live', label: 'Live', hint: 'Every query reads the table in its database.' },
          { value: 'snapshot', label: 'Snapshot', hint: 'The rows are copied once, at the registration.' },
        ]}
        onChange={(mode) => onChange({ mode })}
      />
      {entered.mode === 'live' && (
        <SelectField
          label="A repeated question replays its answer, free"
          hint="Afterwards it is a new question, which reads the present rows and costs its price."
          value={entered.freshness}
          options={FRESHNESS}
          onChange={(freshness) => onChange({ freshness })}
        />
      )}
    </>
  )
}

const FRESHNESS = [
  ['hour', 'until the hour ends (UTC)'],
  ['day', 'until the day ends (UTC)'],
  ['forever', 'for ever'],
] as const

interface TableFieldProps extends SourceFieldsProps {
  readonly connections: Schemas['ConnectionList']['connections']
}

function TableField({ entered, connections, onChange }: TableFieldProps) {
  const field = fieldsOf(entered, onChange)
  const chosen = connections.find(({ name }) => name === entered.connection)
  return (
    <>
      <FieldRow>
        <SelectField
          label="Connection"
          {...field('connection')}
          options={[
            ['', 'Choose a connection'],
            ...connections.map(({ name, engine }) => [name, `${name} (${engine})`] as const),
          ]}
        />
        <TextField label="Table or view" hint="Such as clinic.visits." {...field('table')} />
      </FieldRow>
      {chosen?.reachable === false && <Pill tone="cost">cannot be reached at the moment</Pill>}
    </>
  )
}

function MadeUpFields({ entered, onChange }: SourceFieldsProps) {
  const field = fieldsOf(entered, onChange)
  return (
    <>
      <Radios
        legend="People"
        {...field('madeUp')}
        choices={[
          { value: 'population', label: 'A population', hint: 'One row per person.' },
          { value: 'visits', label: 'Visits to a clinic', hint: 'Several rows per patient.' },
        ]}
      />
      <FieldRow>
        {entered.madeUp === 'visits' && <NumberField label="Patients" {...field('people')} />}
        <NumberField label="Rows" {...field('rows')} />
        <TextField label="Seed" hint="The same seed always gives the same people." {...field('seed')} />
      </FieldRow>
    </>
  )
}
