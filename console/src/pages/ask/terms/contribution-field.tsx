import { Checkbox, FieldRow, Radios } from '../../../components/forms/fields.tsx'
import styles from '../ask.module.css'
import { NumberInputField } from '../fields.tsx'
import type { Question, QuestionPart } from '../question/question.ts'
import {
  type BoundedBy,
  boundedBy,
  type ContributionChoices,
  contributionChoices,
  contributionOf,
  initialClamp,
  withBound,
  withClamp,
  withLimit,
} from './contribution.ts'

/** Bounds on what each person contributes, for datasets whose privacy unit is a person. */
export function ContributionField({ dataset, question, onChange }: QuestionPart) {
  const choices = contributionChoices(question, dataset)
  if (choices === undefined || (choices.maxRows === 1 && choices.clamped === undefined)) return undefined
  const part = { choices, question, onChange }
  return (
    <div className={styles.contribution}>
      {choices.maxRows > 1 && <BoundChoice {...part} />}
      {choices.clamped !== undefined && <ClampFields {...part} />}
    </div>
  )
}

interface ContributionPart {
  readonly choices: ContributionChoices
  readonly question: Question
  readonly onChange: (question: Question) => void
}

function BoundChoice({ choices, question, onChange }: ContributionPart) {
  const by = boundedBy(question)
  const { maxRows } = choices
  return (
    <>
      <Radios<BoundedBy>
        legend="Use of each person"
        value={by}
        choices={[
          { value: 'dataset', label: `up to ${maxRows} rows, the limit of the dataset` },
          { value: 'rows', label: 'fewer rows', hint: 'Less noise, but rows beyond are left out.' },
          ...(choices.groups
            ? [{ value: 'groups' as const, label: 'rows in a few groups', hint: 'Others are left out.' }]
            : []),
        ]}
        onChange={(next) => onChange(withBound(question, next, choices))}
      />
      {by !== 'dataset' && <LimitFields choices={choices} question={question} onChange={onChange} />}
    </>
  )
}

function LimitFields({ choices, question, onChange }: ContributionPart) {
  const contribution = contributionOf(question) ?? {}
  const limit = (name: 'rows' | 'groups' | 'rowsPerGroup', label: string, usual?: number) => (
    <NumberInputField
      label={label}
      min={1}
      max={choices.maxRows}
      step={1}
      value={contribution[name] ?? usual}
      onChange={(value) => value !== undefined && onChange(withLimit(question, name, value))}
    />
  )
  return (
    <FieldRow>
      {'groups' in contribution ? (
        <>
          {limit('groups', 'Groups of each person')}
          {choices.rowsPerGroup && limit('rowsPerGroup', 'Rows in each group', 1)}
        </>
      ) : (
        limit('rows', 'Rows of each person')
      )}
    </FieldRow>
  )
}

/** Clamping bounds of each person's total, or of the value that replaces a person's rows. */
function ClampFields({ choices, question, onChange }: ContributionPart) {
  const bounds = contributionOf(question)?.perPerson
  const end = (name: 'lower' | 'upper', label: string) => (
    <NumberInputField
      label={label}
      value={bounds?.[name]}
      onChange={(value) =>
        value !== undefined && onChange(withClamp(question, { lower: 0, upper: 0, ...bounds, [name]: value }))
      }
    />
  )
  return (
    <>
      <Checkbox
        label={'perPerson' in question ? "Clamp each person's value" : "Clamp each person's total"}
        hint="The noise then depends on the larger bound. Values beyond the bounds are moved to them."
        value={bounds !== undefined}
        onChange={(checked) =>
          onChange(withClamp(question, checked ? initialClamp(question, choices) : undefined))
        }
      />
      {bounds !== undefined && (
        <FieldRow>
          {end('lower', 'Lowest total')}
          {end('upper', 'Highest total')}
        </FieldRow>
      )}
    </>
  )
}
