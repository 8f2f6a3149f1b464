import { useCallback, useState } from 'react'
import { Field, FieldRow } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/section.tsx'
import { ColumnEditor, TimeZones } from './column-editor.tsx'
import type { ColumnForm } from './column-form.ts'
import { CopyDeclaration } from './copy-declaration.tsx'
import styles from './register.module.css'
import type { StepProps } from './register-page.tsx'

/** Step in which the dataset is named, and each column is declared. */
export function ColumnsStep({ form, onChange }: StepProps) {
  const { columns, notes } = form
  const general = notes.filter(({ field }) => !field.startsWith('columns.') && field !== 'neighbours')
  return (
    <>
      <Section title="Dataset">
        <div className={styles.form}>
          <FieldRow>
            <Field label="Title">
              {(attributes) => (
                <input
                  {...attributes}
                  value={form.title}
                  maxLength={200}
                  onChange={(event) => onChange({ title: event.target.value })}
                />
              )}
            </Field>
            <Field label="Id" hint="The name in addresses. The budget belongs to it for good.">
              {(attributes) => (
                <input
                  {...attributes}
                  value={form.id}
                  maxLength={63}
                  spellCheck={false}
                  onChange={(event) => onChange({ id: event.target.value })}
                />
              )}
            </Field>
          </FieldRow>
          <Field label="Description" hint="What the rows mean, where they come from, and their known faults.">
            {(attributes) => (
              <textarea
                {...attributes}
                rows={2}
                maxLength={4000}
                value={form.description}
                onChange={(event) => onChange({ description: event.target.value })}
              />
            )}
          </Field>
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
    </>
  )
}

function Columns({ form, columns, onChange }: StepProps & { readonly columns: readonly ColumnForm[] }) {
  const [told, setTold] = useState(false)
  const changeColumn = useCallback(
    (position: number, changes: Partial<ColumnForm>) =>
      onChange((present) => ({
        ...(present.columns === undefined
          ? {}
          : {
              columns: present.columns.map((column) =>
                column.position === position ? { ...column, ...changes } : column,
              ),
            }),
      })),
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
