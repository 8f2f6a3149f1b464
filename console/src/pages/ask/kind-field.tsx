import type { ReactNode } from 'react'
import { Checkbox } from '../../components/choice.tsx'
import { Field } from '../../components/field.tsx'
import { CandidatesField } from './candidates-field.tsx'
import { PairFields, PredictorFields } from './columns-fields.tsx'
import { ConditionField } from './condition-field.tsx'
import { GroupingField } from './grouping-field.tsx'
import { GroupingsFields } from './groupings-fields.tsx'
import {
  countableColumns,
  entryOf,
  type FieldKind,
  factorColumns,
  groupingColumns,
  personValues,
  selectableColumns,
  valueColumns,
} from './kinds.ts'
import { NumberInput } from './number-input.tsx'
import { withField } from './question.ts'
import type { QuestionPart } from './question-form.tsx'
import { SelectColumn } from './select-column.tsx'
import { StatisticsFields } from './statistics-fields.tsx'
import { TextList } from './text-list.tsx'

/** Fields of the form, by their kind. */
export const KIND_FIELDS: Readonly<Record<FieldKind, (part: QuestionPart) => ReactNode>> = {
  measured: MeasuredField,
  text: TextField,
  pair: PairFields,
  outcome: OutcomeField,
  predictors: PredictorFields,
  share: ShareField,
  grouping: GroupedField,
  groupings: GroupingsFields,
  statistics: StatisticsFields,
  candidates: CandidatesField,
  percentages: PercentagesField,
  number: NumberOfResultsField,
  counted: CountedField,
  perPerson: PerPersonField,
  gap: GapField,
  counts: CountsField,
  delta: DeltaField,
}

function MeasuredField({ dataset, question, onChange }: QuestionPart) {
  const columns = valueColumns(question.perPerson, dataset, entryOf(question.kind)?.measures ?? [])
  return (
    <SelectColumn
      label="Column"
      columns={columns}
      value={question.column}
      onChange={(column) => onChange(withField(question, 'column', column))}
    />
  )
}

function TextField({ dataset, question, onChange }: QuestionPart) {
  return (
    <SelectColumn
      label="Column"
      columns={selectableColumns(dataset)}
      value={question.column}
      onChange={(column) => onChange(withField(question, 'column', column))}
    />
  )
}

function OutcomeField({ dataset, question, onChange }: QuestionPart) {
  const predictors = Array.isArray(question.predictors) ? question.predictors : []
  return (
    <SelectColumn
      label="Column to explain"
      columns={factorColumns(dataset)}
      value={question.outcome}
      onChange={(outcome) => {
        const others = predictors.filter((each) => each !== outcome)
        // The column that was to be explained takes the place of the only one that explained it.
        onChange({
          ...question,
          outcome,
          predictors: others.length === 0 ? [question.outcome] : others,
        })
      }}
    />
  )
}

function ShareField({ dataset, question, onChange }: QuestionPart) {
  return (
    <ConditionField
      label="Share with"
      dataset={dataset}
      value={question.of}
      required
      onChange={(of) => onChange(withField(question, 'of', of))}
    />
  )
}

function GroupedField({ dataset, question, onChange }: QuestionPart) {
  return (
    <GroupingField
      label="By"
      columns={question.kind === 'countDistinct' ? countableColumns(dataset) : groupingColumns(dataset)}
      value={question.column}
      onChange={(column) => onChange(withField(question, 'column', column))}
    />
  )
}

function PercentagesField({ question, onChange }: QuestionPart) {
  return (
    <TextList
      label="Percentages"
      hint="50 is the median."
      items={[question.p].flat()}
      onChange={(p) => onChange(withField(question, 'p', p))}
    />
  )
}

function NumberOfResultsField({ question, onChange }: QuestionPart) {
  return (
    <Field label="How many">
      {(attributes) => (
        <NumberInput
          {...attributes}
          min={1}
          max={100}
          step={1}
          value={question.k ?? (question.kind === 'topGroups' ? 10 : 1)}
          onChange={(k) => k !== undefined && onChange(withField(question, 'k', k))}
        />
      )}
    </Field>
  )
}

function CountedField({ dataset, question, onChange }: QuestionPart) {
  if (dataset.privacyUnit.kind === 'row') return undefined
  return (
    <Field label="Count" hint="One person moves a count of people by 1, whatever the number of rows.">
      {(attributes) => (
        <select
          {...attributes}
          value={String(question.of ?? 'rows')}
          onChange={({ target }) =>
            onChange(withField(question, 'of', target.value === 'people' ? 'people' : undefined))
          }
        >
          <option>rows</option>
          <option>people</option>
        </select>
      )}
    </Field>
  )
}

function PerPersonField({ dataset, question, onChange }: QuestionPart) {
  if (dataset.privacyUnit.kind === 'row') return undefined
  const change = (perPerson: string | undefined) => {
    const columns = valueColumns(perPerson, dataset, entryOf(question.kind)?.measures ?? [])
    const fits = columns.some(({ name }) => name === question.column)
    const column = fits ? question.column : columns[0]?.name
    onChange(withField({ ...question, column }, 'perPerson', perPerson))
  }
  return (
    <Field label="Values">
      {(attributes) => (
        <select
          {...attributes}
          value={String(question.perPerson ?? '')}
          onChange={({ target }) => change(target.value === '' ? undefined : target.value)}
        >
          {personValues(dataset.columns).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function GapField({ question, onChange }: QuestionPart) {
  const isFixed = question.noise !== undefined && question.noise !== 'laplace'
  return (
    <Checkbox
      label="Also the distance to the next candidate"
      hint={
        isFixed ? 'Only with the noise laplace.' : 'At no further cost. The noise is then that of laplace.'
      }
      disabled={isFixed}
      checked={question.gap === true}
      onChange={(gap) => onChange(withField(question, 'gap', gap ? true : undefined))}
    />
  )
}

function CountsField({ question, onChange }: QuestionPart) {
  return (
    <Checkbox
      label="Also a noisy count of each text"
      hint="Without counts more texts appear."
      checked={question.counts === true}
      onChange={(counts) => onChange(withField(question, 'counts', counts ? true : undefined))}
    />
  )
}

function DeltaField({ question, onChange }: QuestionPart) {
  return (
    <Field label="Delta" hint="Largest probability with which a text of one person appears.">
      {(attributes) => (
        <NumberInput
          {...attributes}
          value={question.delta}
          onChange={(delta) => delta !== undefined && onChange(withField(question, 'delta', delta))}
        />
      )}
    </Field>
  )
}
