import type { FieldType, KindField, KindFields } from '../../../../../clients/kind-entry.ts'
import type { Clamp, Clamps } from '../../answers/question-text.ts'
import type { Column, DatasetFacts } from '../../datasets/dataset.ts'
import type { Candidates, Grouping, Predicate, Statistic } from '../question/question.ts'

interface FieldValues {
  column: string
  columns: string[]
  grouping: Grouping
  groupings: Grouping[]
  condition: Predicate
  statistics: Statistic[]
  candidates: Candidates
  percentages: number | number[]
  numbers: number | number[]
  weights: number | number[]
  counted: 'rows' | 'people'
  perPerson: 'sum' | 'mean' | 'count'
  clamp: Clamp
  clamps: Clamps
  ranges: Clamp[]
  number: number
  flag: boolean
  choice: string
  text: string
}

/** Properties of the control of a field. */
export interface FieldPart<Type extends FieldType> {
  readonly name: string
  readonly label: string
  readonly field: KindField
  /** All fields of the question or of the statistic. */
  readonly fields: KindFields
  /** Columns that the field takes. */
  readonly columns: readonly Column[]
  readonly value: FieldValues[Type] | undefined
  /** The question or the statistic. */
  readonly asked: object
  readonly dataset: DatasetFacts
  readonly onChange: (value: FieldValues[Type] | undefined) => void
  /** Changes several fields together. */
  readonly onAsked: (asked: object) => void
}
