import { KINDS } from '../../../api/kinds.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import styles from '../ask.module.css'
import { NumberInputField } from '../fields.tsx'
import { KindFieldsOf } from '../kinds/kind-field.tsx'
import { fieldValue, type QuestionPart, withField } from '../question/question.ts'
import {
  hasMoments,
  isFurther,
  MECHANISMS,
  optionsOf,
  statedOptions,
  suppositionsOf,
  withMechanism,
  withSupposition,
} from './options.ts'

/** Options with defaults that suit most questions, such as the mechanism. */
export function OptionsField({ dataset, question, onChange }: QuestionPart) {
  const options = optionsOf(question)
  if (options.length === 0) return undefined
  const stated = statedOptions(question)
  const part = { dataset, question, onChange }
  return (
    <details>
      <summary>Further options{stated === 0 ? '' : ` (${stated} set)`}</summary>
      <div className={styles.options}>
        {options.includes('mechanism') && <MechanismField {...part} />}
        <KindFieldsOf
          fields={KINDS[question.kind].fields}
          asked={question}
          dataset={dataset}
          shows={isFurther}
          onChange={onChange}
        />
        {options.includes('supposed') && <SuppositionsFields {...part} />}
      </div>
    </details>
  )
}

function MechanismField({ question, onChange }: QuestionPart) {
  const mechanism = fieldValue(question, 'mechanism')
  return (
    <>
      <SelectField
        label="Mechanism"
        hint="By default, the one with the smallest half-width."
        options={[['', 'default'], ...MECHANISMS]}
        value={typeof mechanism === 'string' ? mechanism : ''}
        onChange={(chosen) => onChange(withMechanism(question, chosen || undefined))}
      />
      {mechanism === 'gaussian' && (
        <NumberInputField
          optional
          label="Delta"
          hint="The mechanism gaussian needs one. It is part of the price."
          value={fieldValue(question, 'delta')}
          onChange={(delta) => delta !== undefined && onChange(withField(question, 'delta', delta))}
        />
      )}
    </>
  )
}

function SuppositionsFields({ question, onChange }: QuestionPart) {
  const supposed = suppositionsOf(question)
  const field = (name: string, label: string, hint: string) => (
    <NumberInputField
      optional
      label={label}
      hint={hint}
      value={supposed[name]}
      onChange={(value) => onChange(withSupposition(question, name, value))}
    />
  )
  return (
    <>
      {field(
        'rows',
        'Supposed number of rows',
        'Changes the accuracy that is stated before the release only. It is never compared with the data.',
      )}
      {hasMoments(question) && (
        <>
          {field('mean', 'Supposed mean', 'Of one column of numbers, within its bounds.')}
          {field(
            'standardDeviation',
            'Supposed standard deviation',
            'Without it, the values that are the hardest to estimate are supposed.',
          )}
        </>
      )}
    </>
  )
}
