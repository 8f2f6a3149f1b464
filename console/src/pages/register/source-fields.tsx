import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { Radios } from '../../components/choice.tsx'
import { Field, FieldRow } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { NumberField } from '../../components/number-field.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { formatTime } from '../../format/time.ts'
import type { EnteredSource } from './picked-source.ts'

type Upload = components['schemas']['Upload']

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
    case 'file':
      return (
        <Field label="Path" hint="Relative to the data folder of the service.">
          {(attributes) => (
            <input
              {...attributes}
              placeholder="survey/staff.csv"
              value={entered.path}
              onChange={(event) => onChange({ path: event.target.value })}
            />
          )}
        </Field>
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

const kilobytes = new Intl.NumberFormat('en', { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 0 })

function titleOfUpload({ name, bytes, uploadedAt }: Upload): string {
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
    </>
  )
}

interface TableFieldProps extends SourceFieldsProps {
  readonly connections: components['schemas']['ConnectionList']['connections']
}

/** Names a table by its connection and its name. */
function TableField({ entered, connections, onChange }: TableFieldProps) {
  const chosen = connections.find(({ name }) => name === entered.connection)
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
              {connections.map(({ name, engine }) => (
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
    </>
  )
}

function MadeUpFields({ entered, onChange }: SourceFieldsProps) {
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
