import { type HTMLInputTypeAttribute, memo, useState } from 'react'
import { Button } from '../../../components/forms/button.tsx'
import {
  Checkbox,
  FieldRow,
  NumberField,
  NumberFields,
  type Option,
  Select,
  SelectField,
  TextAreaField,
  TextField,
} from '../../../components/forms/fields.tsx'
import { fieldsOf } from '../../../components/forms/fields-of.ts'
import { Pill } from '../../../components/tables/tables.tsx'
import { type Remark, remarksOn } from '../declaration.ts'
import styles from '../register.module.css'
import {
  COLUMN_TYPES,
  type ColumnForm,
  categoriesOf,
  DATE_FORMATS,
  DEFAULT_SELECTABLE,
  type InvalidRule,
  openFieldsOf,
  summaryOf,
} from './column-form.ts'

export interface ColumnEditorProps {
  readonly column: ColumnForm
  /** Remarks of the draft on all columns. */
  readonly questions: readonly Remark[]
  readonly notes: readonly Remark[]
  /** True if a person may have several rows. */
  readonly ofPeople: boolean
  readonly onChange: (position: number, changes: Partial<ColumnForm>) => void
}

/** Declaration of one column: a row with its type, which opens for the questions that the type asks, and its rules. */
export const ColumnEditor = memo(function ColumnEditor(props: ColumnEditorProps) {
  const { column, ofPeople } = props
  const { name, included, type } = column
  const questions = remarksOn(props.questions, column)
  const notes = remarksOn(props.notes, column)
  const onChange = (changes: Partial<ColumnForm>) => props.onChange(column.position, changes)
  const open = included ? openFieldsOf(column) : []
  const [isOpened, setOpened] = useState(false)
  return (
    <fieldset className={styles.column} data-included={included} aria-label={name}>
      <div className={styles.columnHead}>
        <code>{name}</code>
        <Select
          aria-label={`Type of ${name}`}
          value={type}
          disabled={!included}
          options={COLUMN_TYPES}
          onChange={(next) => onChange({ type: next })}
        />
        <div className={styles.summary}>
          <span className={styles.hint}>{included ? summaryOf(column) : 'not stored'}</span>
          {open.length > 0 && <Pill tone="cost">{open.length} open</Pill>}
        </div>
        <Checkbox label="Declare" value={included} onChange={(checked) => onChange({ included: checked })} />
        <Button
          look="quiet"
          aria-label={`${isOpened ? 'Close' : 'Edit'} ${name}`}
          aria-expanded={isOpened}
          disabled={!included}
          onClick={() => setOpened(!isOpened)}
        >
          {isOpened ? 'Close' : 'Edit'}
        </Button>
      </div>
      {included && isOpened && (
        <div className={styles.columnBody}>
          {notes.map(({ text }) => (
            <p key={text} className={styles.hint}>
              {text}
            </p>
          ))}
          <TypeFields column={column} questions={questions} onChange={onChange} />
          <Rules column={column} ofPeople={ofPeople} onChange={onChange} />
        </div>
      )}
    </fieldset>
  )
})

/** Names of time zones, which the editors of columns offer. It belongs once on a page. */
export function TimeZones() {
  return (
    <datalist id={TIME_ZONES}>
      {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
        <option key={zone} value={zone} />
      ))}
    </datalist>
  )
}

const TIME_ZONES = 'time-zones'

interface PartProps {
  readonly column: ColumnForm
  readonly onChange: (changes: Partial<ColumnForm>) => void
}

/** Fields that belong to the type of a column, each with the question of the draft. */
function TypeFields({ column, questions, onChange }: PartProps & { readonly questions: readonly Remark[] }) {
  const asked = (member: string) => questions.find(({ field }) => field.endsWith(`.${member}`))?.text
  switch (column.type) {
    case 'integer':
    case 'number':
      return (
        <FieldRow>
          <NumberFields
            form={column}
            fields={[
              ['lower', `Smallest plausible value of ${column.name}`, 'Smaller values are clamped to it.'],
              [
                'upper',
                `Largest plausible value of ${column.name}`,
                'Larger values are clamped to it. A wide range adds noise.',
              ],
              ['step', 'Step', asked('step') ?? 'Values are rounded to the nearest multiple.'],
            ]}
            onChange={onChange}
          />
        </FieldRow>
      )
    case 'date':
    case 'timestamp':
      return <TimeFields column={column} onChange={onChange} />
    case 'category':
      return (
        <TextAreaField
          label={asked('categories') ?? `All values that ${column.name} can have`}
          hint={`One per line, to the letter, whether they occur or not. ${categoriesOf(column).length} entered.`}
          rows={Math.min(8, Math.max(3, categoriesOf(column).length + 1))}
          value={column.categories}
          onChange={(categories) => onChange({ categories })}
        />
      )
    case 'string':
      return <TextFields column={column} onChange={onChange} />
    case 'identifier':
      return <p className={styles.hint}>No query can use it.</p>
    case 'boolean':
      return null
  }
}

function TimeFields({ column, onChange }: PartProps) {
  const field = fieldsOf(column, onChange)
  const isTimestamp = column.type === 'timestamp'
  const type: HTMLInputTypeAttribute = isTimestamp ? 'text' : 'date'
  const bound = (member: 'lower' | 'upper', label: string, hint: string) => (
    <TextField
      label={label}
      hint={hint}
      type={type}
      placeholder={isTimestamp ? '2024-01-01T00:00:00Z' : undefined}
      value={column[member]}
      onChange={(text) => onChange({ [member]: text })}
    />
  )
  return (
    <FieldRow>
      {bound('lower', `First plausible date of ${column.name}`, 'Earlier ones are clamped to it.')}
      {bound('upper', `Last plausible date of ${column.name}`, 'Such as the end of the data collection.')}
      <SelectField label="Spelling in the source" {...field('dateFormat')} options={DATE_FORMATS} />
      <NumberField
        label={isTimestamp ? 'Step in seconds' : 'Step in days'}
        hint={isTimestamp ? 'Such as 60. Times are rounded to it.' : 'Usually 1.'}
        {...field('step')}
      />
      {isTimestamp && (
        <TextField
          label="Time zone"
          hint="Of times without an offset."
          list={TIME_ZONES}
          placeholder="Europe/Berlin"
          {...field('timeZone')}
        />
      )}
    </FieldRow>
  )
}

const SELECTABLE_FIELDS = [
  [
    'maxValues',
    'Most distinct values',
    `Default: ${DEFAULT_SELECTABLE.maxValues}. A file with more is refused.`,
  ],
  ['maxLength', 'Most characters of a value', `Default: ${DEFAULT_SELECTABLE.maxLength}.`],
] as const

function TextFields({ column, onChange }: PartProps) {
  return (
    <>
      <Checkbox
        label="Analysts may release its frequent values"
        hint="Never for names, addresses or ids."
        value={column.selectable}
        onChange={(selectable) => onChange({ selectable })}
      />
      {column.selectable && (
        <FieldRow>
          <NumberFields form={column} fields={SELECTABLE_FIELDS} onChange={onChange} />
        </FieldRow>
      )}
    </>
  )
}

/** Rules for missing and invalid values, and texts for analysts. */
function Rules({ column, ofPeople, onChange }: PartProps & { readonly ofPeople: boolean }) {
  const field = fieldsOf(column, onChange)
  return (
    <details>
      <summary>Missing and invalid values, description</summary>
      <div className={styles.columnBody}>
        <FieldRow>
          <InvalidRuleFields column={column} onChange={onChange} />
          <DescriptionFields column={column} onChange={onChange} />
        </FieldRow>
        <Checkbox label="Values may be missing" {...field('nullable')} />
        {ofPeople && column.type !== 'identifier' && (
          <Checkbox
            label="All rows of a person have the same value"
            hint="Such as a birth year. Enforced when the source is read. Only if a person may have several rows."
            {...field('constantPerPerson')}
          />
        )}
      </div>
    </details>
  )
}

const IDENTIFIER_RULES: readonly Option<InvalidRule>[] = [['dropRow', 'Leave the row out']]

function valueRules(nullable: boolean): readonly Option<InvalidRule>[] {
  return [
    ['null', 'Store as missing', !nullable],
    ['refuse', 'Refuse the source'],
    ['replaceWith', 'Store a fixed value'],
  ]
}

function InvalidRuleFields({ column, onChange }: PartProps) {
  const { nullable, onInvalidValue } = column
  const isIdentifier = column.type === 'identifier'
  return (
    <>
      <SelectField<InvalidRule>
        label="Value that does not fit"
        value={onInvalidValue}
        options={[
          [
            'default',
            isIdentifier || !nullable ? 'Refuse the source (default)' : 'Store as missing (default)',
          ],
          ...(isIdentifier ? IDENTIFIER_RULES : valueRules(nullable)),
        ]}
        onChange={(rule) => onChange({ onInvalidValue: rule })}
      />
      {onInvalidValue === 'replaceWith' && !isIdentifier && (
        <TextField
          label="Fixed value"
          value={column.replaceWith}
          onChange={(replaceWith) => onChange({ replaceWith })}
        />
      )}
    </>
  )
}

/** Texts for analysts, and the limit of values that can be ranked. */
function DescriptionFields({ column, onChange }: PartProps) {
  const field = fieldsOf(column, onChange)
  const { type } = column
  const isNumeric = type === 'integer' || type === 'number'
  return (
    <>
      <TextField label="Description" hint="Analysts see it." maxLength={1000} {...field('description')} />
      {isNumeric && <TextField label="Unit" hint="Such as EUR." maxLength={50} {...field('unit')} />}
      {(isNumeric || type === 'date' || type === 'timestamp') && (
        <NumberField
          label="Most distinct values"
          hint="Only for quantiles of more than 1,048,576 steps."
          {...field('rankable')}
        />
      )}
    </>
  )
}
