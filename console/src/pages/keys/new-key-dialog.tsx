import { useState } from 'react'
import { api, bodyOf, requests, useMe } from '../../api/api.ts'
import { Checkbox, FieldRow, Radios, SelectField, TextField } from '../../components/forms/fields.tsx'
import { fieldsOf } from '../../components/forms/fields-of.ts'
import { FormDialog } from '../../components/layout/dialog.tsx'
import {
  type ApiKey,
  EXPIRIES,
  type IssuedKey,
  isComplete,
  type KeyForm,
  keyRequestOf,
  QUOTA_FIELDS,
} from './key-request.ts'
import styles from './keys.module.css'

const ROLES = [
  { value: 'analyst', label: 'Analyst', hint: 'Asks questions, and sees budgets and their own answers.' },
  { value: 'custodian', label: 'Custodian', hint: 'Registers data, grants budgets and manages keys.' },
  { value: 'auditor', label: 'Auditor', hint: 'Reads and verifies the ledger, and sees all answers.' },
] as const

const EMPTY: KeyForm = {
  name: '',
  role: 'analyst',
  scope: 'all',
  chosen: [],
  further: '',
  expiry: 'never',
  date: '',
  quota: {},
  samePrincipal: false,
  spending: 'session',
  epsilon: '',
  halfWidths: false,
}

export interface NewKeyDialogProps {
  /** Keys that exist. */
  readonly keys: readonly ApiKey[]
  readonly onIssued: (issued: IssuedKey) => void
  readonly onClose: () => void
}

/** Creates a key. */
export function NewKeyDialog({ keys, onIssued, onClose }: NewKeyDialogProps) {
  const me = useMe()
  const [form, setForm] = useState<KeyForm>({ ...EMPTY, scope: me?.datasets === undefined ? 'all' : 'some' })
  const change = (changes: Partial<KeyForm>) => setForm({ ...form, ...changes })
  const field = fieldsOf(form, change)
  const isKnown = keys.some(({ name }) => name === form.name.trim())
  const create = () => bodyOf(requests.POST('/v1/keys', { body: keyRequestOf(form, Date.now()) }))
  return (
    <FormDialog
      title="Create a key"
      action="Create the key"
      ready={isComplete(form)}
      lost="The key may have been created, but its text is lost. Close this dialog, reload the page, and delete the key if it is there."
      onSubmit={create}
      onDone={onIssued}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Answers, spending and allotments belong to this name."
        {...field('name')}
        autoComplete="off"
        spellCheck={false}
        placeholder="study-notebook"
      />
      <Checkbox
        label="The name has or had a key: add another one"
        hint={
          isKnown ? 'This name has a key. Two keys of one name share spending and allotments.' : undefined
        }
        {...field('samePrincipal')}
      />
      <Radios legend="Role" {...field('role')} choices={ROLES} />
      <Scope form={form} isLimited={me?.datasets !== undefined} onChange={change} />
      <FieldRow>
        <SelectField label="Expires" {...field('expiry')} options={EXPIRIES} />
        {form.expiry === 'date' && (
          <TextField label="Date" hint="At 00:00 UTC." type="date" {...field('date')} />
        )}
      </FieldRow>
      {form.role === 'analyst' && <Sessions form={form} onChange={change} />}
      <Quota form={form} onChange={change} />
    </FormDialog>
  )
}

interface PartProps {
  readonly form: KeyForm
  readonly onChange: (changes: Partial<KeyForm>) => void
}

function Scope({ form, isLimited, onChange }: PartProps & { readonly isLimited: boolean }) {
  const field = fieldsOf(form, onChange)
  const { data } = api.useQuery('get', '/v1/datasets')
  return (
    <div className={styles.scope}>
      <Radios
        legend="Datasets"
        {...field('scope')}
        choices={[
          { value: 'all', label: 'All datasets, also future ones', disabled: isLimited },
          { value: 'some', label: 'Only these' },
        ]}
      />
      {form.scope === 'some' && (
        <div className={styles.chosen}>
          {data?.datasets.map(({ id, title }) => (
            <Checkbox
              key={id}
              label={
                <>
                  {title} <code>{id}</code>
                </>
              }
              value={form.chosen.includes(id)}
              onChange={(checked) =>
                onChange({
                  chosen: checked ? [...form.chosen, id] : form.chosen.filter((each) => each !== id),
                })
              }
            />
          ))}
          <TextField
            label="Further ids"
            hint="Of datasets that are not registered yet, separated by commas."
            {...field('further')}
            spellCheck={false}
          />
        </div>
      )}
    </div>
  )
}

const SPENDING = [
  {
    value: 'session',
    label: 'Where a session allows it',
    hint: 'In SQL after SET sotto.spending = allow; over HTTP always.',
  },
  {
    value: 'never',
    label: 'Never',
    hint: 'Only answers that cost nothing, also over HTTP: for a dashboard that many read.',
  },
  { value: 'allow', label: 'From the start', hint: 'Every new question of a BI tool is paid for.' },
] as const

/** Settings with which the sessions of BI tools begin. */
function Sessions({ form, onChange }: PartProps) {
  const field = fieldsOf(form, onChange)
  return (
    <details>
      <summary>BI tools</summary>
      <Radios legend="Answers may be paid for" {...field('spending')} choices={SPENDING} />
      <TextField
        label="Epsilon of each query"
        hint="Empty: each session states it."
        type="number"
        step="any"
        {...field('epsilon')}
      />
      <Checkbox label="Columns of half-widths" {...field('halfWidths')} />
    </details>
  )
}

/** Limits on requests, where they differ from the configuration. */
function Quota({ form, onChange }: PartProps) {
  return (
    <details>
      <summary>Limits on requests</summary>
      <p className={styles.by}>Empty fields keep the limits of the configuration.</p>
      <FieldRow>
        {QUOTA_FIELDS.map(([field, title]) => (
          <TextField
            key={field}
            label={title}
            type="number"
            min={field === 'storedBytesPerDataset' ? 0 : 1}
            step={1}
            value={form.quota[field] ?? ''}
            onChange={(text) => onChange({ quota: { ...form.quota, [field]: text } })}
          />
        ))}
      </FieldRow>
    </details>
  )
}
