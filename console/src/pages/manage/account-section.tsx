import { type ReactNode, useState } from 'react'
import { api, at, refreshAll, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Gauge } from '../../components/charts/gauge.tsx'
import { Button } from '../../components/forms/button.tsx'
import { FieldRow, NumberFields, TextField } from '../../components/forms/fields.tsx'
import { FormDialog } from '../../components/layout/dialog.tsx'
import { Section } from '../../components/layout/page.tsx'
import { ProblemNotice } from '../../components/notices/notices.tsx'
import { Table } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { numberOf } from '../../format/number.ts'
import { type Account, actsOn } from './account.ts'
import styles from './manage.module.css'
import { ReasonField } from './reason-field.tsx'

/** Dialog that is open. An allotment may be that of an analyst who has none yet. */
type Opened =
  | { readonly dialog: 'none' | 'grant' | 'replace' }
  | { readonly dialog: 'allot'; readonly analyst: string }
  | { readonly dialog: 'unallot'; readonly analyst: string }

export interface AccountSectionProps {
  readonly title: string
  readonly account: Account
  /** Analysts, once they are read. */
  readonly read: {
    readonly data?: { readonly analysts: readonly Schemas['AnalystSpending'][] } | undefined
    readonly error: unknown
    readonly refetch: () => void
  }
  /** True if nothing was spent from the budget of a dataset, so that its cap can be replaced. */
  readonly isReplaceable?: boolean
  /** The budget, above the allotments. */
  readonly children: ReactNode
}

/** Budget of a dataset or a population, and what each analyst may spend of it. */
export function AccountSection({
  title,
  account,
  read: { data, error, refetch },
  isReplaceable = false,
  children,
}: AccountSectionProps) {
  const [opened, open] = useState<Opened>({ dialog: 'none' })
  const close = () => open({ dialog: 'none' })
  return (
    <Section
      title={title}
      aside={
        <div className={styles.buttons}>
          {isReplaceable && <Button onClick={() => open({ dialog: 'replace' })}>Replace the cap</Button>}
          <Button onClick={() => open({ dialog: 'allot', analyst: '' })}>Set an allotment</Button>
          <Button look="primary" onClick={() => open({ dialog: 'grant' })}>
            Raise the cap
          </Button>
        </div>
      }
    >
      <div className={styles.form}>
        {children}
        {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
        {data !== undefined && (
          <AllotmentTable
            analysts={data.analysts}
            onChange={(analyst) => open({ dialog: 'allot', analyst })}
            onRemove={(analyst) => open({ dialog: 'unallot', analyst })}
          />
        )}
      </div>
      {opened.dialog === 'grant' && <GrantDialog account={account} onClose={close} />}
      {opened.dialog === 'replace' && <ReplaceDialog dataset={account.id} onClose={close} />}
      {opened.dialog === 'allot' && (
        <AllotmentDialog account={account} analyst={opened.analyst} onClose={close} />
      )}
      {opened.dialog === 'unallot' && (
        <RemovalDialog account={account} analyst={opened.analyst} onClose={close} />
      )}
    </Section>
  )
}

interface AllotmentTableProps {
  readonly analysts: readonly Schemas['AnalystSpending'][]
  readonly onChange: (analyst: string) => void
  readonly onRemove: (analyst: string) => void
}

function AllotmentTable({ analysts, onChange, onRemove }: AllotmentTableProps) {
  return (
    <Table
      label="Analysts and their allotments"
      rows={analysts}
      keyOf={({ analyst }) => analyst}
      empty="No analyst has spent anything or has an allotment. Without one, an analyst may spend the whole cap."
      columns={[
        ['Analyst', ({ analyst }) => <strong>{analyst}</strong>],
        ['Spent', ({ spent }) => formatAmount(spent), 'right'],
        [
          'Allotment',
          ({ analyst, allotment }) =>
            allotment === undefined ? (
              'none'
            ) : (
              <>
                {formatAmount(allotment.cap)}
                <Gauge label={`Allotment of ${analyst}`} cap={allotment.cap} spent={allotment.spent} />
              </>
            ),
        ],
        [
          'Actions',
          ({ analyst, allotment }) => (
            <span className={styles.actions}>
              <Button
                look="quiet"
                aria-label={`Set the allotment of ${analyst}`}
                onClick={() => onChange(analyst)}
              >
                Set
              </Button>
              {allotment !== undefined && (
                <Button
                  look="quiet"
                  aria-label={`Remove the allotment of ${analyst}`}
                  onClick={() => onRemove(analyst)}
                >
                  Remove
                </Button>
              )}
            </span>
          ),
          'right',
        ],
      ]}
    />
  )
}

interface AmountForm {
  readonly epsilon: string
  readonly delta: string
  readonly reason: string
}

const EMPTY: AmountForm = { epsilon: '', delta: '', reason: '' }

function AmountFields({
  form,
  hasDelta = true,
  onChange,
}: {
  readonly form: AmountForm
  /** False where the delta is fixed. */
  readonly hasDelta?: boolean
  readonly onChange: (form: AmountForm) => void
}) {
  return (
    <>
      <FieldRow>
        <NumberFields
          form={form}
          fields={[
            ['epsilon', 'Epsilon'],
            ...(hasDelta ? ([['delta', 'Delta', 'Empty for none.']] as const) : []),
          ]}
          onChange={(changes) => onChange({ ...form, ...changes })}
        />
      </FieldRow>
      <ReasonField value={form.reason} onChange={(reason) => onChange({ ...form, reason })} />
    </>
  )
}

function bodyOfAmount({ epsilon, delta, reason }: AmountForm) {
  return { epsilon: numberOf(epsilon) ?? 0, delta: numberOf(delta) ?? 0, reason: reason.trim() }
}

function isComplete({ epsilon, delta, reason }: AmountForm): boolean {
  return reason.trim() !== '' && (numberOf(epsilon) !== undefined || numberOf(delta) !== undefined)
}

interface GrantDialogProps {
  readonly account: Account
  readonly onClose: () => void
}

/** Raises a cap. */
function GrantDialog({ account, onClose }: GrantDialogProps) {
  const [form, setForm] = useState(EMPTY)
  return (
    <FormDialog
      title="Raise the cap"
      action="Grant"
      ready={isComplete(form)}
      lost="The cap may have been raised. Close this dialog and look at the cap before you grant again: a repeat adds the amount a second time."
      onSubmit={() => actsOn(account).grant(bodyOfAmount(form)).catch(askedAnyway)}
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>
        The amount is added to the cap. A grant cannot be taken back.
        {account.kind === 'population' && ' The delta of a population is fixed.'}
      </p>
      <AmountFields form={form} hasDelta={account.kind === 'dataset'} onChange={setForm} />
    </FormDialog>
  )
}

interface ReplaceDialogProps {
  readonly dataset: string
  readonly onClose: () => void
}

/** Replaces the cap of a budget from which nothing was spent. */
function ReplaceDialog({ dataset, onClose }: ReplaceDialogProps) {
  const [form, setForm] = useState(EMPTY)
  const options = { ...at({ dataset }), body: bodyOfAmount(form) }
  return (
    <FormDialog
      title="Replace the cap"
      action="Replace"
      ready={isComplete(form)}
      onSubmit={() => requests.PUT('/v1/datasets/{dataset}/budget', options).catch(askedAnyway)}
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>The amount takes the place of the cap. This is possible as long as nothing was spent.</p>
      <AmountFields form={form} onChange={setForm} />
    </FormDialog>
  )
}

function RemovalDialog({ account, analyst, onClose }: AllotmentDialogProps) {
  return (
    <FormDialog
      title={`Remove the allotment of ${analyst}?`}
      action="Remove it"
      look="danger"
      onSubmit={() => actsOn(account).unallot(analyst)}
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>
        Only the cap of the {account.kind} then limits what {analyst} may spend.
      </p>
    </FormDialog>
  )
}

/** Shows the present budget behind a dialog that failed: the service may have acted before the connection was lost. */
function askedAnyway(error: unknown): never {
  void refreshAll()
  throw error
}

interface AllotmentDialogProps {
  readonly account: Account
  /** Empty for an analyst to be entered. */
  readonly analyst: string
  readonly onClose: () => void
}

function AllotmentDialog({ account, analyst: asked, onClose }: AllotmentDialogProps) {
  const { data } = api.useQuery('get', '/v1/keys')
  const [analyst, setAnalyst] = useState(asked)
  const [form, setForm] = useState(EMPTY)
  const names = new Set(data?.keys.flatMap(({ name, role }) => (role === 'analyst' ? [name] : [])))
  return (
    <FormDialog
      title={asked === '' ? 'Set an allotment' : `Allotment of ${asked}`}
      action="Set the allotment"
      ready={analyst.trim() !== '' && isComplete(form)}
      onSubmit={() => actsOn(account).allot(analyst.trim(), bodyOfAmount(form))}
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>An allotment limits what one analyst may spend in all, including what is spent already.</p>
      {asked === '' && (
        <TextField
          label="Analyst"
          hint="The name of a key, or oidc: and the name in tokens."
          list="analysts"
          value={analyst}
          spellCheck={false}
          onChange={setAnalyst}
        />
      )}
      <datalist id="analysts">
        {[...names].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <AmountFields form={form} onChange={setForm} />
    </FormDialog>
  )
}
