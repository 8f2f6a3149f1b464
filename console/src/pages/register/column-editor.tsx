import { type HTMLInputTypeAttribute, memo } from 'react'
import { Checkbox } from '../../components/choice.tsx'
import { Field, FieldRow } from '../../components/field.tsx'
import { NumberField } from '../../components/number-field.tsx'
import { Pill } from '../../components/pill.tsx'
import {
  COLUMN_TYPES,
  type ColumnForm,
  type ColumnType,
  categoriesOf,
  DATE_FORMATS,
  DEFAULT_SELECTABLE,
  type InvalidRule,
  openFieldsOf,
} from './column-form.ts'
import { type Remark, remarksOn } from './declaration.ts'
import styles from './register.module.css'

const TYPE_TITLES: Readonly<Record<ColumnType, string>> = {
  integer: 'Whole number',
  number: 'Number',
  date: 'Date',
  timestamp: 'Date and time',
  boolean: 'True or false',
  category: 'Category',
  string: 'Free text',
  identifier: 'Identifies a person',
}

export interface ColumnEditorProps {
  readonly column: ColumnForm
  /** Remarks of the draft on all columns. */
  readonly questions: readonly Remark[]
  readonly notes: readonly Remark[]
  /** True if a person may have several rows. */
  readonly ofPeople: boolean
  readonly onChange: (position: number, changes: Partial<ColumnForm>) => void
}

/** Declaration of one column: its type, the questions that the type asks, and its rules. */
export const ColumnEditor = memo(function ColumnEditor(props: ColumnEditorProps) {
  const { column, ofPeople } = props
  const { name, included, type } = column
  const questions = remarksOn(props.questions, column)
  const notes = remarksOn(props.notes, column)
  const onChange = (changes: Partial<ColumnForm>) => props.onChange(column.position, changes)
  const open = included ? openFieldsOf(column) : []
  return (
    <fieldset className={styles.column} data-included={included}>
      <legend>
        <code>{name}</code>
      </legend>
      <div className={styles.columnHead}>
        <Checkbox
          label="Declare"
          checked={included}
          onChange={(checked) => onChange({ included: checked })}
        />
        <select
          aria-label={`Type of ${name}`}
          value={type}
          disabled={!included}
          onChange={(event) => onChange({ type: event.target.value as ColumnType })}
        >
          {COLUMN_TYPES.map((each) => (
            <option key={each} value={each}>
              {TYPE_TITLES[each]}
            </option>
          ))}
        </select>
        {open.length > 0 && <Pill tone="cost">{open.length} open</Pill>}
        {!included && <Pill>not stored</Pill>}
      </div>
      {included && (
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
          <NumberField
            label={`Smallest plausible value of ${column.name}`}
            hint="Smaller values are clamped to it."
            value={column.lower}
            onChange={(lower) => onChange({ lower })}
          />
          <NumberField
            label={`Largest plausible value of ${column.name}`}
            hint="Larger values are clamped to it. A wide range adds noise."
            value={column.upper}
            onChange={(upper) => onChange({ upper })}
          />
          <NumberField
            label="Step"
            hint={asked('step') ?? 'Values are rounded to the nearest multiple.'}
            value={column.step}
            onChange={(step) => onChange({ step })}
          />
        </FieldRow>
      )
    case 'date':
    case 'timestamp':
      return <TimeFields column={column} onChange={onChange} />
    case 'category':
      return (
        <Field
          label={asked('categories') ?? `All values that ${column.name} can have`}
          hint={`One per line, to the letter, whether they occur or not. ${categoriesOf(column).length} entered.`}
        >
          {(attributes) => (
            <textarea
              {...attributes}
              rows={Math.min(8, Math.max(3, categoriesOf(column).length + 1))}
              value={column.categories}
              onChange={(event) => onChange({ categories: event.target.value })}
            />
          )}
        </Field>
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
  const isTimestamp = column.type === 'timestamp'
  const type: HTMLInputTypeAttribute = isTimestamp ? 'text' : 'date'
  const bound = (member: 'lower' | 'upper', label: string, hint: string) => (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <input
          {...attributes}
          type={type}
          placeholder={isTimestamp ? '2024-01-01T00:00:00Z' : undefined}
          value={column[member]}
          onChange={(event) => onChange({ [member]: event.target.value })}
        />
      )}
    </Field>
  )
  return (
    <FieldRow>
      {bound('lower', `First plausible date of ${column.name}`, 'Earlier ones are clamped to it.')}
      {bound('upper', `Last plausible date of ${column.name}`, 'Such as the end of the data collection.')}
      <Field label="Spelling in the source">
        {(attributes) => (
          <select
            {...attributes}
            value={column.dateFormat}
            onChange={(event) =>
              onChange({ dateFormat: event.target.value as (typeof DATE_FORMATS)[number] })
            }
          >
            {DATE_FORMATS.map((format) => (
              <option key={format}>{format}</option>
            ))}
          </select>
        )}
      </Field>
      <NumberField
        label={isTimestamp ? 'Step in seconds' : 'Step in days'}
        hint={isTimestamp ? 'Such as 60. Times are rounded to it.' : 'Usually 1.'}
        value={column.step}
        onChange={(step) => onChange({ step })}
      />
      {isTimestamp && (
        <Field label="Time zone" hint="Of times without an offset.">
          {(attributes) => (
            <input
              {...attributes}
              list={TIME_ZONES}
              placeholder="Europe/Berlin"
              value={column.timeZone}
              onChange={(event) => onChange({ timeZone: event.target.value })}
            />
          )}
        </Field>
      )}
    </FieldRow>
  )
}

function TextFields({ column, onChange }: PartProps) {
  return (
    <>
      <Checkbox
        label="Analysts may release its frequent values"
        hint="Never for names, addresses or ids."
        checked={column.selectable}
        onChange={(selectable) => onChange({ selectable })}
      />
      {column.selectable && (
        <FieldRow>
          <NumberField
            label="Most distinct values"
            hint={`Default: ${DEFAULT_SELECTABLE.maxValues}. A file with more is refused.`}
            value={column.maxValues}
            onChange={(maxValues) => onChange({ maxValues })}
          />
          <NumberField
            label="Most characters of a value"
            hint={`Default: ${DEFAULT_SELECTABLE.maxLength}.`}
            value={column.maxLength}
            onChange={(maxLength) => onChange({ maxLength })}
          />
        </FieldRow>
      )}
    </>
  )
}

/** Rules for missing and invalid values, and texts for analysts. */
function Rules({ column, ofPeople, onChange }: PartProps & { readonly ofPeople: boolean }) {
  return (
    <details>
      <summary>Missing and invalid values, description</summary>
      <div className={styles.columnBody}>
        <FieldRow>
          <InvalidRuleFields column={column} onChange={onChange} />
          <DescriptionFields column={column} onChange={onChange} />
        </FieldRow>
        <Checkbox
          label="Values may be missing (NULL)"
          checked={column.nullable}
          onChange={(checked) => onChange({ nullable: checked })}
        />
        {ofPeople && column.type !== 'identifier' && (
          <Checkbox
            label="All rows of a person have the same value"
            hint="Such as a birth year. Enforced when the source is read. Only if a person may have several rows."
            checked={column.constantPerPerson}
            onChange={(constantPerPerson) => onChange({ constantPerPerson })}
          />
        )}
      </div>
    </details>
  )
}

/** What becomes of a value that does not fit the declaration. */
function InvalidRuleFields({ column, onChange }: PartProps) {
  const { nullable, onInvalidValue } = column
  const isIdentifier = column.type === 'identifier'
  return (
    <>
      <Field label="Value that does not fit">
        {(attributes) => (
          <select
            {...attributes}
            value={onInvalidValue}
            onChange={(event) => onChange({ onInvalidValue: event.target.value as InvalidRule })}
          >
            <option value="default">
              {isIdentifier || !nullable ? 'Refuse the source (default)' : 'Store NULL (default)'}
            </option>
            {isIdentifier ? (
              <option value="dropRow">Leave the row out</option>
            ) : (
              <>
                <option value="null" disabled={!nullable}>
                  Store NULL
                </option>
                <option value="refuse">Refuse the source</option>
                <option value="replaceWith">Store a fixed value</option>
              </>
            )}
          </select>
        )}
      </Field>
      {onInvalidValue === 'replaceWith' && !isIdentifier && (
        <Field label="Fixed value">
          {(attributes) => (
            <input
              {...attributes}
              value={column.replaceWith}
              onChange={(event) => onChange({ replaceWith: event.target.value })}
            />
          )}
        </Field>
      )}
    </>
  )
}

/** Texts for analysts, and the limit of values that can be ranked. */
function DescriptionFields({ column, onChange }: PartProps) {
  const { type } = column
  const isNumeric = type === 'integer' || type === 'number'
  return (
    <>
      <Field label="Description" hint="Analysts see it.">
        {(attributes) => (
          <input
            {...attributes}
            maxLength={1000}
            value={column.description}
            onChange={(event) => onChange({ description: event.target.value })}
          />
        )}
      </Field>
      {isNumeric && (
        <Field label="Unit" hint="Such as EUR.">
          {(attributes) => (
            <input
              {...attributes}
              maxLength={50}
              value={column.unit}
              onChange={(event) => onChange({ unit: event.target.value })}
            />
          )}
        </Field>
      )}
      {(isNumeric || type === 'date' || type === 'timestamp') && (
        <NumberField
          label="Most distinct values"
          hint="Only for quantiles of more than 1,048,576 steps."
          value={column.rankable}
          onChange={(rankable) => onChange({ rankable })}
        />
      )}
    </>
  )
}
