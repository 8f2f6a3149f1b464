import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { numberOf } from '../../format/number.ts'
import choiceStyles from './choice.module.css'
import styles from './field.module.css'

/** Attributes that tie a control to its label, hint and error. */
export interface ControlAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
}

export interface FieldProps {
  readonly label: ReactNode
  readonly hint?: ReactNode
  /** Rule that the value violates. */
  readonly error?: string | undefined
  /** Draws the control, to which it passes the attributes on. */
  readonly children: (attributes: ControlAttributes) => ReactNode
}

/** Label, control, hint and error of one value. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': described.length === 0 ? undefined : described.join(' '),
        'aria-invalid': error !== undefined,
      })}
      {hint !== undefined && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </div>
      )}
    </div>
  )
}

/** Fields beside each other where the screen is wide enough. */
export function FieldRow({ children }: { readonly children: ReactNode }) {
  return <div className={styles.row}>{children}</div>
}

type Described = Pick<FieldProps, 'label' | 'hint' | 'error'>

interface TextProps extends Described {
  readonly value?: string | number
  readonly onChange?: (value: string) => void
}

export type TextFieldProps = TextProps & Omit<InputHTMLAttributes<HTMLInputElement>, keyof TextProps>

/** Text field of one line, with the attributes of an input. */
export function TextField({ label, hint, error, onChange, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <input {...attributes} {...input} onChange={({ target }) => onChange?.(target.value)} />
      )}
    </Field>
  )
}

export type TextAreaFieldProps = TextProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, keyof TextProps>

/** Text field of several lines, with the attributes of a text area. */
export function TextAreaField({ label, hint, error, onChange, ...area }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <textarea {...attributes} {...area} onChange={({ target }) => onChange?.(target.value)} />
      )}
    </Field>
  )
}

export interface NumberFieldProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  /** Rule that the number breaks. An empty field shows none. */
  readonly rule?: string | undefined
  readonly onChange: (value: string) => void
}

/** Text field for a number, which is sent as it is typed. */
export function NumberField({ value, rule, ...field }: NumberFieldProps) {
  const broken = numberOf(value) === undefined ? 'must be a number' : rule
  return (
    <TextField
      {...field}
      inputMode="decimal"
      autoComplete="off"
      value={value}
      error={value.trim() === '' ? undefined : broken}
    />
  )
}

export interface NumberFieldsProps<Name extends string> {
  /** One field for each entry: its member of the form, its label, and its hint. */
  readonly fields: readonly (readonly [name: Name, label: string, hint?: string])[]
  readonly form: { readonly [each in Name]: string }
  /** Rules that numbers break. */
  readonly rules?: { readonly [each in Name]?: string }
  readonly onChange: (changes: { [each in Name]?: string }) => void
}

/** Text fields for the numbers of a form. */
export function NumberFields<Name extends string>({
  fields,
  form,
  rules = {},
  onChange,
}: NumberFieldsProps<Name>) {
  return fields.map(([name, label, hint]) => (
    <NumberField
      key={name}
      label={label}
      {...(hint !== undefined && { hint })}
      value={form[name]}
      rule={rules[name]}
      onChange={(value) => onChange({ [name]: value } as { [each in Name]?: string })}
    />
  ))
}

/** A value that is its own title, or a value, its title, and true if it cannot be chosen. */
export type Option<Value> = Value | readonly [value: Value, title: string, disabled?: boolean]

/** Returns values among which there is a chosen one: it stands before them if it is none of them. */
export function including<Value>(values: readonly Value[], chosen: Value): readonly Value[] {
  return values.includes(chosen) ? values : [chosen, ...values]
}

interface ChosenProps<Value> {
  readonly value: Value
  readonly options: readonly Option<Value>[]
  /** Returns the heading under which a value is listed; without it, there are none. */
  readonly groupOf?: ((value: Value) => string) | undefined
  readonly onChange: (value: Value) => void
}

export type SelectProps<Value> = ChosenProps<Value> &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, keyof ChosenProps<Value>>

/** Choice of one value of a list. */
export function Select<Value extends string | number>({
  value,
  options,
  groupOf,
  onChange,
  ...select
}: SelectProps<Value>) {
  const listed = options.map((option) => (typeof option === 'object' ? option : ([option] as const)))
  const optionOf = ([each, title = each, disabled]: readonly [Value, (Value | string)?, boolean?]) => (
    <option key={each} value={each} disabled={disabled}>
      {title}
    </option>
  )
  return (
    <select
      {...select}
      value={value}
      onChange={({ target }) => {
        const chosen = listed.find(([each]) => String(each) === target.value)
        if (chosen !== undefined) onChange(chosen[0])
      }}
    >
      {groupOf === undefined
        ? listed.map(optionOf)
        : [...Map.groupBy(listed, ([each]) => groupOf(each))].map(([heading, members]) => (
            <optgroup key={heading} label={heading}>
              {members.map(optionOf)}
            </optgroup>
          ))}
    </select>
  )
}

export type SelectFieldProps<Value> = SelectProps<Value> & Pick<FieldProps, 'label' | 'hint'>

/** Choice of one value of a list, with its label and hint. */
export function SelectField<Value extends string | number>({
  label,
  hint,
  ...select
}: SelectFieldProps<Value>) {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => <Select {...attributes} {...select} />}
    </Field>
  )
}

const USUAL_DELTAS = [0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]

interface DeltaFieldProps {
  readonly hint: string
  readonly value: number
  readonly onChange: (delta: number) => void
}

/** Choice of a delta. A value that is not one of the usual ones stays a choice. */
export function DeltaField(props: DeltaFieldProps) {
  return <SelectField label="Delta" options={[...new Set([...USUAL_DELTAS, props.value])]} {...props} />
}

export interface CheckboxProps extends Pick<FieldProps, 'label' | 'hint'> {
  readonly value: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}

/** Checkbox with its label and a hint. */
export function Checkbox({ value, onChange, ...choice }: CheckboxProps) {
  return (
    <Choice {...choice} type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
  )
}

export interface RadiosProps<Value extends string> {
  readonly legend: ReactNode
  readonly value: Value
  readonly choices: readonly (Pick<FieldProps, 'label' | 'hint'> & {
    readonly value: Value
    readonly disabled?: boolean
  })[]
  readonly onChange: (value: Value) => void
}

/** Choice of one of a few values, each with a hint. */
export function Radios<Value extends string>({ legend, value, choices, onChange }: RadiosProps<Value>) {
  const name = useId()
  return (
    <fieldset className={choiceStyles.radios}>
      <legend>{legend}</legend>
      {choices.map(({ value: each, ...choice }) => (
        <Choice
          key={each}
          {...choice}
          type="radio"
          name={name}
          checked={each === value}
          onChange={() => onChange(each)}
        />
      ))}
    </fieldset>
  )
}

/** Checkbox or radio button with its label and a hint. */
function Choice({
  label,
  hint,
  ...input
}: Pick<FieldProps, 'label' | 'hint'> & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div className={choiceStyles.choice}>
      <input {...input} id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} />
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <div id={`${id}-hint`} className={choiceStyles.hint}>
          {hint}
        </div>
      )}
    </div>
  )
}
