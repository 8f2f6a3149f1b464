import { useEffect, useState } from 'react'
import { Field } from '../../components/field.tsx'
import { listText, readList } from './list-text.ts'

export interface TextListProps {
  readonly label: string
  readonly hint?: string
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
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(attributes) => (
        <input
          {...attributes}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            onChange(readList(event.target.value))
          }}
        />
      )}
    </Field>
  )
}
