import type { ReactNode } from 'react'
import { Field } from '../../components/field.tsx'
import styles from './ask.module.css'
import { NumberInput } from './number-input.tsx'
import {
  MECHANISMS,
  type Option,
  optionsOf,
  SELECTION_NOISE,
  statedOptions,
  withMechanism,
  withNested,
} from './options.ts'
import { isQuestion, withField } from './question.ts'
import type { QuestionPart } from './question-form.tsx'

type OptionPart = Omit<QuestionPart, 'dataset'>

const OPTION_FIELDS: Readonly<Record<Option, (part: OptionPart) => ReactNode>> = {
  mechanism: MechanismField,
  noise: NoiseField,
  ridge: RidgeField,
  supposedRows: SupposedRowsField,
  supposedMoments: SupposedMomentsFields,
}

/** Options with defaults that suit most questions, such as the mechanism. */
export function OptionsField({ question, onChange }: OptionPart) {
  const options = optionsOf(question.kind)
  if (options.length === 0) return undefined
  const stated = statedOptions(question)
  return (
    <details>
      <summary>Further options{stated === 0 ? '' : ` (${stated} set)`}</summary>
      <div className={styles.options}>
        {options.map((option) => {
          const OptionField = OPTION_FIELDS[option]
          return <OptionField key={option} question={question} onChange={onChange} />
        })}
      </div>
    </details>
  )
}

function MechanismField({ question, onChange }: OptionPart) {
  return (
    <>
      <Field label="Mechanism" hint="By default, the one with the smallest expected error.">
        {(attributes) => (
          <select
            {...attributes}
            value={typeof question.mechanism === 'string' ? question.mechanism : ''}
            onChange={({ target }) =>
              onChange(withMechanism(question, target.value === '' ? undefined : target.value))
            }
          >
            <option value="">default</option>
            {MECHANISMS.map((mechanism) => (
              <option key={mechanism}>{mechanism}</option>
            ))}
          </select>
        )}
      </Field>
      {question.mechanism === 'gaussian' && (
        <Optional
          label="Delta"
          hint="The mechanism gaussian needs one. It is part of the price."
          value={question.delta}
          onChange={(delta) => delta !== undefined && onChange(withField(question, 'delta', delta))}
        />
      )}
    </>
  )
}

function NoiseField({ question, onChange }: OptionPart) {
  return (
    <Field label="Noise" hint="By default, the one with the smallest error.">
      {(attributes) => (
        <select
          {...attributes}
          value={typeof question.noise === 'string' ? question.noise : ''}
          onChange={({ target }) => {
            const noise = target.value === '' ? undefined : target.value
            // A distance to the next candidate needs the noise laplace.
            const gap = noise === undefined || noise === 'laplace' ? question.gap : undefined
            onChange(withField(withField(question, 'noise', noise), 'gap', gap))
          }}
        >
          <option value="">default</option>
          {SELECTION_NOISE.map((noise) => (
            <option key={noise}>{noise}</option>
          ))}
        </select>
      )}
    </Field>
  )
}

function RidgeField({ question, onChange }: OptionPart) {
  return (
    <Optional
      label="Ridge"
      hint="Keeps coefficients from growing without limit. By default it is as large as the expected noise."
      value={question.ridge}
      onChange={(ridge) => onChange(withField(question, 'ridge', ridge))}
    />
  )
}

function SupposedRowsField({ question, onChange }: OptionPart) {
  return (
    <Optional
      label="Supposed number of rows"
      hint="Changes the accuracy that is stated before the release only. It is never compared with the data."
      value={isQuestion(question.supposed) ? question.supposed.rows : undefined}
      onChange={(rows) => onChange(withNested(question, 'supposed', 'rows', rows))}
    />
  )
}

function SupposedMomentsFields({ question, onChange }: OptionPart) {
  const supposed = isQuestion(question.supposed) ? question.supposed : {}
  return (
    <>
      <Optional
        label="Supposed mean"
        hint="Of one column of numbers, within its bounds."
        value={supposed.mean}
        onChange={(mean) => onChange(withNested(question, 'supposed', 'mean', mean))}
      />
      <Optional
        label="Supposed standard deviation"
        hint="Without it, the values that are the hardest to estimate are supposed."
        value={supposed.standardDeviation}
        onChange={(deviation) => onChange(withNested(question, 'supposed', 'standardDeviation', deviation))}
      />
    </>
  )
}

interface OptionalProps {
  readonly label: string
  readonly hint: string
  readonly value: unknown
  readonly onChange: (value: number | undefined) => void
}

/** Field for a number that may be left out. */
function Optional({ label, hint, value, onChange }: OptionalProps) {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => <NumberInput {...attributes} optional value={value} onChange={onChange} />}
    </Field>
  )
}
