import { useState } from 'react'
import { api, bodyOf, requests } from '../../api/api.ts'
import { useMe } from '../../api/me.ts'
import { Checkbox, Radios } from '../../components/choice.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Field, FieldRow } from '../../components/field.tsx'
import {
  type ApiKey,
  type Expiry,
  type IssuedKey,
  isComplete,
  type KeyForm,
  keyRequestOf,
  type QuotaField,
} from './key-request.ts'
import styles from './keys.module.css'

const ROLES = [
  { value: 'analyst', label: 'Analyst', hint: 'Asks questions, and sees budgets and their own answers.' },
  { value: 'custodian', label: 'Custodian', hint: 'Registers data, grants budgets and manages keys.' },
  { value: 'auditor', label: 'Auditor', hint: 'Reads and verifies the ledger, and sees all answers.' },
] as const

const EXPIRY_TITLES: Readonly<Record<Expiry, string>> = {
  never: 'Never',
  '30': 'In 30 days',
  '90': 'In 90 days',
  '365': 'In one year',
  date: 'At a date',
}

const QUOTA_TITLES: Readonly<Record<QuotaField, string>> = {
  requestsPerMinute: 'Requests per minute',
  burst: 'Requests at once',
  concurrentRequests: 'Requests under way',
  storedBytesPerDataset: 'Stored bytes per dataset',
}

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
      <Field label="Name" hint="Answers, spending and allotments belong to this name.">
        {(attributes) => (
          <input
            {...attributes}
            value={form.name}
            autoComplete="off"
            spellCheck={false}
            placeholder="study-notebook"
            onChange={(event) => change({ name: event.target.value })}
          />
        )}
      </Field>
      <Checkbox
        label="The name has or had a key: add another one"
        hint={
          isKnown ? 'This name has a key. Two keys of one name share spending and allotments.' : undefined
        }
        checked={form.samePrincipal}
        onChange={(samePrincipal) => change({ samePrincipal })}
      />
      <Radios legend="Role" value={form.role} choices={ROLES} onChange={(role) => change({ role })} />
      <Scope form={form} isLimited={me?.datasets !== undefined} onChange={change} />
      <FieldRow>
        <Field label="Expires">
          {(attributes) => (
            <select
              {...attributes}
              value={form.expiry}
              onChange={(event) => change({ expiry: event.target.value as Expiry })}
            >
              {Object.entries(EXPIRY_TITLES).map(([expiry, title]) => (
                <option key={expiry} value={expiry}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
        {form.expiry === 'date' && (
          <Field label="Date" hint="At 00:00 UTC.">
            {(attributes) => (
              <input
                {...attributes}
                type="date"
                value={form.date}
                onChange={(event) => change({ date: event.target.value })}
              />
            )}
          </Field>
        )}
      </FieldRow>
      <Quota form={form} onChange={change} />
    </FormDialog>
  )
}

interface PartProps {
  readonly form: KeyForm
  readonly onChange: (changes: Partial<KeyForm>) => void
}

/** Datasets that the key may use. */
function Scope({ form, isLimited, onChange }: PartProps & { readonly isLimited: boolean }) {
  const { data } = api.useQuery('get', '/v1/datasets')
  return (
    <div className={styles.scope}>
      <Radios
        legend="Datasets"
        value={form.scope}
        choices={[
          { value: 'all', label: 'All datasets, also future ones', disabled: isLimited },
          { value: 'some', label: 'Only these' },
        ]}
        onChange={(scope) => onChange({ scope })}
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
              checked={form.chosen.includes(id)}
              onChange={(checked) =>
                onChange({
                  chosen: checked ? [...form.chosen, id] : form.chosen.filter((each) => each !== id),
                })
              }
            />
          ))}
          <Field label="Further ids" hint="Of datasets that are not registered yet, separated by commas.">
            {(attributes) => (
              <input
                {...attributes}
                value={form.further}
                spellCheck={false}
                onChange={(event) => onChange({ further: event.target.value })}
              />
            )}
          </Field>
        </div>
      )}
    </div>
  )
}

/** Limits on requests, where they differ from the configuration. */
function Quota({ form, onChange }: PartProps) {
  return (
    <details>
      <summary>Limits on requests</summary>
      <p className={styles.by}>Empty fields keep the limits of the configuration.</p>
      <FieldRow>
        {(Object.entries(QUOTA_TITLES) as [QuotaField, string][]).map(([field, title]) => (
          <Field key={field} label={title}>
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                min={field === 'storedBytesPerDataset' ? 0 : 1}
                step={1}
                value={form.quota[field] ?? ''}
                onChange={(event) => onChange({ quota: { ...form.quota, [field]: event.target.value } })}
              />
            )}
          </Field>
        ))}
      </FieldRow>
    </details>
  )
}
