import { useState } from 'react'
import { Link } from 'wouter'
import { api, at, refreshAll, requests, useMe } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Gauge } from '../../components/charts/gauge.tsx'
import { Button } from '../../components/forms/button.tsx'
import { FieldRow, NumberFields, Radios, SelectField, TextField } from '../../components/forms/fields.tsx'
import { FormDialog } from '../../components/layout/dialog.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Table } from '../../components/tables/tables.tsx'
import { formatAmount, formatSpent } from '../../format/amount.ts'
import { numberOf } from '../../format/number.ts'
import { AccountSection } from './account-section.tsx'
import styles from './manage.module.css'

/** Page on which custodians see the populations, and what is spent of the budgets that their datasets share. */
export default function PopulationsPage() {
  const { data, error, refetch } = api.useQuery('get', '/v1/populations')
  const [creating, setCreating] = useState(false)
  // A key that is limited to datasets changes nothing that others share.
  const mayChange = useMe()?.datasets === undefined
  return (
    <Page
      title="Populations"
      lead="Datasets about the same people share one budget: whatever is spent on one of them is spent on its population too."
      actions={
        mayChange && (
          <Button look="primary" onClick={() => setCreating(true)}>
            Create a population
          </Button>
        )
      }
    >
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {data === undefined && error === null && <Loading what="the populations" />}
      {data?.populations.length === 0 && (
        <Notice title="There is no population">
          Datasets about different people do not need one: each has a budget of its own.
        </Notice>
      )}
      {data?.populations.map(({ id }) => (
        <PopulationSection key={id} id={id} mayChange={mayChange} />
      ))}
      {creating && <NewPopulationDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

interface PopulationSectionProps {
  readonly id: string
  readonly mayChange: boolean
}

function PopulationSection({ id, mayChange }: PopulationSectionProps) {
  const path = at({ population: id })
  const { data, error, refetch } = api.useQuery('get', '/v1/populations/{population}', path)
  const analysts = api.useQuery('get', '/v1/populations/{population}/analysts', path, { enabled: mayChange })
  const [joining, setJoining] = useState(false)
  const budget = (
    <>
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {data !== undefined && <PopulationBudget population={data} />}
    </>
  )
  if (!mayChange) return <Section title={id}>{budget}</Section>
  return (
    <AccountSection title={id} account={{ kind: 'population', id }} read={analysts}>
      {budget}
      <div className={styles.buttons}>
        <Button onClick={() => setJoining(true)}>Add a dataset</Button>
      </div>
      {joining && <JoinDialog population={id} onClose={() => setJoining(false)} />}
    </AccountSection>
  )
}

function PopulationBudget({
  population: { id, cap, spent, privacyUnit, datasets },
}: {
  readonly population: Schemas['Population']
}) {
  return (
    <>
      <Gauge label={`Budget of ${id}`} cap={cap} spent={spent} />
      <p>
        {formatSpent(spent, cap)}. Each {privacyUnit === 'person' ? 'value of the identifier' : 'row'} is a
        person.
      </p>
      <Table
        label={`Datasets of ${id}`}
        rows={datasets}
        keyOf={({ dataset }) => dataset}
        empty="No dataset belongs to it yet."
        columns={[
          ['Dataset', ({ dataset }) => <Link href={`/datasets/${dataset}`}>{dataset}</Link>],
          ['Spent', ({ spent: ofDataset }) => formatAmount(ofDataset), 'right'],
        ]}
      />
    </>
  )
}

interface JoinDialogProps {
  readonly population: string
  readonly onClose: () => void
}

function JoinDialog({ population, onClose }: JoinDialogProps) {
  const { data } = api.useQuery('get', '/v1/datasets')
  const [dataset, setDataset] = useState('')
  const ids = data?.datasets.map(({ id }) => id) ?? []
  return (
    <FormDialog
      title={`Add a dataset to ${population}`}
      action="Add it for ever"
      ready={dataset !== ''}
      onSubmit={() =>
        requests.PUT('/v1/populations/{population}/datasets/{dataset}', at({ population, dataset }))
      }
      onDone={refreshAll}
      onClose={onClose}
    >
      <p>
        All that the dataset and its analysts ever spent counts on the population from now on. A dataset never
        leaves its population.
      </p>
      <SelectField
        label="Dataset"
        value={dataset}
        options={[['', 'Choose one'], ...ids.map((id) => [id, id] as const)]}
        onChange={setDataset}
      />
    </FormDialog>
  )
}

const EMPTY = { id: '', epsilon: '', delta: '' }

function NewPopulationDialog({ onClose }: { readonly onClose: () => void }) {
  const [form, setForm] = useState(EMPTY)
  const [privacyUnit, setUnit] = useState<Schemas['Population']['privacyUnit']>('person')
  const [accounting, setAccounting] = useState<Schemas['Population']['accounting']>('basic')
  const budget = { epsilon: numberOf(form.epsilon) ?? 0, delta: numberOf(form.delta) ?? 0 }
  return (
    <FormDialog
      title="Create a population"
      action="Create it"
      ready={form.id.trim() !== '' && budget.epsilon > 0}
      onSubmit={() =>
        requests.POST('/v1/populations', { body: { id: form.id.trim(), privacyUnit, accounting, budget } })
      }
      onDone={refreshAll}
      onClose={onClose}
    >
      <TextField
        label="Id"
        hint="Lower-case letters, digits and hyphens, such as residents."
        value={form.id}
        spellCheck={false}
        onChange={(id) => setForm({ ...form, id })}
      />
      <Radios
        legend="Its people are"
        value={privacyUnit}
        choices={[
          { value: 'person', label: 'The same value of the identifier in every dataset' },
          { value: 'row', label: 'At most one row in each dataset' },
        ]}
        onChange={setUnit}
      />
      <SelectField
        label="Accounting"
        value={accounting}
        options={[
          ['basic', 'basic'],
          ['zcdp', 'zcdp'],
        ]}
        onChange={setAccounting}
      />
      <FieldRow>
        <NumberFields
          form={form}
          fields={[
            ['epsilon', 'Epsilon'],
            ['delta', 'Delta', 'Fixed, and that of each of its datasets. Empty for none.'],
          ]}
          onChange={(changes) => setForm({ ...form, ...changes })}
        />
      </FieldRow>
    </FormDialog>
  )
}
