import { useMutation } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { api, at, bodyOf, requests } from '../../../api/api.ts'
import { Button } from '../../../components/forms/button.tsx'
import { FieldRow, SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { fieldsOf } from '../../../components/forms/fields-of.ts'
import { Section } from '../../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { type DerivedColumn, formLikeDataset } from '../declaration.ts'
import styles from '../register.module.css'
import type { StepProps } from '../step.ts'
import { ColumnEditor, TimeZones } from './column-editor.tsx'
import { type ColumnForm, withColumn } from './column-form.ts'

/** Step in which the dataset is named, and each column is declared. */
export function ColumnsStep({ form, onChange }: StepProps) {
  const field = fieldsOf(form, onChange)
  const { columns, notes } = form
  const general = notes.filter(({ field }) => !field.startsWith('columns.') && field !== 'neighbours')
  return (
    <>
      <Section title="Dataset">
        <div className={styles.form}>
          <FieldRow>
            <TextField label="Title" {...field('title')} maxLength={200} />
            <TextField
              label="Id"
              hint="The name in addresses. The budget belongs to it for good."
              {...field('id')}
              maxLength={63}
              spellCheck={false}
            />
          </FieldRow>
          <TextAreaField
            label="Description"
            hint="What the rows mean, where they come from, and their known faults."
            rows={2}
            maxLength={4000}
            {...field('description')}
          />
          <CopyDeclaration onChange={onChange} />
          {general.length > 0 && (
            <ul className={styles.notes}>
              {general.map(({ field, text }) => (
                <li key={`${field} ${text}`}>{text}</li>
              ))}
            </ul>
          )}
        </div>
      </Section>
      {columns === undefined ? (
        <Notice title="Made-up people have all of their columns">
          The service declares the columns of made-up people itself.
        </Notice>
      ) : (
        <Columns form={form} columns={columns} onChange={onChange} />
      )}
      <DerivedColumns columns={form.derived} onChange={(derived) => onChange({ derived })} />
    </>
  )
}

function Columns({ form, columns, onChange }: StepProps & { readonly columns: readonly ColumnForm[] }) {
  const [told, setTold] = useState(false)
  const changeColumn = useCallback(
    (position: number, changes: Partial<ColumnForm>) =>
      onChange(({ columns: present }) => ({ columns: withColumn(present, position, changes) })),
    [onChange],
  )
  return (
    <Section title="Columns">
      <Notice tone="cost" title="Why the data must not answer these questions">
        A bound, a step or a list of categories that is taken from the data reveals values of single people,
        and no noise protects it. Use the questionnaire, the law, the system that produced the data, or common
        knowledge.{' '}
        {!told && (
          <button type="button" className={styles.more} onClick={() => setTold(true)}>
            An example
          </button>
        )}
        {told && (
          <p>
            If the largest income in the data were declared as the upper bound, everybody would learn what the
            richest person in the data earns.
          </p>
        )}
      </Notice>
      <ul className={styles.columns}>
        {columns.map((column) => (
          <li key={column.position}>
            <ColumnEditor
              column={column}
              questions={form.questions}
              notes={form.notes}
              ofPeople={form.unit !== 'row'}
              onChange={changeColumn}
            />
          </li>
        ))}
      </ul>
      <TimeZones />
    </Section>
  )
}

interface DerivedColumnsProps {
  readonly columns: readonly DerivedColumn[]
  readonly onChange: (columns: readonly DerivedColumn[]) => void
}

/** Columns that every query computes from the declared ones. */
function DerivedColumns({ columns, onChange }: DerivedColumnsProps) {
  return (
    <Section
      title="Derived columns"
      lead="Expressions over the columns, such as cost / 100 or arr_delay - dep_delay. They are never stored. Their type, bounds and step follow from those of the columns."
    >
      <div className={styles.form}>
        {columns.map((column, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names change while they are typed
          <fieldset key={place} className={styles.join}>
            <legend>Derived column {place + 1}</legend>
            <FieldRow>
              <TextField
                label="Name"
                value={column.name}
                maxLength={63}
                spellCheck={false}
                onChange={(name) => onChange(columns.with(place, { ...column, name }))}
              />
              <TextField
                label="Expression"
                value={column.expression}
                spellCheck={false}
                onChange={(expression) => onChange(columns.with(place, { ...column, expression }))}
              />
            </FieldRow>
            <Button look="quiet" onClick={() => onChange(columns.toSpliced(place, 1))}>
              Remove derived column {place + 1}
            </Button>
          </fieldset>
        ))}
        <div>
          <Button onClick={() => onChange([...columns, { name: '', expression: '' }])}>
            Add a derived column
          </Button>
        </div>
      </div>
    </Section>
  )
}

/** Copies the declaration of a dataset that exists, such as to register it again with other limits. */
function CopyDeclaration({ onChange }: Pick<StepProps, 'onChange'>) {
  const { data } = api.useQuery('get', '/v1/datasets')
  const copying = useMutation({
    mutationFn: async (id: string) => {
      const dataset = data?.datasets.find((each) => each.id === id)
      if (dataset === undefined) return
      const { granted } = await bodyOf(requests.GET('/v1/datasets/{dataset}/budget', at({ dataset: id })))
      onChange((form) => formLikeDataset(form, { dataset, granted }))
    },
  })
  if (data === undefined || data.datasets.length === 0) return null
  return (
    <details>
      <summary>Copy the declaration of a dataset</summary>
      <div className={styles.columnBody}>
        <SelectField
          label="Dataset"
          hint="Its id, texts, columns of the same names, people, budget and limits replace those here. To change its declaration, continue, withdraw it, and publish again under its id: what is spent stays spent."
          value={copying.isError ? '' : (copying.variables ?? '')}
          options={[
            ['', 'Choose a dataset', true],
            ...data.datasets.map(({ id, title }) => [id, `${title} (${id})`] as const),
          ]}
          onChange={(id) => copying.mutate(id)}
        />
        {copying.error !== null && <ProblemNotice error={copying.error} />}
      </div>
    </details>
  )
}
