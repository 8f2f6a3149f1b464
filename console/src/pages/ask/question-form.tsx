import { Field } from '../../components/field.tsx'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './ask.module.css'
import { ConditionField } from './condition-field.tsx'
import { withFittingContribution } from './contribution.ts'
import { ContributionField } from './contribution-field.tsx'
import { KIND_FIELDS } from './kind-field.tsx'
import { entryOf, offeredKinds, questionOf } from './kinds.ts'
import { OptionsField } from './options-field.tsx'
import { type Question, withField } from './question.ts'

/** Properties of the parts of the form. */
export interface QuestionPart {
  readonly dataset: Dataset
  readonly question: Question
  readonly onChange: (question: Question) => void
}

/** Properties of the parts that write the question as text. */
export interface WrittenQuestionPart extends QuestionPart {
  /** Called with true while the text states another question, or none. Nothing is asked then. */
  readonly onPending: (isPending: boolean) => void
}

/** Form for a question: its kind, what it measures, which rows it covers, and what each person contributes. */
export function QuestionForm({ dataset, question, onChange }: QuestionPart) {
  const change = (next: Question) => onChange(withFittingContribution(next, dataset))
  const part = { dataset, question, onChange: change }
  return (
    <div className={styles.form}>
      <KindChoice {...part} />
      {entryOf(question.kind)?.fields.map((field) => {
        const KindField = KIND_FIELDS[field]
        return <KindField key={field} {...part} />
      })}
      <ConditionField
        label="Of the rows where"
        dataset={dataset}
        value={question.where}
        onChange={(where) => change(withField(question, 'where', where))}
      />
      <ContributionField {...part} />
      <OptionsField {...part} />
    </div>
  )
}

function KindChoice({ dataset, question, onChange }: QuestionPart) {
  const offered = offeredKinds(dataset)
  const isOffered = offered.some(({ kind }) => kind === question.kind)
  return (
    <Field label="Statistic">
      {(attributes) => (
        <select
          {...attributes}
          value={String(question.kind)}
          onChange={(event) => onChange(questionOf(event.target.value, dataset, question))}
        >
          {!isOffered && (
            <option value={String(question.kind)}>
              {entryOf(question.kind)?.title ?? String(question.kind)}
            </option>
          )}
          {offered.map(({ kind, title }) => (
            <option key={kind} value={kind}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
