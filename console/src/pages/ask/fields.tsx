import { type InputHTMLAttributes, type ReactNode, useEffect, useState } from 'react'
import { Button } from '../../components/forms/button.tsx'
import { Field, type FieldProps, SelectField, TextField } from '../../components/forms/fields.tsx'
import { numberOf } from '../../format/number.ts'
import type { Column } from '../datasets/dataset.ts'
import styles from './ask.module.css'

export interface NumberInputProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'type'> {
  readonly value: unknown
  /** True if the field may be empty. Otherwise an empty field keeps the number and shows it again when it is left. */
  readonly optional?: boolean
  readonly onChange: (value: number | undefined) => void
}

/** Input for a number. While it has the focus it shows what is typed, also while that is no number. */
export function NumberInput({ value, optional = false, onChange, ...attributes }: NumberInputProps) {
  const shown = typeof value === 'number' ? String(value) : ''
  const [text, setText] = useState(shown)
  // The text follows the number, but a text that means the number stays as it was typed.
  useEffect(() => setText((typed) => (numberOf(typed) === numberOf(shown) ? typed : shown)), [shown])
  return (
    <input
      step="any"
      {...attributes}
      type="number"
      value={text}
      onChange={({ target }) => {
        setText(target.value)
        const number = numberOf(target.value)
        if (number !== undefined) onChange(number)
        // A half-typed number such as "-" is an empty text, too.
        else if (optional && !target.validity.badInput) onChange(undefined)
      }}
      onBlur={() => setText(shown)}
    />
  )
}

/** Input for a number, with its label and hint. */
export function NumberInputField({
  label,
  hint,
  ...input
}: NumberInputProps & Pick<FieldProps, 'label' | 'hint'>) {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => <NumberInput {...attributes} {...input} />}
    </Field>
  )
}

export interface RemovableProps {
  /** Name of the button that removes the fields. */
  readonly label: string
  /** Absent if the fields cannot be removed. */
  readonly onRemove?: (() => void) | undefined
  readonly children: ReactNode
}

/** Fields beside each other, and a button that removes them. */
export function Removable({ label, onRemove, children }: RemovableProps) {
  return (
    <div className={styles.removable}>
      <div className={styles.test}>{children}</div>
      {onRemove !== undefined && <RemoveButton label={label} onRemove={onRemove} />}
    </div>
  )
}

/** Button that removes something, named by its label. */
export function RemoveButton({ label, onRemove }: { readonly label: string; readonly onRemove: () => void }) {
  return (
    <Button look="quiet" aria-label={label} title={label} onClick={onRemove}>
      <span aria-hidden="true">✕</span>
    </Button>
  )
}

export interface SelectColumnProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly value: unknown
  readonly onChange: (column: string) => void
}

/** Choice of one of some columns. */
export function SelectColumn({ columns, value, ...field }: SelectColumnProps) {
  const names = columns.map(({ name }) => name)
  const chosen = names.find((name) => name === value)
  return (
    <SelectField {...field} options={chosen === undefined ? ['', ...names] : names} value={chosen ?? ''} />
  )
}

export interface TextListProps {
  readonly label: string
  readonly hint?: string | undefined
  readonly items: readonly unknown[]
  readonly onChange: (items: readonly (string | number)[]) => void
}

/** Text field for numbers or dates that are separated by commas. */
export function TextList({ label, hint, items, onChange }: TextListProps) {
  const [text, setText] = useState(listText(items))
  const shown = listText(items)
  // The text follows the items, but a text that means the items stays as it was typed.
  useEffect(() => setText((typed) => (listText(readList(typed)) === shown ? typed : shown)), [shown])
  return (
    <TextField
      label={label}
      hint={hint}
      value={text}
      onChange={(next) => {
        setText(next)
        onChange(readList(next))
      }}
    />
  )
}

/** Reads items that are separated by commas: numbers, or else texts such as dates. */
function readList(text: string): readonly (string | number)[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => (Number.isFinite(Number(item)) ? Number(item) : item))
}

function listText(items: readonly unknown[]): string {
  return items.join(', ')
}

interface NameChoicesProps<Value> {
  readonly names: readonly (Value & string)[]
  readonly chosen: readonly Value[]
  /** Least number of names that are chosen. */
  readonly least?: number | undefined
  readonly onChange: (chosen: Value[]) => void
}

/** Checkboxes that choose some of several names. */
export function NameChoices<Value>({ names, chosen, least = 1, onChange }: NameChoicesProps<Value>) {
  const toggle = (name: Value, isChosen: boolean) => {
    const next = isChosen ? [...chosen, name] : chosen.filter((each) => each !== name)
    if (next.length >= least) onChange(next)
  }
  return names.map((name) => (
    <label key={name}>
      <input
        type="checkbox"
        checked={chosen.includes(name)}
        onChange={(event) => toggle(name, event.target.checked)}
      />
      <bdi>{titleOfName(name)}</bdi>
    </label>
  ))
}

/** Returns a name as it is shown in a choice. */
export function titleOfName(name: string): string {
  return name === '' ? '(empty text)' : name
}
