import { FieldRow, NumberField, Radios, SelectField } from '../../components/forms/fields.tsx'
import { fieldsOf } from '../../components/forms/fields-of.ts'
import { Section } from '../../components/layout/page.tsx'
import { Notice } from '../../components/notices/notices.tsx'
import { numberOf } from '../../format/number.ts'
import styles from './register.module.css'
import type { StepProps } from './step.ts'

/** Step that states who a person is, what one person can contribute, and what is protected about them. */
export function PeopleStep({ form, onChange }: StepProps) {
  return (
    <>
      <Section
        title="What can one person contribute?"
        lead="Every answer hides one person with everything that they contribute. This is fixed once the dataset is registered."
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
      <Section title="What is protected about a person?" lead="This is fixed once the dataset is registered.">
        <Protection form={form} onChange={onChange} />
      </Section>
    </>
  )
}

function identifiersOf({ columns = [] }: StepProps['form']) {
  return columns.filter(({ included, type }) => included && type === 'identifier')
}

function Contribution({ form, onChange }: StepProps) {
  const field = fieldsOf(form, onChange)
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
          <SelectField
            label="Column that identifies people"
            {...field('personColumn')}
            options={form.columns === undefined ? [form.personColumn] : identifiers.map(({ name }) => name)}
          />
          <NumberField
            label="Most rows of a person"
            hint="A large number adds noise. A small one leaves out rows."
            {...field('maxRows')}
          />
          <NumberField
            label="Largest plausible number of rows"
            hint="People with more count as one group where left-out rows are measured. Default: ten times as many."
            {...field('plausibleRows')}
          />
          <NumberField
            label="Epsilon to measure the rows left out"
            hint="Charged for each version, so that answers can state the share. Default: 1% of the budget; 0 measures nothing."
            {...field('leftOut')}
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

/** Rows of three people of the picture: person, and number of the row among those of the person. */
const PEOPLE = ['a', 'b', 'c'] as const
const ROWS_OF: Readonly<Record<(typeof PEOPLE)[number], number>> = { a: 2, b: 7, c: 1 }

const MOST_DRAWN = 10

interface ContributionPictureProps {
  /** Largest number of rows of one person that are kept. */
  readonly maxRows: number
  /** True if every row is another person. */
  readonly ofRows: boolean
}

/** Picture of what one person may contribute: kept rows, and rows that are left out. */
function ContributionPicture({ maxRows, ofRows }: ContributionPictureProps) {
  const kept = Math.max(1, maxRows)
  const text = ofRows
    ? 'Each row is another person. An answer hides any one row.'
    : `Each person keeps at most ${kept} ${kept === 1 ? 'row' : 'rows'}. An answer hides any one person with all of them.`
  return (
    <figure className={styles.picture}>
      <div>
        {PEOPLE.map((person) => {
          const rows = ofRows ? 1 : drawnRows(ROWS_OF[person], kept)
          return (
            <div key={person} className={styles.person} data-hidden={person === 'b'}>
              <svg aria-hidden="true" viewBox="0 0 24 24" width="24" height="24" className={styles.figure}>
                <circle cx="12" cy="7" r="4.5" />
                <path d="M3.5 22c0-5 3.5-8.5 8.5-8.5s8.5 3.5 8.5 8.5z" />
              </svg>
              <div className={styles.rows}>
                {Array.from({ length: rows }, (_, row) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the rows of the picture have no other identity
                  <span key={row} data-kept={row < kept} />
                ))}
                {person === 'b' && !ofRows && kept > rows && <small>… up to {kept}</small>}
              </div>
            </div>
          )
        })}
      </div>
      <figcaption>
        {text}
        {!ofRows && (
          <span className={styles.legend}>
            Outlined rows are left out; a digest of the person’s own rows chooses them.
          </span>
        )}
      </figcaption>
    </figure>
  )
}

/** Rows drawn for a person: the one with most rows has more than are kept. */
function drawnRows(rows: number, kept: number): number {
  return Math.min(MOST_DRAWN, rows === ROWS_OF.b ? Math.max(rows, kept + 2) : rows)
}
