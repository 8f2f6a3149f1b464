import { useEffect, useId, useState } from 'react'
import { numberOf } from '../../format/number.ts'
import { positionOf, type Scale, shortValueAt, valueAfterKey } from '../charts/scale.ts'
import styles from './slider.module.css'

/** Positions of the handle. */
const POSITIONS = 1_000

export interface SliderProps {
  readonly label: string
  readonly hint?: string
  readonly value: number
  readonly scale: Scale
  readonly onChange: (value: number) => void
  /** Range of the text field, which may exceed the scale. Default: the scale. */
  readonly range?: { readonly lower: number; readonly upper: number }
  /** True if only whole numbers are accepted. */
  readonly whole?: boolean
  /** Formats the value for screen readers. */
  readonly format?: (value: number) => string
}

/** Slider with a text field for the exact number. */
export function Slider({
  label,
  hint,
  value,
  scale,
  onChange,
  range = scale,
  whole = false,
  format,
}: SliderProps) {
  const id = useId()
  const [text, setText] = useState(String(value))
  // The text follows the value, but a text that means the value stays as it was typed.
  useEffect(() => setText((shown) => (numberOf(shown) === value ? shown : String(value))), [value])
  const typed = numberOf(text)
  const accepts = (number: number) =>
    number >= range.lower && number <= range.upper && (!whole || Number.isInteger(number))
  const valid = typed !== undefined && accepts(typed)
  const rule = `must be ${whole ? 'a whole number' : 'a number'} from ${range.lower} to ${range.upper}`
  return (
    <div className={styles.slider}>
      <label htmlFor={`${id}-text`}>{label}</label>
      <input
        type="range"
        aria-label={label}
        aria-valuetext={format?.(value)}
        min={0}
        max={POSITIONS}
        value={Math.round(POSITIONS * Math.min(1, Math.max(0, positionOf(scale, value))))}
        onChange={(event) => {
          const next = shortValueAt(scale, Number(event.target.value) / POSITIONS)
          onChange(whole ? Math.round(next) : next)
        }}
        onKeyDown={(event) => {
          // A position of the handle is too small a step for the whole numbers of a logarithmic scale.
          const next = valueAfterKey(scale, value, event.key, whole ? 1 : undefined)
          if (next === undefined) return
          event.preventDefault()
          onChange(next)
        }}
      />
      <input
        id={`${id}-text`}
        className={styles.text}
        inputMode="decimal"
        autoComplete="off"
        value={text}
        aria-invalid={!valid}
        aria-describedby={valid ? (hint === undefined ? undefined : `${id}-hint`) : `${id}-error`}
        onChange={(event) => {
          setText(event.target.value)
          const number = numberOf(event.target.value)
          if (number !== undefined && accepts(number)) onChange(number)
        }}
        onBlur={() => setText(String(value))}
      />
      {!valid && (
        <div id={`${id}-error`} className={styles.error} role="alert">
          {rule}
        </div>
      )}
      {hint !== undefined && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
    </div>
  )
}
