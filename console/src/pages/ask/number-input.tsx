import { type InputHTMLAttributes, useEffect, useState } from 'react'
import { numberOf } from '../../format/number.ts'

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
