import { Radios } from '../../components/choice.tsx'
import { Field, FieldRow } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { NumberField } from '../../components/number-field.tsx'
import { Section } from '../../components/section.tsx'
import { numberOf } from '../../format/number.ts'
import { ContributionPicture } from './contribution-picture.tsx'
import styles from './register.module.css'
import type { StepProps } from './register-page.tsx'

/** Step that states who a person is, what one person can contribute, and what is protected about them. */
export function PeopleStep({ form, onChange }: StepProps) {
  return (
    <>
      <Section
        title="What can one person contribute?"
        lead="Every answer hides one person with everything that they contribute. It cannot be changed later for the id."
      >
        <div className={styles.beside}>
          <Contribution form={form} onChange={onChange} />
          {form.unit !== 'open' && (
            <ContributionPicture
              maxRows={form.unit === 'row' ? 1 : (numberOf(form.maxRows) ?? 1)}
              ofRows={form.unit === 'row'}
            />
          )}
        </div>
      </Section>
      <Section title="What is protected about a person?" lead="It cannot be changed later for the id.">
        <Protection form={form} onChange={onChange} />
      </Section>
    </>
  )
}

/** Included columns that identify people. */
function identifiersOf({ columns = [] }: StepProps['form']) {
  return columns.filter(({ included, type }) => included && type === 'identifier')
}

function Contribution({ form, onChange }: StepProps) {
  const identifiers = identifiersOf(form)
  const lacksColumn = identifiers.length === 0 && form.columns !== undefined
  return (
    <div className={styles.form}>
      <Radios
        legend="Rows of one person"
        value={form.unit}
        choices={[
          { value: 'row', label: 'One row', hint: 'No person occurs in two rows.' },
          {
            value: 'person',
            label: 'Several rows',
            hint: 'A column identifies people. At most a number of rows of each person is kept.',
            disabled: lacksColumn,
          },
        ]}
        onChange={(unit) =>
          onChange({ unit, personColumn: form.personColumn || (identifiers[0]?.name ?? '') })
        }
      />
      {lacksColumn && (
        <Notice title="No column identifies people">
          If a person may have several rows, give a column of the source the type “Identifies a person”.
        </Notice>
      )}
      {form.unit === 'person' && (
        <FieldRow>
          <Field label="Column that identifies people">
            {(attributes) => (
              <select
                {...attributes}
                value={form.personColumn}
                onChange={(event) => onChange({ personColumn: event.target.value })}
              >
                {form.columns === undefined && <option>{form.personColumn}</option>}
                {identifiers.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </Field>
          <NumberField
            label="Most rows of a person"
            hint="A large number adds noise. A small one leaves out rows."
            value={form.maxRows}
            onChange={(text) => onChange({ maxRows: text })}
          />
        </FieldRow>
      )}
    </div>
  )
}

function Protection({ form, onChange }: StepProps) {
  return (
    <Radios
      legend="Protection"
      value={form.neighbours}
      choices={[
        {
          value: 'add-remove',
          label: 'That a person is in the data at all',
          hint: 'add-remove: the number of people stays private. Choose it unless the number is public anyway.',
        },
        {
          value: 'change-one',
          label: 'What the rows of a person say',
          hint: 'change-one: the number of people is published. Not for live tables.',
          disabled: form.source.kind === 'table' && form.source.mode !== 'snapshot',
        },
      ]}
      onChange={(neighbours) => onChange({ neighbours })}
    />
  )
}
