import { Field } from '../../components/field.tsx'
import styles from './ask.module.css'
import { MECHANISMS, optionsOf, withMechanism, withNested } from './options.ts'
import { isQuestion, withField } from './question.ts'
import type { QuestionPart } from './question-form.tsx'

/** Options with defaults that suit most questions: mechanism, limit on a person's rows, and supposed number of rows. */
export function OptionsField({ dataset, question, onChange }: QuestionPart) {
  const options = optionsOf(question.kind, dataset)
  if (options.length === 0) return undefined
  return (
    <details>
      <summary>Further options</summary>
      <div className={styles.options}>
        {options.includes('mechanism') && (
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
        )}
        {question.mechanism === 'gaussian' && (
          <Optional
            label="Delta"
            hint="The mechanism gaussian needs one. It is part of the price."
            value={question.delta}
            onChange={(delta) => delta !== undefined && onChange(withField(question, 'delta', delta))}
          />
        )}
        {options.includes('rows') && (
          <Optional
            label="Rows of each person"
            hint={`Fewer rows need less noise, but leave more data out. Default: the limit of the dataset${limitText(dataset)}.`}
            value={isQuestion(question.contribution) ? question.contribution.rows : undefined}
            onChange={(rows) => onChange(withNested(question, 'contribution', 'rows', rows))}
          />
        )}
        {options.includes('supposedRows') && (
          <Optional
            label="Supposed number of rows"
            hint="Changes the accuracy that is stated before the release only. It is never compared with the data."
            value={isQuestion(question.supposed) ? question.supposed.rows : undefined}
            onChange={(rows) => onChange(withNested(question, 'supposed', 'rows', rows))}
          />
        )}
      </div>
    </details>
  )
}

function limitText({ privacyUnit }: QuestionPart['dataset']): string {
  return privacyUnit.kind === 'person' ? `, ${privacyUnit.maxRows}` : ''
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
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          min={0}
          step="any"
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
        />
      )}
    </Field>
  )
}
